"""Panels of a weight of f32 in parts of bf16, for products of matrices that split one after the other when they run."""
from __future__ import annotations

from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, plus, times, value_of
from legato.passes.cpu.matrices.number_parts import pairs_of_parts
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, STEP, PartsPacking
from legato.passes.cpu.matrices.steps import scratch_rows
from legato.passes.cpu.next_blocks import fetch_part, flattened


class PanelSplitting:
    """Splits panels of ``weights``, packed in f32, a thread's into a buffer of its own: ``matrices`` [threads, steps, parts, pairs,
    columns, 2] is what products read."""

    def __init__(self, weights: ir.Value, packing: PartsPacking, vectors: Vectors, threads: int):
        self.weights, self.packing, self.vectors = weights, packing, vectors
        self.flat = flattened(weights)
        self.parts, self.matrices = scratch_rows(threads, packing.in_block, packing.parts, DEPTH, COLUMNS * PAIR)

    def split(self, panel: Size, steps: Size, thread: Size) -> None:
        """Splits the first steps of a panel."""
        v = self.vectors

        def pairs(step: ir.Value, row: ir.Value) -> None:
            for column in range(0, COLUMNS, v.lanes):
                numbers = [v.load(self.weights, panel, step, plus(row, k * DEPTH), column) for k in range(PAIR)]
                for part, both in enumerate(pairs_of_parts(v, numbers, self.packing.parts)):
                    vector.StoreOp(both, self.parts, [*map(value_of, (thread, step, part, row, column * PAIR))])

        loop(0, steps, 1, lambda step: loop(0, DEPTH, 1, lambda row: pairs(step, row)))

    def fetch_next(self, panel: Size, step: Size, tiles: int) -> None:
        """Fetches a part of the panel behind this one, at each step of each of ``tiles`` tiles. ``step``: its number among those of all."""
        fetch_part(self.flat, times(plus(panel, 1), self.packing.in_block * STEP * COLUMNS), step, STEP * COLUMNS, tiles)
