"""The products of a pair of tiles of rows by a pair of tiles of columns, by Strassen's algorithm.

With A the rows and B the weight, in quarters, Winograd's form of the algorithm is

    S1 = A21 + A22   S2 = S1 - A11    S3 = A11 - A21   S4 = A12 - S2
    T1 = B12 - B11   T2 = B22 - T1    T3 = B22 - B12   T4 = B21 - T2
    C11 = A11 B11 + A12 B21
    U = A11 B11 + S2 T2    V = S1 T1          W = U + S3 T3
    C12 = U + (V + S4 B22)    C21 = W + A22 T4    C22 = W + V

in which each product goes on with the sums of another. The quarters are tiles: the sums of rows are computed once, those of the weight for
each pair of its tiles of columns, and stay in the second cache while the rows of a chunk are multiplied by them. Where there are registers
enough, the first rows are multiplied by sums of columns as these are computed: additions that start beside multiply-adds take no time.

Winograd's sums let the numbers of two rows, and two columns, meet. Rows of very different sizes, or with infinities and NaNs, are
multiplied plainly, tile by tile.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import Size, Vectors, if_else, least, loop, minus, plus, read, times
from legato.passes.cpu.next_blocks import fetch_part, flattened, is_cold
from legato.passes.cpu.strassen import numbers
from legato.passes.cpu.strassen.column_sums import ColumnFactor, ColumnSums
from legato.passes.cpu.strassen.row_sums import RowSums
from legato.passes.cpu.strassen.tile_sums import TileSums
from legato.passes.cpu.strassen.tiles import PRODUCTS, SIDES, StrassenTiles


class SevenProducts:
    """Builds the products of a pair of tiles of rows by a pair of tiles of columns, in the buffers of a thread."""

    def __init__(self, row_sums: RowSums, columns: ColumnSums, tiles: StrassenTiles, vectors: Vectors):
        self.row_sums, self.columns, self.tiles, self.vectors = row_sums, columns, tiles, vectors
        self.sums = TileSums(tiles, vectors)
        self.cold = flattened(columns.weights) if is_cold(columns.weights) else None

    def build(self, block: ir.Value, slot: Size, panel: Size, are_summed: ir.Value) -> None:
        """Builds the seven products of the quarters of a block of the depth, whose sums of rows are at hand in a place. ``are_summed``:
        whether those of columns are at hand."""
        tiles, columns = self.tiles, self.columns

        def product(number: ir.Value) -> None:
            sums = self.sums.read(numbers.BEGINS.of(number))
            side, half, kind, which = (table.of(number) for table in (numbers.SIDE, numbers.HALF, numbers.KIND, numbers.SUM))
            quarter, of_sum = columns.quarter(panel, side, block, half), columns.of_sum(which)

            def is_kind(other: int) -> ir.Value:
                return arith.cmpi(arith.CmpIPredicate.eq, kind, index(other))

            def add(right: Callable[[ir.Value, int], ir.Value], fetch: Callable[[ir.Value], None] | None = None) -> list[ir.Value]:
                def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                    if fetch is not None:
                        fetch(k)
                    self._fetch(panel, block, slot, number, k)
                    self.row_sums.fetch(block, slot, number, k)
                    rows = [self.row_sums.read(block, slot, number, i, k) for i in range(tiles.height)]
                    return self._step(rows, [right(k, j) for j in range(tiles.vectors)], sums)

                return loop(0, tiles.half, 1, step, sums)

            def by_difference() -> list[ir.Value]:
                of_quarters, less_side, less_sum = is_kind(numbers.OF_QUARTERS), numbers.LESS_SIDE.of(number), numbers.LESS_SUM.of(number)
                less = columns.quarter(panel, less_side, block, 0).or_else(of_quarters, columns.of_sum(less_sum))

                def difference(k: ir.Value, j: int) -> ir.Value:
                    return columns.keep(arith.subf(columns.read(quarter, k, j), columns.read(less, k, j)), which, k, j)

                return add(difference)

            def by(right: ColumnFactor) -> list[ir.Value]:
                return add(lambda k, j: columns.read(right, k, j), lambda k: columns.fetch(right, k))

            is_weight, types = is_kind(numbers.OF_WEIGHT), [value.type for value in sums]
            if tiles.sums_on_the_way:
                right = quarter.or_else(is_weight, of_sum)
                found = if_else(arith.ori(is_weight, are_summed), lambda: by(right), by_difference, types)
            else:
                found = if_else(is_weight, lambda: by(quarter), lambda: by(of_sum), types)
            self.sums.keep(found, numbers.ENDS.of(number))

        loop(0, PRODUCTS, 1, product)
        self.sums.add(numbers.U, numbers.C12, numbers.C12)
        self.sums.add(numbers.W, numbers.V, numbers.C22)

    def plain(self, row: Size, rows: Size, panel: Size) -> None:
        """The products of some rows with a pair of tiles of columns, in lower and wider tiles, of which the last one may reach beyond."""
        tiles = self.tiles

        def tile(first: ir.Value) -> None:
            at = [least(plus(plus(row, first), i), minus(self.row_sums.rows, 1)) for i in range(tiles.low)]

            def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                columns = [self.columns.weight(panel, side, k, j) for side in range(SIDES) for j in range(tiles.vectors)]
                return self._step([read(self.row_sums.left, one, k) for one in at], columns, sums)

            sums = loop(0, tiles.depth, 1, step, [self.vectors.splat(0)] * (tiles.low * SIDES * tiles.vectors))
            for number, value in enumerate(sums):
                i, j = divmod(number, SIDES * tiles.vectors)
                self.vectors.store(value, self.sums.memory, plus(first, i), j * tiles.lanes)

        loop(0, rows, tiles.low, tile)

    def _step(self, rows: Sequence[ir.Value], columns: Sequence[ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
        """Adds the products of elements of rows with vectors of columns to sums."""
        places = [(x, y) for x in map(self.vectors.spread, rows) for y in columns]
        return [math.fma(x, y, sum_) for (x, y), sum_ in zip(places, sums, strict=True)]

    def _fetch(self, panel: Size, block: Size, slot: Size, which: Size, k: Size) -> None:
        """Fetches a part of what follows a block of a pair of tiles of columns, at a step of one of the products of a pair of tiles of
        rows."""
        if self.cold is not None:
            tiles = self.tiles
            size = SIDES * SIDES * tiles.half * tiles.width
            step = plus(times(plus(times(slot, PRODUCTS), which), tiles.half), k)
            block = plus(times(panel, tiles.blocks), block)
            fetch_part(self.cold, times(plus(block, 1), size), step, -(-size // (PRODUCTS * tiles.half)), tiles.chunk)
