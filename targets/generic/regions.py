"""Regions of images, resampled or pooled: each element of the result is a loop over the points or pixels of its bin."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import arith, ir, math
from legato.dialects.relax.ops.detection import FAR_PIXELS, FAR_POINTS
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element, read, stored
from legato.targets.builders.sizes import dim
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, extract, is_empty, loop_index, looped
from legato.targets.generic.indexing import place
from legato.targets.rule import kernel


@kernel("relax.roi_align")
def roi_align(k, x, regions, images, out):
    """The mean or maximum of the points of each bin that are not outside the image; those that are, which are 0, are not visited."""
    if is_empty(x):
        return compute(out, "r, a, b, c", [], lambda *_: Element(out.type.element_type).const(0))
    kind, last = element(k.input_types[0]), k.attrs["channels_last"]
    e, channels = kind.wide, 3 if last else 1

    def body(*_: ir.Value) -> ir.Value:
        indices = [loop_index(n) for n in range(4)]
        channel, region = indices.pop(channels), indices[0]
        image, lines = region_of(k, x, regions, images, region)
        rows, columns = lines(0, indices[1]), lines(1, indices[2])
        points, zero = e.mul(rows.count, columns.count), e.const(0)
        least = zero
        if k.attrs["mode"] == "max":
            least = arith.select(arith.ori(rows.skips, columns.skips), zero, e.const(e.lowest))

        def pixel(vertical: ir.Value, horizontal: ir.Value) -> ir.Value:
            places = [image, vertical, horizontal, channel] if last else [image, channel, vertical, horizontal]
            return read(extract(x, places), kind)

        def of_row(y: ir.Value, found: ir.Value) -> list[ir.Value]:
            row = rows.tap(y)

            def of_point(at: ir.Value, found: ir.Value) -> list[ir.Value]:
                column = columns.tap(at)
                parts = [e.mul(pixel(vertical, horizontal), e.mul(height, width))
                         for vertical, height in row.pixels for horizontal, width in column.pixels]
                combine = e.add if k.attrs["mode"] == "avg" else e.max
                value = combine(combine(parts[0], parts[1]), combine(parts[2], parts[3]))
                return [combine(found, arith.select(arith.andi(row.is_inside, column.is_inside), value, zero))]

            return looped(columns.last, [found], of_point, columns.first)

        (found,) = looped(rows.last, [least], of_row, rows.first)
        if k.attrs["mode"] == "avg":
            found = arith.divf(found, e.max(points, e.const(1)))
        return stored(arith.select(e.compare("gt", points, zero), found, zero), kind, out.type.element_type)

    return compute(out, "r, h, w, c" if last else "r, c, h, w", [], body)


def region_of(k, x, regions, images, region: ir.Value) -> tuple[ir.Value, Callable[[int, ir.Value], "Line"]]:
    """The number of a region's image, and the points of one of its bins, by their number, along an axis: 0 for rows, 1 for columns."""
    e, first = element(k.input_types[0]).wide, 1 if k.attrs["channels_last"] else 2
    image = place(extract(images, [region]), element(k.input_types[2]), dim(x, 0))
    corners = [e.sub(e.mul(read(extract(regions, [region, index_value(n)]), element(k.input_types[1])), e.const(k.attrs["scale"])),
                     e.const(0.5 if k.attrs["aligned"] else 0)) for n in range(4)]
    return image, lambda n, bin_: _line(e, k, corners[1 - n], corners[3 - n], bin_, k.attrs["size"][n], index_value(dim(x, first + n)))


@dataclass(frozen=True)
class _Tap:
    """A point along an axis: the two pixels beside it and their weights, and whether it is in the image."""

    pixels: Sequence[tuple[ir.Value, ir.Value]]
    is_inside: ir.Value


@dataclass(frozen=True)
class Line:
    """The points of a bin along an axis of ``extent`` pixels: ``count`` of them, ``step`` apart; from ``first`` up to ``last`` they may be
    inside the image. ``skips``: whether others are left out."""

    e: Element
    begin: ir.Value
    step: ir.Value
    count: ir.Value
    first: ir.Value
    last: ir.Value
    skips: ir.Value
    extent: ir.Value

    def tap(self, number: ir.Value) -> _Tap:
        """The point of a number."""
        e = self.e
        size, last = _as_float(self.extent, e), arith.subi(self.extent, index_value(1))
        at = e.add(self.begin, e.mul(e.add(_as_float(number, e), e.const(0.5)), self.step))
        is_inside = arith.andi(e.compare("ge", at, e.const(-1)), e.compare("le", at, size))
        at = arith.select(arith.andi(is_inside, e.compare("gt", at, e.const(0))), at, e.const(0))
        low = arith.minsi(arith.index_cast(ir.IndexType.get(), arith.fptosi(ir.IntegerType.get_signless(64), at)), last)
        high = arith.minsi(arith.addi(low, index_value(1)), last)
        rest = arith.select(index().compare("lt", low, last), e.sub(at, _as_float(low, e)), e.const(0))
        return _Tap([(low, e.sub(e.const(1), rest)), (high, rest)], is_inside)


