"""Panels of a weight of f32 in parts of bf16, for products of matrices that split one after the other when they run."""
from __future__ import annotations

from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, value_of
from legato.passes.cpu.matrices.number_parts import pairs_of_parts
from legato.passes.cpu.matrices.packed_numbers import WholeNumbers
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, PartsPacking
from legato.passes.cpu.matrices.steps import scratch_rows


class PanelSplitting:
    """Splits panels of a weight into a buffer of its own: ``matrices`` [steps, parts, pairs, columns, 2] is what products read."""

    def __init__(self, numbers: WholeNumbers, packing: PartsPacking, vectors: Vectors):
        self.numbers, self.packing, self.vectors = numbers, packing, vectors
        self.parts, self.matrices = scratch_rows(packing.in_block, packing.parts, DEPTH, COLUMNS * PAIR)

    def split(self, block: Size, panel: Size, steps: Size) -> None:
        """Splits the first steps of a panel in a block."""
        v = self.vectors

        def pairs(step: ir.Value, row: ir.Value) -> None:
            for column in range(0, COLUMNS, v.lanes):
                numbers = self.numbers.pair(block, panel, step, row, column)
                for part, both in enumerate(pairs_of_parts(v, numbers, self.packing.parts)):
                    vector.StoreOp(both, self.parts, [*map(value_of, (step, part, row, column * PAIR))])

        loop(0, steps, 1, lambda step: loop(0, DEPTH, 1, lambda row: pairs(step, row)))
