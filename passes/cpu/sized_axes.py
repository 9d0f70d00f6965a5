"""Spatial axes of images whose sizes may be values of the IR, where they are known at run time only."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from legato.analysis.structured.window import WindowAxis
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    below,
    if_else,
    least,
    loop,
    minus,
    most,
    plus,
    quotient,
    repeated,
    rounded_up,
    times,
    value_of,
    when,
)
from legato.passes.cpu.row_tiles import Positions

TileBody = Callable[[Positions, Size], None]
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

    def each_tile(self, positions: int, body: TileBody, low: Size, high: Size, overlap: bool = True) -> None:
        """Builds ``body(tile, start)`` for the tiles of a row, or of its positions from ``low`` to ``high``. ``overlap``: whether tiles may
        compute a position again, which is wrong where they add to the result."""
        _RowTiling(self, positions, body, low, high, overlap).build()


class _RowTiling:
    """Builds the tiles of a row: whole ones, of so many positions whose windows lie inside of the input, of which the last may begin before
    the one before it ends; one at each end of the row, whose windows reach out of it; and clipped ones of single positions, where the row
    has no room for these, or tiles may not overlap. Where taps are far apart, the pieces of a row of whose windows the same taps lie inside
    of the input have tiles each, or single positions."""

    def __init__(self, axis: SizedAxis, positions: int, body: TileBody, low: Size, high: Size, overlap: bool):
        self.axis, self.positions, self.body, self.low, self.high, self.overlap = axis, positions, body, low, high, overlap
        self.first, self.end = (least(most(place, low), high) for place in axis.inside())
        self.tile, self.single = Positions(0, positions), partial(body, Positions(0, 1, clipped=True))
        self.last = minus(high, positions)      # where the tile at the row's end begins
        self.last_inside = minus(self.end, positions)

    def build(self) -> None:
        """Builds them from left to right."""
        if are_far(self.axis, self.positions):
            repeated([value_of(self.low)], lambda at: below(at, self.high), lambda at: [self._piece(at)])
            return
        begin = self._open()
        is_wide = below(minus(self.first, 1), self.last_inside)
        closings = self._closings()
        closes = self._closes(closings, arith.ori(is_wide, below(minus(self.last, 1), begin))) if closings else None
        stop = self.end if closes is None else arith.select(closes, value_of(self.last), value_of(self.end))
        when(is_wide, lambda: self._tiles(self.tile, begin, stop, self.last_inside))

        def outside() -> None:
            first = arith.select(is_wide, value_of(self.end), value_of(begin))
            if self.positions * self.axis.stride < self.axis.end:
                self._clipped(first, value_of(self.high))
            else:
                loop(first, self.high, 1, self.single)

        if closes is None:
            outside()
        else:
            if_else(closes, lambda: self._close(closings), outside)

    def _clipped(self, begin: ir.Value, end: ir.Value) -> None:
        """Many positions whose windows reach out of the input: clipped tiles, of which the last may begin before the one before it ends;
        single ones where there is no room for a tile."""
        last, tile = minus(end, self.positions), replace(self.tile, clipped=True)
        if_else(below(last, begin), lambda: loop(begin, end, 1, self.single),
                lambda: self._tiles(tile, begin, end, last))

    def _tiles(self, tile: Positions, begin: Size, end: Size, last: Size) -> None:
        """Tiles from ``begin`` to ``end``, of which none begins behind ``last``; those that would, begin there, or are single positions."""
        if self.overlap:
            loop(begin, end, self.positions, lambda at: self.body(tile, least(at, last)))
            return
        rest = plus(begin, times(quotient(minus(end, begin), self.positions), self.positions))
        loop(begin, rest, self.positions, lambda at: self.body(tile, at))
        loop(rest, end, 1, self.single)

    def _piece(self, begin: ir.Value) -> ir.Value:
        """The tiles of the piece of a row that begins at a position. Returns its end."""
        axis, end = self.axis, value_of(self.high)
        for tap in range(axis.taps):
            first = axis.begin - tap * axis.dilation
            for bound in (first, plus(axis.size, first)):   # where windows begin that have the tap inside
                position = rounded_up(most(bound, 0), axis.stride)
                ends = arith.andi(below(begin, position), below(position, end))
                end = arith.select(ends, value_of(position), end)
        last = minus(end, self.positions)

        def tiles(tile: Positions) -> None:
            self._tiles(tile, begin, end, last)

        is_inside = arith.andi(below(minus(self.first, 1), begin), below(begin, self.end))
        if_else(below(last, begin), lambda: loop(begin, end, 1, self.single),
                lambda: if_else(is_inside, lambda: tiles(self.tile), lambda: tiles(replace(self.tile, clipped=True))))
        return end

    def _open(self) -> Size:
        """The row's begin, whose windows reach out of it: one tile where it has room, and the row is not entered further on. Returns where
        the tiles that lie inside begin."""
        axis, outside = self.axis, -(-self.axis.begin // self.axis.stride)
        if not axis.begin:
            return self.first
        if self.positions <= outside:
            self._clipped(value_of(self.low), value_of(self.first))
            return self.first
        after = plus(self.low, self.positions)
        opens = below(minus(after, 1), self.end)
        if self.low != 0:
            opens = arith.andi(opens, below(self.low, 1))
        if_else(opens, lambda: self.body(replace(self.tile, before=axis.begin), self.low),
                lambda: loop(self.low, self.first, 1, self.single))
        return arith.select(opens, value_of(after), value_of(self.first))

    def _closings(self) -> dict[int, ir.Value]:
        """The numbers of columns by which the last window may reach out of the row, and whether it does; none where they are many."""
        axis = self.axis
        reaches = range(max(1, axis.end - axis.stride + 1), axis.end + 1)
        if len(reaches) > MOST_REACHES or not self.overlap:
            return {}
        span = (axis.taps - 1) * axis.dilation + 1 - axis.begin
        reach = minus(plus(times(minus(axis.count, 1), axis.stride), span), axis.size)
        return {known: arith.cmpi(arith.CmpIPredicate.eq, value_of(reach), value_of(known)) for known in reaches}

    def _closes(self, closings: dict[int, ir.Value], has_room: ir.Value) -> ir.Value:
        """Whether one tile holds the row's end. ``has_room``: between it and those before it."""
        high, last = self.high, self.last
        fits = arith.andi(below(minus(self.first, 1), last), below(last, plus(self.end, 1)))
        is_end = [] if high is self.axis.count else [below(minus(self.axis.count, 1), high)]
        return reduce(arith.andi, [below(self.end, high), fits, has_room, reduce(arith.ori, closings.values()), *is_end])

    def _close(self, closings: dict[int, ir.Value]) -> None:
        for known, is_it in closings.items():
            when(is_it, lambda known=known: self.body(replace(self.tile, after=known), self.last))


def are_far(axis: WindowAxis | SizedAxis, positions: int) -> bool:
    """Whether the columns that so many neighbouring windows read for one tap are none that they read for another."""
    return axis.taps > 1 and (positions - 1) * axis.stride < axis.dilation and axis.dilation > 1


def product_of(axes: Sequence[SizedAxis]) -> Size:
    """The number of positions of the result along some axes."""
    count: Size = 1
    for axis in axes:
        count = times(count, axis.count)
    return count
