"""Weights of f32 as they are packed for products by parts of bf16: in parts, or in f32, to be split when the products run."""
from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from legato.core.cpu_table import LINE
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, joined, least, loop, minus, plus, quotient, remainder, rounded_up, times, value_of
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, STEP, UPPER, PartsPacking
from legato.passes.cpu.next_blocks import fetch_part, flattened

IN_LINE = LINE // 4     # numbers


class WeightNumbers(ABC):
    """A packed weight. Its numbers are found by their block of the depth, panel of columns, and step in the block."""

    def __init__(self, weights: ir.Value, packing: PartsPacking, vectors: Vectors):
        self.weights, self.packing, self.vectors = weights, packing, vectors

    @abstractmethod
    def pair(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[ir.Value]:
        """Vectors of numbers of a row of a step, below half of its rows, and of that which it is a pair with."""

    def _panel(self, block: Size, panel: Size) -> Size:
        return plus(times(block, self.packing.panels), panel)


class SplitNumbers(WeightNumbers):
    """A weight that is packed in parts."""

    def __init__(self, weights: ir.Value, packing: PartsPacking, vectors: Vectors):
        super().__init__(weights, packing, vectors)
        *outer, side, columns, pair = packing.shape
        in_rows = ir.MemRefType.get([*outer, side * columns * pair], weights.type.element_type)
        self.in_rows = memref.CollapseShapeOp(in_rows, weights, [[0], [1], [2], [3, 4, 5]]).result

    def pair(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[ir.Value]:
        v, bits = self.vectors, ir.IntegerType.get_signless(32)
        words, halves = v.of(bits), ir.VectorType.get([PAIR * v.lanes], ir.BF16Type.get())
        found: list[list[ir.Value]] = []
        for part in range(self.packing.parts):
            place = [self._panel(block, panel), step, part, plus(times(row, COLUMNS * PAIR), times(column, PAIR))]
            both = vector.BitCastOp(words, vector.LoadOp(halves, self.in_rows, [*map(value_of, place)]).result).result
            even = arith.shli(both, v.constant(16, bits))
            odd = arith.andi(both, v.constant(int(UPPER.view(np.int32)), bits))
            found.append([arith.bitcast(v.type, even), arith.bitcast(v.type, odd)])
        return [joined(arith.addf, parts) for parts in zip(*found)]


class WholeNumbers(WeightNumbers):
    """A weight that is packed in f32."""

    def pair(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[ir.Value]:
        return [self.vectors.load(self.weights, *self.place(block, panel, step, plus(row, k * DEPTH), column)) for k in range(PAIR)]

    @abstractmethod
    def place(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[Size]:
        """Where a number is."""

    @abstractmethod
    def fetch(self, block: Size, panel: Size, step: Size, steps: Size, tile: Size, tiles: Size, most: int) -> None:
        """Fetches a part of a panel of a block, at each of ``steps`` steps of each of ``tiles`` tiles, of which there are ``most`` at
        most."""


class PanelNumbers(WholeNumbers):
    """A weight packed as ``PartsPacking`` says: [panels of all blocks, steps, STEP, COLUMNS]."""

    def __init__(self, weights: ir.Value, packing: PartsPacking, vectors: Vectors):
        super().__init__(weights, packing, vectors)
        self.flat = flattened(weights)

    def place(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[Size]:
        return [self._panel(block, panel), step, row, column]

    def fetch(self, block: Size, panel: Size, step: Size, steps: Size, tile: Size, tiles: Size, most: int) -> None:
        start = times(self._panel(block, panel), self.packing.in_block * STEP * COLUMNS)
        fetch_part(self.flat, start, plus(times(tile, steps), step), STEP * COLUMNS, most)


class ColumnNumbers(WholeNumbers):
    """A weight packed as products in f32 read it, in blocks of columns, which are panels side by side: [blocks of columns, depth, 1,
    columns]. The depth is whole steps."""

    def __init__(self, weights: ir.Value, packing: PartsPacking, vectors: Vectors):
        super().__init__(weights, packing, vectors)
        self.panels = weights.type.shape[-1] // COLUMNS     # of a block of columns

    def place(self, block: Size, panel: Size, step: Size, row: Size, column: Size) -> list[Size]:
        depth = plus(times(plus(times(block, self.packing.in_block), step), STEP), row)
        return [quotient(panel, self.panels), depth, 0, plus(times(remainder(panel, self.panels), COLUMNS), column)]

    def fetch(self, block: Size, panel: Size, step: Size, steps: Size, tile: Size, tiles: Size, most: int) -> None:
        lines = COLUMNS // IN_LINE
        each = rounded_up(STEP * lines, tiles)
        first = least(times(tile, each), STEP * lines)

        def fetch(number: ir.Value) -> None:
            at = self.place(block, panel, step, quotient(number, lines), times(remainder(number, lines), IN_LINE))
            memref.PrefetchOp(self.weights, [*map(value_of, at)], False, 2, True)

        loop(first, plus(first, least(each, minus(STEP * lines, first))), 1, fetch)
