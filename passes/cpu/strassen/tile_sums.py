"""The tiles of sums of a pair of tiles of rows, for products by Strassen's algorithm."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, Vectors, loop, plus, quotient, remainder, scratch, times
from legato.passes.cpu.strassen.numbers import END, ZERO
from legato.passes.cpu.strassen.tiles import SIDES, StrassenTiles


class TileSums:
    """Buffers of one thread. ``memory``: tiles by their places, two beside each other, the four of results first; ``before``: results of
    the blocks of the depth before, of all pairs of tiles of rows of a chunk."""

    def __init__(self, tiles: StrassenTiles, vectors: Vectors):
        self.tiles, self.vectors = tiles, vectors
        self.memory = scratch(-(-END // SIDES) * tiles.height, SIDES * tiles.width)
        self.before = scratch(tiles.chunk if tiles.blocks > 1 else 0, tiles.each, SIDES * tiles.width)
        self.keep([vectors.splat(0)] * (tiles.height * tiles.vectors), ZERO)

    def read(self, tile: int | ir.Value) -> list[ir.Value]:
        """The sums of a tile."""
        return [self.vectors.load(self.memory, *at) for at in self._places(tile)]

    def keep(self, sums: Sequence[ir.Value], tile: int | ir.Value) -> None:
        """Writes the sums of a tile."""
        for value, at in zip(sums, self._places(tile), strict=True):
            self.vectors.store(value, self.memory, *at)

    def add(self, one: int, other: int, to: int) -> None:
        """Writes the sums of two tiles to a third one."""
        self.keep([arith.addf(a, b) for a, b in zip(self.read(one), self.read(other), strict=True)], to)

    def add_before(self, slot: Size) -> None:
        """Adds to the four tiles of results of a pair of tiles of rows those of the blocks before."""
        def vector(row: ir.Value, column: int) -> None:
            before = self.vectors.load(self.before, slot, row, column)
            self.vectors.store(arith.addf(self.vectors.load(self.memory, row, column), before), self.memory, row, column)

        self._each(vector)

    def keep_before(self, slot: Size) -> None:
        """Keeps the four tiles of results of a pair of tiles of rows for the blocks that follow."""
        self._each(lambda row, column: self.vectors.store(self.vectors.load(self.memory, row, column), self.before, slot, row, column))

    def _each(self, body: Callable[[ir.Value, int], None]) -> None:
        """Builds ``body`` for each vector of four tiles, by its row and column."""
        def row(number: ir.Value) -> None:
            for column in range(0, SIDES * self.tiles.width, self.tiles.lanes):
                body(number, column)

        loop(0, self.tiles.each, 1, row)

    def _places(self, tile: int | ir.Value) -> list[tuple[Size, Size]]:
        """Where the vectors of a tile of sums are, row by row."""
        tiles = self.tiles
        row, column = times(quotient(tile, SIDES), tiles.height), times(remainder(tile, SIDES), tiles.width)
        return [(plus(row, i), plus(column, j * tiles.lanes)) for i in range(tiles.height) for j in range(tiles.vectors)]
