"""Sums of the columns of a packed weight, for products by Strassen's algorithm."""
from __future__ import annotations

from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, Vectors, loop, plus, scratch, times
from legato.passes.cpu.strassen.tiles import SIDES, StrassenTiles

T1, T2, T3, T4 = range(4)


class ColumnSums:
    """A weight, and the sums T1 to T4 of one of its pairs of tiles of columns: [4, half of the depth, columns of a tile]."""

    def __init__(self, weights: ir.Value, tiles: StrassenTiles, vectors: Vectors):
        self.weights, self.tiles, self.vectors = weights, tiles, vectors
        self.memory = scratch(4, tiles.half, tiles.width)

    def weight(self, pair: Size, side: Size, k: Size, j: int) -> ir.Value:
        """A vector of the weight, of one of the tiles of a pair."""
        tiles = self.tiles
        if tiles.in_halves:
            return self.vectors.load(self.weights, pair, k, 0, plus(times(side, tiles.width), j * tiles.lanes))
        return self.vectors.load(self.weights, plus(times(pair, SIDES), side), k, 0, j * tiles.lanes)

    def read(self, which: Size, k: Size, j: int) -> ir.Value:
        """A vector of a sum."""
        return self.vectors.load(self.memory, which, k, j * self.tiles.lanes)

    def keep(self, value: ir.Value, which: Size, k: Size, j: int) -> ir.Value:
        """Writes a vector of a sum, and gives it back."""
        self.vectors.store(value, self.memory, which, k, j * self.tiles.lanes)
        return value

    def sum(self, pair: Size, block: Size) -> None:
        """Builds the sums of a block of a pair."""
        half = self.tiles.half
        start = times(block, SIDES * half)

        def step(k: ir.Value) -> None:
            for j in range(self.tiles.vectors):
                rows = [plus(plus(start, k), first) for first in (0, half)]
                b11, b12, b21, b22 = (self.weight(pair, side, row, j) for row in rows for side in range(SIDES))
                t1 = arith.subf(b12, b11)
                t2 = arith.subf(b22, t1)
                for which, value in {T1: t1, T2: t2, T3: arith.subf(b22, b12), T4: arith.subf(b21, t2)}.items():
                    self.keep(value, which, k, j)

        loop(0, half, 1, step)
