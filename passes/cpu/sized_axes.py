"""Spatial axes of images whose sizes may be values of the IR, where they are known at run time only."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from legato.analysis.structured.window import WindowAxis
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, below, if_else, least, loop, minus, most, plus, quotient, times, value_of, when
from legato.passes.cpu.row_tiles import Positions

MOST_REACHES = 2    # of the windows at the end of a row out of it, for which tiles are written out


@dataclass(frozen=True)
class SizedAxis:
    """A ``WindowAxis`` whose sizes of input and output are numbers, or values of the IR."""

    size: Size
    count: Size
    begin: int
    stride: int
    dilation: int
    taps: int
    end: int

    @classmethod
    def of(cls, axis: WindowAxis, source: ir.Value, out: ir.Value, place: int) -> SizedAxis:
        """The axis at dimension ``place`` of two buffers. What is not known is read at the insertion point."""
        size, count = (known if known >= 0 else memref.DimOp(buffer, value_of(place)).result
                       for known, buffer in ((axis.size, source), (axis.count, out)))
        return cls(size, count, axis.begin, axis.stride, axis.dilation, axis.taps, axis.end)

    def inside(self) -> tuple[Size, Size]:
        """The range [first, end) of positions whose windows lie inside of the input."""
        first = least(-(-self.begin // self.stride), self.count)
        room = minus(plus(self.size, self.begin + self.stride), (self.taps - 1) * self.dilation + 1)
        return first, least(most(quotient(most(room, 0), self.stride), first), self.count)

    def each_tile(self, positions: int, body: Callable[[Positions, Size], None], low: Size, high: Size) -> None:
        """Builds ``body(tile, start)`` for the tiles of a row, or of its positions from ``low`` to ``high``: whole ones, of so many
        positions whose windows lie inside of the input, of which the last may begin before the one before it ends; one at each end of the
        row, whose windows reach out of it; and clipped ones of single positions, where the row has no room for these."""
        first, end = (least(most(place, low), high) for place in self.inside())
        whole, single = Positions(0, positions), Positions(0, 1, clipped=True)
        before, last, at_end = first, minus(high, positions), minus(end, positions)
        if self.begin and positions > -(-self.begin // self.stride):
            opens = below(minus(plus(low, positions), 1), end)
            if low != 0:
                opens = arith.andi(opens, below(low, 1))
            if_else(opens, lambda: body(replace(whole, before=self.begin), low), lambda: loop(low, first, 1, partial(body, single)))
            before = arith.select(opens, value_of(plus(low, positions)), value_of(first))
        elif self.begin:
            loop(low, first, 1, partial(body, single))
        is_wide = below(minus(first, 1), at_end)
        stop, closes, reaches = end, None, range(max(1, self.end - self.stride + 1), self.end + 1)
        reach = minus(plus(times(minus(self.count, 1), self.stride), (self.taps - 1) * self.dilation + 1 - self.begin), self.size)
        reached = [arith.cmpi(arith.CmpIPredicate.eq, value_of(reach), value_of(known)) for known in reaches]
        if 0 < len(reaches) <= MOST_REACHES:
            has_room = arith.ori(is_wide, below(minus(last, 1), before))    # between this tile and those before it
            fits = arith.andi(below(minus(first, 1), last), below(last, plus(end, 1)))
            is_last = [] if high is self.count else [below(minus(self.count, 1), high)]
            closes = reduce(arith.andi, [below(end, high), fits, has_room, reduce(arith.ori, reached), *is_last])
            stop = arith.select(closes, value_of(last), value_of(end))
        when(is_wide, lambda: loop(before, stop, positions, lambda start: body(whole, least(start, at_end))))

        def close() -> None:
            for known, is_it in zip(reaches, reached, strict=True):
                when(is_it, lambda known=known: body(replace(whole, after=known), last))

        def one_by_one() -> None:
            loop(arith.select(is_wide, value_of(end), value_of(before)), high, 1, partial(body, single))

        if closes is None:
            one_by_one()
        else:
            if_else(closes, close, one_by_one)


def product_of(axes: Sequence[SizedAxis]) -> Size:
    """The number of positions of the result along some axes."""
    count: Size = 1
    for axis in axes:
        count = times(count, axis.count)
    return count