def _line(e: Element, k, start: ir.Value, end: ir.Value, number: ir.Value, bins: int, extent: ir.Value) -> Line:
    """The points of the bin ``number`` of a region from ``start`` to ``end``."""
    zero, one = e.const(0), e.const(1)
    length = e.sub(end, start)
    if not k.attrs["aligned"]:
        length = arith.maximumf(length, one)
    length = e.div(length, e.const(bins))
    count = e.const(k.attrs["sampling"])
    if not k.attrs["sampling"]:
        count = math.ceil(length)
        counts = arith.andi(e.compare("gt", count, zero), e.compare("lt", count, e.const(FAR_POINTS)))
        count = arith.select(counts, count, zero)
    begin = e.add(start, e.mul(_as_float(number, e), length))
    step = e.div(length, e.max(count, one))
    rises = e.compare("gt", step, zero)

    def bound(border: ir.Value, around: Callable[[ir.Value], ir.Value], room: float) -> ir.Value:
        """The number of the point at a border, and ``room``, within those that there are."""
        at = e.add(around(e.div(e.sub(border, begin), arith.select(rises, step, one))), e.const(room))
        return _as_index(e.min(e.max(at, zero), count), e)

    every = _as_index(count, e)
    first = arith.select(rises, bound(e.const(-1), math.floor, -1), index_value(0))
    last = arith.select(rises, bound(_as_float(extent, e), math.ceil, 1), every)
    last = arith.select(index().compare("gt", extent, index_value(0)), last, index_value(0))
    if not k.attrs["sampling"]:     # points half a pixel or more apart, but for the rounding of numbers far away
        last = arith.minsi(last, arith.addi(first, arith.addi(arith.muli(extent, index_value(2)), index_value(8))))
    skips = arith.ori(index().compare("gt", first, index_value(0)), index().compare("lt", last, every))
    return Line(e, begin, step, count, first, last, skips, extent)


def _as_float(number: ir.Value, e: Element) -> ir.Value:
    return arith.sitofp(e.type, arith.index_cast(ir.IntegerType.get_signless(64), number))


def _as_index(number: ir.Value, e: Element) -> ir.Value:
    i64 = Element(ir.IntegerType.get_signless(64))
    return arith.index_cast(ir.IndexType.get(), e.cast(number, i64))


@kernel("relax.roi_pool")
def roi_pool(k, x, regions, images, out):
    """The maximum of the pixels of each bin."""
    if is_empty(x):
        return compute(out, "r, a, b, c", [], lambda *_: Element(out.type.element_type).const(0))
    kind, last = element(k.input_types[0]), k.attrs["channels_last"]
    e, channels = kind.wide, 3 if last else 1

    def body(*_: ir.Value) -> ir.Value:
        indices = [loop_index(n) for n in range(4)]
        channel, region = indices.pop(channels), indices[0]
        image, bins = bins_of(k, x, regions, images, region)
        (top, bottom), (left, right) = bins(0, indices[1]), bins(1, indices[2])

        def of_pixel(row: ir.Value, column: ir.Value, found: ir.Value) -> ir.Value:
            places = [image, row, column, channel] if last else [image, channel, row, column]
            return e.max(found, read(extract(x, places), kind))

        def of_row(row: ir.Value, found: ir.Value) -> list[ir.Value]:
            return looped(right, [found], lambda column, found: [of_pixel(row, column, found)], left)

        (found,) = looped(bottom, [e.const(e.lowest)], of_row, top)
        return stored(arith.select(has_pixels((top, bottom), (left, right)), found, e.const(0)), kind, out.type.element_type)

    return compute(out, "r, h, w, c" if last else "r, c, h, w", [], body)


Pixels = tuple[ir.Value, ir.Value]


def has_pixels(rows: Pixels, columns: Pixels) -> ir.Value:
    """Whether there are pixels in rows and columns from a first one up to a last one, which is not in them."""
    return arith.andi(*(index().compare("lt", *ends) for ends in (rows, columns)))


def bins_of(k, x, regions, images, region: ir.Value) -> tuple[ir.Value, Callable[[int, ir.Value], Pixels]]:
    """The number of a region's image, and the pixels of one of its bins, by their number, along an axis: 0 for rows, 1 for columns."""
    e, i64, first = element(k.input_types[0]).wide, Element(ir.IntegerType.get_signless(64)), 1 if k.attrs["channels_last"] else 2
    image = place(extract(images, [region]), element(k.input_types[2]), dim(x, 0))
    corners = []
    for number in range(4):
        corner = e.mul(read(extract(regions, [region, index_value(number)]), element(k.input_types[1])), e.const(k.attrs["scale"]))
        corners.append(e.cast(math.round(e.at_most(e.at_least(corner, -FAR_PIXELS), FAR_PIXELS)), i64))

    def pixels(axis: int, number: ir.Value) -> Pixels:
        start, end = corners[1 - axis], corners[3 - axis]
        length = arith.maxsi(arith.addi(arith.subi(end, start), i64.const(1)), i64.const(1))
        length = e.div(arith.sitofp(e.type, length), e.const(k.attrs["size"][axis]))
        extent = index_value(dim(x, first + axis))

        def bound(number: ir.Value, around: Callable[[ir.Value], ir.Value]) -> ir.Value:
            at = arith.addi(start, e.cast(around(e.mul(_as_float(number, e), length)), i64))
            return arith.maxsi(arith.minsi(arith.index_cast(ir.IndexType.get(), at), extent), index_value(0))

        return bound(number, math.floor), bound(arith.addi(number, index_value(1)), math.ceil)

    return image, pixels


RULES = (roi_align, roi_pool)
