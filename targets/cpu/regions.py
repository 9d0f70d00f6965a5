"""Regions of images whose channels are last: the points of a bin are found once, and vectors of channels are read at them."""
from collections.abc import Callable, Sequence

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import is_empty, looped
from legato.targets.cpu.channels import Channels, shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.regions import Line, Pixels, bins_of, has_pixels, region_of
from legato.targets.generic.scatter import loop_nest
from legato.targets.rule import kernel


@kernel("relax.roi_align", priority=1)
def roi_align(k, x, regions, images, out):
    """Bins one after the other, of the regions that a thread has."""

    def bins_of_region(channels: Channels, region: ir.Value) -> Bins:
        image, lines = region_of(k, x, regions, images, region)
        return lambda row, column, *block: _points(k, channels, lines(0, row), lines(1, column),
                                                   lambda *at: channels.read(x, [image, *at], *block))

    return _each_bin(k, x, out, bins_of_region)


@kernel("relax.roi_pool", priority=1)
def roi_pool(k, x, regions, images, out):
    """Bins one after the other, of the regions that a thread has."""

    def bins_of_region(channels: Channels, region: ir.Value) -> Bins:
        image, bins = bins_of(k, x, regions, images, region)
        return lambda row, column, *block: _maximum(channels, bins(0, row), bins(1, column),
                                                    lambda *at: channels.read(x, [image, *at], *block))

    return _each_bin(k, x, out, bins_of_region)


Bins = Callable[..., list[ir.Value]]    # of a region: the vectors of (row, column, block of channels)


def _each_bin(k, x: ir.Value, out: ir.Value, bins_of_region: Callable[[Channels, ir.Value], Bins]) -> ir.Value | Refusal:
    """The bins of all regions, whose channels are last."""
    machine, kind = k.machine, element(k.input_types[0])
    if not k.attrs["channels_last"] or not isinstance(machine, Machine) or is_empty(x) or is_empty(out):
        return Refusal("only images with channels last")
    channels = Channels.of(kind, dims(x)[3], machine)
    if not channels.whole and not machine.masks(kind.bits):
        return Refusal(f"{machine.cpu} has no masks for elements of {kind.bits} bits")
    k.writes_all()

    def region(number: ir.Value, into: ir.Value, first: ir.Value) -> ir.Value:
        bins = bins_of_region(channels, number)

        def bin_(place: list[ir.Value], into: ir.Value) -> ir.Value:
            row, column, *block = place
            return channels.write(bins(*place), into, [first, row, column], *block)

        return loop_nest([*k.attrs["size"], channels.blocks], into, bin_)

    if machine.threads == 1:
        return looped(dims(out)[0], [out], lambda number, into: [region(number, into, number)])[0]
    return shared(out, [1, *dims(out)[1:]], lambda places, into: region(places[0], into, index_value(0)))


def _points(k, channels: Channels, rows: Line, columns: Line, pixels: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
    """The mean or maximum of a bin's points, as ``targets.generic.regions`` defines it, for a block of channels. ``pixels(row, column)``:
    its vectors at a pixel."""
    e, is_mean = channels.kind.wide, k.attrs["mode"] == "avg"
    combine, points, zero = e.add if is_mean else e.max, e.mul(rows.count, columns.count), channels.spread(e.const(0))
    least = e.const(0)
    if not is_mean:
        least = arith.select(arith.ori(rows.skips, columns.skips), least, e.const(e.lowest))

    def of_row(y: ir.Value, *found: ir.Value) -> list[ir.Value]:
        row = rows.tap(y)

        def of_point(at: ir.Value, *found: ir.Value) -> list[ir.Value]:
            column, parts = columns.tap(at), []
            for vertical, height in row.pixels:
                for horizontal, width in column.pixels:
                    weight = channels.spread(e.mul(height, width))
                    parts.append([e.mul(value, weight) for value in pixels(vertical, horizontal)])
            is_inside = arith.andi(row.is_inside, column.is_inside)
            sums = [combine(combine(a, b), combine(c, d)) for a, b, c, d in zip(*parts, strict=True)]
            return [combine(old, arith.select(is_inside, value, zero)) for old, value in zip(found, sums, strict=True)]

        return looped(columns.last, found, of_point, columns.first)

    found = looped(rows.last, [channels.spread(least)] * channels.vectors, of_row, rows.first)
    if is_mean:
        divisor = channels.spread(e.max(points, e.const(1)))
        found = [arith.divf(value, divisor) for value in found]
    return [arith.select(e.compare("gt", points, e.const(0)), value, zero) for value in found]


def _maximum(channels: Channels, rows: Pixels, columns: Pixels, pixels: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
    """The maximum of a bin's pixels for a block of channels. ``pixels(row, column)``: its vectors at a pixel."""
    e = channels.kind.wide
    (top, bottom), (left, right) = rows, columns

    def of_row(row: ir.Value, *found: ir.Value) -> list[ir.Value]:
        def of_pixel(column: ir.Value, *found: ir.Value) -> list[ir.Value]:
            return [e.max(old, value) for old, value in zip(found, pixels(row, column), strict=True)]

        return looped(right, found, of_pixel, left)

    found = looped(bottom, [channels.spread(e.const(e.lowest))] * channels.vectors, of_row, top)
    return [arith.select(has_pixels(rows, columns), value, channels.spread(e.const(0))) for value in found]


RULES = (roi_align, roi_pool)
