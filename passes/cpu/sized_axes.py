"""Spatial axes of images whose sizes are values of the IR, where they are known at run time only."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from legato.analysis.structured.window import WindowAxis
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, if_else, least, loop, minus, most, plus, quotient, remainder, times, value_of, when


@dataclass(frozen=True)
class SizedAxis:
    """A ``WindowAxis`` whose sizes of input and output are numbers, or values of the IR."""

    size: Size
    count: Size
    begin: int
    stride: int
    dilation: int
    taps: int

    @classmethod
    def of(cls, axis: WindowAxis, source: ir.Value, out: ir.Value, place: int) -> SizedAxis:
        """The axis at dimension ``place`` of two buffers. What is not known is read at the insertion point."""
        size, count = (known if known >= 0 else memref.DimOp(buffer, value_of(place)).result
                       for known, buffer in ((axis.size, source), (axis.count, out)))
        return cls(size, count, axis.begin, axis.stride, axis.dilation, axis.taps)

    def inside(self) -> tuple[Size, Size]:
        """The range [first, end) of positions whose windows lie inside of the input."""
        first = least(-(-self.begin // self.stride), self.count)
        room = minus(plus(self.size, self.begin + self.stride), (self.taps - 1) * self.dilation + 1)
        return first, least(most(quotient(most(room, 0), self.stride), first), self.count)

    def each_tile(self, positions: int, whole: Callable[[Size], None], clipped: Callable[[Size], None]) -> None:
        """Builds ``whole(start)`` for tiles of so many positions whose windows lie inside of the input, of which the last may begin before
        the one before it ends, and ``clipped(start)`` for other positions, one by one."""
        first, end = self.inside()
        room = minus(end, first)
        tiled = minus(room, remainder(room, positions))

        def tiles() -> None:
            loop(first, plus(first, tiled), positions, whole)
            left = arith.cmpi(arith.CmpIPredicate.ne, value_of(tiled), value_of(room))
            when(left, lambda: whole(minus(end, positions)))

        def one_by_one() -> None:
            loop(first, end, 1, clipped)

        loop(0, first, 1, clipped)
        if_else(arith.cmpi(arith.CmpIPredicate.sge, value_of(room), value_of(positions)), tiles, one_by_one)
        loop(end, self.count, 1, clipped)


def product_of(axes: list[SizedAxis]) -> Size:
    """The number of positions of the result along some axes."""
    count: Size = 1
    for axis in axes:
        count = times(count, axis.count)
    return count
