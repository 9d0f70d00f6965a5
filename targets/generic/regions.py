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

    def points_of_region(e: Element, region: ir.Value) -> Bins:
        image, lines = region_of(k, x, regions, images, region)
        return lambda row, column, pixel: _points(k, e, lines(0, row), lines(1, column), lambda *at: pixel(image, *at))

    return _each_bin(k, x, out, points_of_region)


@kernel("relax.roi_pool")
def roi_pool(k, x, regions, images, out):
    """The maximum of the pixels of each bin."""

    def pixels_of_region(e: Element, region: ir.Value) -> Bins:
        image, bins = bins_of(k, x, regions, images, region)
        return lambda row, column, pixel: _maximum(e, bins(0, row), bins(1, column), lambda *at: pixel(image, *at))

    return _each_bin(k, x, out, pixels_of_region)


Bins = Callable[..., ir.Value]      # of a region: the value of (row, column, pixel), where ``pixel(image, row, column)`` reads a channel


def _each_bin(k, x: ir.Value, out: ir.Value, bins_of_region: Callable[[Element, ir.Value], Bins]) -> ir.Value:
    """The bins of all regions, one channel of one bin after the other."""
    if is_empty(x):
        return compute(out, "r, a, b, c", [], lambda *_: Element(out.type.element_type).const(0))
    kind, last = element(k.input_types[0]), k.attrs["channels_last"]

    def body(*_: ir.Value) -> ir.Value:
        indices = [loop_index(n) for n in range(4)]
        channel, (region, row, column) = indices.pop(3 if last else 1), indices

        def pixel(image: ir.Value, vertical: ir.Value, horizontal: ir.Value) -> ir.Value:
            places = [image, vertical, horizontal, channel] if last else [image, channel, vertical, horizontal]
            return read(extract(x, places), kind)

        return stored(bins_of_region(kind.wide, region)(row, column, pixel), kind, out.type.element_type)

    return compute(out, "r, h, w, c" if last else "r, c, h, w", [], body)


def _points(k, e: Element, rows: "Line", columns: "Line", pixel: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """The mean or maximum of a bin's points. ``pixel(row, column)``: what the image has there."""
    points, zero, is_mean = e.mul(rows.count, columns.count), e.const(0), k.attrs["mode"] == "avg"
    combine, least = e.add if is_mean else e.max, zero
    if not is_mean:
        least = arith.select(arith.ori(rows.skips, columns.skips), zero, e.const(e.lowest))

    def of_row(y: ir.Value, found: ir.Value) -> list[ir.Value]:
        row = rows.tap(y)

        def of_point(at: ir.Value, found: ir.Value) -> list[ir.Value]:
            column = columns.tap(at)
            parts = [e.mul(pixel(vertical, horizontal), e.mul(height, width))
                     for vertical, height in row.pixels for horizontal, width in column.pixels]
            value = combine(combine(parts[0], parts[1]), combine(parts[2], parts[3]))
            return [combine(found, arith.select(arith.andi(row.is_inside, column.is_inside), value, zero))]

        return looped(columns.last, [found], of_point, columns.first)

    (found,) = looped(rows.last, [least], of_row, rows.first)
    if is_mean:
        found = arith.divf(found, e.max(points, e.const(1)))
    return arith.select(e.compare("gt", points, zero), found, zero)


def _maximum(e: Element, rows: "Pixels", columns: "Pixels", pixel: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """The maximum of a bin's pixels. ``pixel(row, column)``: what the image has there."""
    (top, bottom), (left, right) = rows, columns

    def of_row(row: ir.Value, found: ir.Value) -> list[ir.Value]:
        return looped(right, [found], lambda column, found: [e.max(found, pixel(row, column))], left)

    (found,) = looped(bottom, [e.const(e.lowest)], of_row, top)
    return arith.select(has_pixels(rows, columns), found, e.const(0))


def _region(k, x, regions, images, region: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
    """The number of a region's image, and the region's corners x1, y1, x2, y2 in pixels."""
    e = element(k.input_types[0]).wide
    image = place(extract(images, [region]), element(k.input_types[2]), dim(x, 0))
    return image, [e.mul(read(extract(regions, [region, index_value(n)]), element(k.input_types[1])), e.const(k.attrs["scale"]))
                   for n in range(4)]


def _extent(k, x: ir.Value, axis: int) -> ir.Value:
    """The pixels of an image along an axis: 0 for rows, 1 for columns."""
    return index_value(dim(x, axis + (1 if k.attrs["channels_last"] else 2)))


def region_of(k, x, regions, images, region: ir.Value) -> tuple[ir.Value, Callable[[int, ir.Value], "Line"]]:
    """The number of a region's image, and the points of one of its bins, by their number, along an axis: 0 for rows, 1 for columns."""
    e = element(k.input_types[0]).wide
    image, corners = _region(k, x, regions, images, region)
    corners = [e.sub(corner, e.const(0.5 if k.attrs["aligned"] else 0)) for corner in corners]
    return image, lambda n, bin_: _line(e, k, corners[1 - n], corners[3 - n], bin_, k.attrs["size"][n], _extent(k, x, n))


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


Pixels = tuple[ir.Value, ir.Value]


def has_pixels(rows: Pixels, columns: Pixels) -> ir.Value:
    """Whether there are pixels in rows and columns from a first one up to a last one, which is not in them."""
    return arith.andi(*(index().compare("lt", *ends) for ends in (rows, columns)))


def bins_of(k, x, regions, images, region: ir.Value) -> tuple[ir.Value, Callable[[int, ir.Value], Pixels]]:
    """The number of a region's image, and the pixels of one of its bins, by their number, along an axis: 0 for rows, 1 for columns."""
    e, i64 = element(k.input_types[0]).wide, Element(ir.IntegerType.get_signless(64))
    image, scaled = _region(k, x, regions, images, region)
    corners = [e.cast(math.round(e.at_most(e.at_least(corner, -FAR_PIXELS), FAR_PIXELS)), i64) for corner in scaled]

    def pixels(axis: int, number: ir.Value) -> Pixels:
        start, end = corners[1 - axis], corners[3 - axis]
        length = arith.maxsi(arith.addi(arith.subi(end, start), i64.const(1)), i64.const(1))
        length = e.div(arith.sitofp(e.type, length), e.const(k.attrs["size"][axis]))
        extent = _extent(k, x, axis)

        def bound(number: ir.Value, around: Callable[[ir.Value], ir.Value]) -> ir.Value:
            at = arith.addi(start, e.cast(around(e.mul(_as_float(number, e), length)), i64))
            return arith.maxsi(arith.minsi(arith.index_cast(ir.IndexType.get(), at), extent), index_value(0))

        return bound(number, math.floor), bound(arith.addi(number, index_value(1)), math.ceil)

    return image, pixels


RULES = (roi_align, roi_pool)
