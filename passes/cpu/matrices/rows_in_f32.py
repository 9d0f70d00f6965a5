"""Rows that a product multiplies in f32, since they have numbers that are no sums of parts of bf16."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import Size, Vectors, below, least, loop, minus, plus, quotient, read, remainder, rounded_up, times
from legato.passes.cpu.matrices.packed_numbers import WeightNumbers
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, STEP, PartsPacking

TOGETHER = 4            # rows that are multiplied at once


class RowsInF32:
    """Multiplies some of the ``rows`` of ``left`` [..., depth] by panels of a weight. ``source``: where an element of
    a row is."""

    def __init__(self, left: ir.Value, source: Callable[[Size, Size], list[Size]], rows: Size, packing: PartsPacking, vectors: Vectors,
                 numbers: WeightNumbers):
        self.left, self.source, self.rows, self.packing, self.vectors, self.numbers = left, source, rows, packing, vectors, numbers

    def multiply(self, row: Size, count: Size, panel: Size, sums: ir.Value, place: Sequence[Size]) -> None:
        """Writes the sums of ``count`` rows from one on, over the whole depth, to the rows of a buffer from a place on. A panel's vectors
        are a loop: such numbers are rare, and this is in the code of each kernel."""
        v, in_block, vectors = self.vectors, self.packing.in_block, COLUMNS // self.vectors.lanes

        def some(item: ir.Value) -> None:
            i, column = times(quotient(item, vectors), TOGETHER), times(remainder(item, vectors), v.lanes)
            rows = [least(plus(row, plus(i, r)), minus(self.rows, 1)) for r in range(TOGETHER)]

            def pair(number: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                step, side = quotient(number, DEPTH), remainder(number, DEPTH)
                first, block, added = plus(times(step, STEP), side), quotient(step, in_block), list(sums)
                for k, w in enumerate(self.numbers.pair(block, panel, remainder(step, in_block), side, column)):
                    numbers = [v.spread(self._number(at, plus(first, k * DEPTH))) for at in rows]
                    added = [math.fma(x, w, sum_) for x, sum_ in zip(numbers, added, strict=True)]
                return added

            values = loop(0, self.packing.steps * DEPTH, 1, pair, [v.splat(0)] * TOGETHER)
            for r, value in enumerate(values):
                v.store(value, sums, plus(place[0], plus(i, r)), plus(place[1], column))

        loop(0, times(rounded_up(count, TOGETHER), vectors), 1, some)

    def _number(self, row: Size, column: Size) -> ir.Value:
        """An element of the factor in rows; 0 after its columns."""
        depth = self.packing.depth
        if depth % STEP == 0:
            return read(self.left, *self.source(row, column))
        number = read(self.left, *self.source(row, least(column, depth - 1)))
        return arith.select(below(column, depth), number, self.vectors.number(0))
