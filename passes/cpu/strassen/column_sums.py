"""Sums of the columns of a packed weight, for products by Strassen's algorithm."""
from __future__ import annotations

from dataclasses import dataclass

from legato.core.cpu_table import LINE
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, Vectors, loop, plus, quotient, remainder, scratch, times, value_of
from legato.passes.cpu.next_blocks import flattened
from legato.passes.cpu.strassen.tiles import BYTES, SIDES, StrassenTiles

AHEAD = 8       # steps between a fetch of columns into the first cache and their use

T1, T2, T3, T4 = range(4)


@dataclass(frozen=True)
class ColumnFactor:
    """A factor [half of a block of the depth, columns of a tile] in a flat buffer, and its first element there."""

    buffer: ir.Value
    first: Size

    def or_else(self, condition: ir.Value, other: ColumnFactor) -> ColumnFactor:
        """This factor if a condition holds, else the other."""
        def select(one: Size, another: Size) -> ir.Value:
            return arith.select(condition, value_of(one), value_of(another))

        return ColumnFactor(select(self.buffer, other.buffer), select(self.first, other.first))


class ColumnSums:
    """A weight, packed in panels, and the sums T1 to T4 of a block of one of its pairs of tiles of columns, as if they were the halves of
    panels, or panels: [of those, half of the block, columns of a panel]."""

    def __init__(self, weights: ir.Value, tiles: StrassenTiles, vectors: Vectors):
        self.weights, self.tiles, self.vectors = weights, tiles, vectors
        self.sides = SIDES if tiles.in_halves else 1    # tiles of a panel
        self.pitch = self.sides * tiles.width
        self.memory = scratch(len((T1, T2, T3, T4)) // self.sides, tiles.half, self.pitch)
        self.flat_weights, self.flat_memory = _of_any_size(weights), _of_any_size(self.memory)

    def weight(self, pair: Size, side: Size, k: Size, j: int) -> ir.Value:
        """A vector of the weight, of one of the tiles of a pair."""
        tiles = self.tiles
        if tiles.in_halves:
            return self.vectors.load(self.weights, pair, k, 0, plus(times(side, tiles.width), j * tiles.lanes))
        return self.vectors.load(self.weights, plus(times(pair, SIDES), side), k, 0, j * tiles.lanes)

    def quarter(self, pair: Size, side: Size, block: Size, half: Size) -> ColumnFactor:
        """A quarter of a block of a pair."""
        tiles = self.tiles
        row = times(plus(times(block, SIDES), half), tiles.half)
        return ColumnFactor(self.flat_weights, self._first(plus(times(pair, SIDES), side), tiles.depth, row))

    def of_sum(self, which: Size) -> ColumnFactor:
        """A sum."""
        return ColumnFactor(self.flat_memory, self._first(which, self.tiles.half, 0))

    def _first(self, tile: Size, depth: int, row: Size) -> Size:
        """The first element of a row of a tile, of panels of some depth."""
        panel, side = quotient(tile, self.sides), remainder(tile, self.sides)
        return plus(times(plus(times(panel, depth), row), self.pitch), times(side, self.tiles.width))

    def read(self, columns: ColumnFactor, k: Size, j: int) -> ir.Value:
        """A vector of a factor."""
        return self.vectors.load(columns.buffer, plus(plus(columns.first, times(k, self.pitch)), j * self.tiles.lanes))

    def fetch(self, columns: ColumnFactor, k: Size) -> None:
        """Fetches what a step reads a few steps later, where that is not left to the CPU. Behind a factor's end that does no harm."""
        if self.tiles.fetches_columns:
            at = plus(columns.first, times(plus(k, AHEAD), self.pitch))
            for line in range(0, self.tiles.width, LINE // BYTES):
                memref.PrefetchOp(columns.buffer, [value_of(plus(at, line))], False, 3, True)

    def keep(self, value: ir.Value, which: Size, k: Size, j: int) -> ir.Value:
        """Writes a vector of a sum, and gives it back."""
        panel, side = quotient(which, self.sides), remainder(which, self.sides)
        self.vectors.store(value, self.memory, panel, k, plus(times(side, self.tiles.width), j * self.tiles.lanes))
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


def _of_any_size(buffer: ir.Value) -> ir.Value:
    """A view of all elements in one dimension, whose type does not say how many."""
    flat = flattened(buffer)
    return memref.CastOp(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], flat.type.element_type), flat).result
