"""Panels of a weight of f32 in parts of bf16, for products of matrices that split one while they read the one before."""
from __future__ import annotations

from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, plus, quotient, remainder, times, value_of
from legato.passes.cpu.matrices.number_parts import pairs_of_parts
from legato.passes.cpu.matrices.packed_numbers import WholeNumbers
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, PartsPacking
from legato.passes.cpu.matrices.steps import scratch_rows

PANELS = 2      # at hand: one that is read, and one that is split meanwhile


class PanelSplitting:
    """Splits panels of a weight into a buffer of its own, which has two places for them: ``matrices`` [steps of both, parts, pairs,
    columns, 2] is what products read."""

    def __init__(self, numbers: WholeNumbers, packing: PartsPacking, vectors: Vectors):
        self.numbers, self.packing, self.vectors = numbers, packing, vectors
        self.parts, self.matrices = scratch_rows(PANELS * packing.in_block, packing.parts, DEPTH, COLUMNS * PAIR)

    def place(self, which: Size, step: Size) -> Size:
        """Where a step is of the panel at one of the places."""
        return plus(times(which, self.packing.in_block), step)

    def split(self, block: Size, panel: Size, step: Size, which: Size, begin: Size = 0, end: Size = DEPTH) -> None:
        """Splits pairs of a step of a panel in a block, to one of the places."""
        v, vectors = self.vectors, COLUMNS // self.vectors.lanes

        def pairs(item: ir.Value) -> None:
            row, column = quotient(item, vectors), times(remainder(item, vectors), v.lanes)
            numbers = self.numbers.pair(block, panel, step, row, column)
            for part, both in enumerate(pairs_of_parts(v, numbers, self.packing.parts)):
                vector.StoreOp(both, self.parts, [*map(value_of, (self.place(which, step), part, row, times(column, PAIR)))])

        loop(times(begin, vectors), times(end, vectors), 1, pairs)
