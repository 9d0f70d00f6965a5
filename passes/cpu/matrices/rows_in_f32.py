"""Rows that a product multiplies in f32, since they have numbers that are no sums of parts of bf16."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import Size, Vectors, below, least, loop, plus, quotient, read, remainder, times
from legato.passes.cpu.matrices.packed_numbers import WeightNumbers
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, STEP, PartsPacking


class RowsInF32:
    """Multiplies rows of ``left`` [..., depth] by panels of a weight. ``source``: where an element of a row is."""

    def __init__(self, left: ir.Value, source: Callable[[Size, Size], list[Size]], packing: PartsPacking, vectors: Vectors,
                 numbers: WeightNumbers):
        self.left, self.source, self.packing, self.vectors, self.numbers = left, source, packing, vectors, numbers

    def multiply(self, row: Size, count: Size, panel: Size, sums: ir.Value, place: Sequence[Size]) -> None:
        """Writes the sums of ``count`` rows from one on, over the whole depth, to the rows of a buffer from a place on. Vector by vector,
        in two loops: such numbers are rare, and this is in the code of each kernel."""
        v, in_block, vectors = self.vectors, self.packing.in_block, COLUMNS // self.vectors.lanes

        def sum_of(item: ir.Value) -> None:
            i, column = quotient(item, vectors), times(remainder(item, vectors), v.lanes)

            def pair(number: ir.Value, added: ir.Value) -> list[ir.Value]:
                step, side = quotient(number, DEPTH), remainder(number, DEPTH)
                first, block = plus(times(step, STEP), side), quotient(step, in_block)
                for k, w in enumerate(self.numbers.pair(block, panel, remainder(step, in_block), side, column)):
                    added = math.fma(v.spread(self._number(plus(row, i), plus(first, k * DEPTH))), w, added)
                return [added]

            value, = loop(0, self.packing.steps * DEPTH, 1, pair, [v.splat(0)])
            v.store(value, sums, plus(place[0], i), plus(place[1], column))

        loop(0, times(count, vectors), 1, sum_of)

    def _number(self, row: Size, column: Size) -> ir.Value:
        """An element of the factor in rows; 0 after its columns."""
        depth = self.packing.depth
        number = read(self.left, *self.source(row, least(column, depth - 1)))
        return number if depth % STEP == 0 else arith.select(below(column, depth), number, self.vectors.number(0))
