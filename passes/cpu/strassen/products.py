"""The loops of a product by Strassen's algorithm: what ``tir-strassen-products`` makes of a kernel.

With A the rows and B the weight, in quarters, Winograd's form of the algorithm is

    S1 = A21 + A22   S2 = S1 - A11    S3 = A11 - A21   S4 = A12 - S2
    T1 = B12 - B11   T2 = B22 - T1    T3 = B22 - B12   T4 = B21 - T2
    C11 = A11 B11 + A12 B21
    U = A11 B11 + S2 T2    V = U + S1 T1      W = U + S3 T3
    C12 = V + S4 B22       C21 = W + A22 T4   C22 = W + (V - U)

in which each product goes on with the sums of another. The quarters are tiles: the sums of rows are computed once, those of the weight for
each pair of its tiles of columns, and stay in the second cache while the rows of a chunk are multiplied by them.

Winograd's sums let the numbers of two rows, and two columns, meet. Rows of very different sizes, or with infinities and NaNs, are
multiplied plainly, tile by tile.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import (
    Size,
    Vectors,
    if_else,
    in_turns,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    rounded_up,
    scratch,
    times,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.next_blocks import fetch_part, flattened, is_cold
from legato.passes.cpu.row_product import RowProduct
from legato.passes.cpu.strassen.column_sums import T1, T2, T3, T4, ColumnSums
from legato.passes.cpu.strassen.row_sums import A11, A12, A22, S1, S2, S3, S4, RowSums
from legato.passes.cpu.strassen.tiles import PRODUCTS, SIDES, StrassenTiles

BITS = 4                # of a number in a table
# the places of tiles of sums: a pair of tiles of rows by one of columns, those of plain products behind it, and what waits
C11, C12, C21, C22, *_, FIRST, U, V, W, ZERO, END = range(12)

Columns = Callable[[Size, int], ir.Value]   # a vector of columns, by its place along the depth and its number


class ProductNumbers:
    """Small numbers, by the number of a product, which is known when the loops run."""

    def __init__(self, numbers: dict[int, int]):
        self.bits = sum(number << BITS * product for product, number in numbers.items())

    def of(self, product: ir.Value) -> ir.Value:
        """The number of a product."""
        shifted = arith.shrui(index(self.bits), arith.muli(product, index(BITS)))
        return arith.andi(shifted, index((1 << BITS) - 1))


# what the sums of a product begin with, and where they are kept
BEGINS = ProductNumbers({A11: ZERO, A12: FIRST, S2: FIRST, S1: U, S4: V, S3: U, A22: W})
ENDS = ProductNumbers({A11: FIRST, A12: C11, S2: U, S1: V, S4: C12, S3: W, A22: C21})
# the other factor: a sum of columns, or a quarter of the weight, by its side, and its half of the depth
IS_SUM = ProductNumbers({A11: 0, A12: 0, S2: 1, S1: 1, S4: 0, S3: 1, A22: 1})
SUM = ProductNumbers({S2: T2, S1: T1, S3: T3, A22: T4})
SIDE = ProductNumbers({A11: 0, A12: 0, S4: 1})
HALF = ProductNumbers({A11: 0, A12: 1, S4: 1})


class SevenProducts:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed, [panels, depth, 1, columns of one]."""

    def __init__(self, product: RowProduct, tiles: StrassenTiles, buffers: Buffers, weights: ir.Value):
        self.product, self.tiles, self.buffers = product, tiles, buffers
        self.vectors = Vectors(tiles.lanes)
        self.columns = ColumnSums(weights, tiles, self.vectors)
        self.left = product.in_rows(buffers.of(product.left))
        self.rows = product.rows_of(buffers.of(product.left))
        self.pairs = rounded_up(self.rows, tiles.each)
        self.chunks = rounded_up(self.pairs, tiles.chunk)
        self.cold = flattened(weights) if is_cold(weights) else None

    def build(self) -> None:
        """Builds all loops."""
        chunks, threads = self.chunks, self.tiles.threads
        if threads == 1:
            self._allocate()
            loop(0, chunks, 1, self._chunk)
        elif self.tiles.alone:
            in_turns(chunks, threads, lambda chunk, _: self._chunk(chunk), lambda _: self._allocate())
        else:
            loop(0, chunks, 1, self._shared_chunk)

    def _allocate(self) -> None:
        """Allocates the buffers of a thread: of sums of rows and columns, and of tiles."""
        tiles = self.tiles
        self.row_sums = RowSums(self.left, self.rows, tiles, self.vectors)
        self.columns.allocate()
        self.sums = scratch(-(-END // SIDES) * tiles.height, SIDES * tiles.width)
        self._keep([self.vectors.splat(0)] * (tiles.height * tiles.vectors), ZERO)

    def _chunk(self, chunk: Size) -> None:
        """The products of a chunk of rows with the whole weight, by one thread."""
        self._sum_rows(chunk)
        loop(0, self.tiles.pairs_of_columns, 1, lambda panel: self._panel(chunk, panel))

    def _shared_chunk(self, chunk: Size) -> None:
        """The same, by all threads. Each sums all rows: to read sums from another core's cache would take longer."""
        def begin(_: Size) -> None:
            self._allocate()
            self._sum_rows(chunk)

        in_turns(self.tiles.pairs_of_columns, self.tiles.threads, lambda panel, _: self._panel(chunk, panel), begin)

    def _sum_rows(self, chunk: Size) -> None:
        first, count = self._pairs_of(chunk)
        loop(0, count, 1, lambda slot: self.row_sums.build(plus(first, slot), slot))

    def _pairs_of(self, chunk: Size) -> tuple[Size, Size]:
        """The first pair of tiles of rows of a chunk, and their number."""
        first = times(chunk, self.tiles.chunk)
        whole = isinstance(self.pairs, int) and self.pairs % self.tiles.chunk == 0
        return first, self.tiles.chunk if whole else least(self.tiles.chunk, minus(self.pairs, first))

    def _panel(self, chunk: Size, panel: Size) -> None:
        """The products of a chunk of rows with a pair of tiles of columns."""
        first, count = self._pairs_of(chunk)
        self.columns.sum(panel)

        def pair(slot: ir.Value) -> None:
            row = times(plus(first, slot), self.tiles.each)
            rows = least(self.tiles.each, minus(self.rows, row))
            if_else(self.row_sums.are_balanced(slot), lambda: self._seven(slot, panel), lambda: self._plain(row, rows, panel))
            width = SIDES * self.tiles.width
            self.product.write(self.buffers, self.vectors, self.sums, (0, 0), row, rows, times(panel, width), width)

        loop(0, count, 1, pair)

    def _seven(self, slot: Size, panel: Size) -> None:
        """The products of a pair of tiles of rows, whose sums are at hand in a place, by sums."""
        tiles = self.tiles

        def product(number: ir.Value) -> None:
            sums = self._tile(BEGINS.of(number))
            side, half = SIDE.of(number), times(HALF.of(number), tiles.half)

            def add(right: Columns) -> None:
                def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                    self._fetch(panel, slot, number, k)
                    self.row_sums.fetch(slot, number, k)
                    rows = [self.row_sums.read(slot, number, i, k) for i in range(tiles.height)]
                    return self._step(rows, [right(k, j) for j in range(tiles.vectors)], sums)

                self._keep(loop(0, tiles.half, 1, step, sums), ENDS.of(number))

            is_sum = arith.cmpi(arith.CmpIPredicate.ne, IS_SUM.of(number), index(0))
            which = SUM.of(number)
            if_else(is_sum, lambda: add(lambda k, j: self.columns.read(which, k, j)),
                    lambda: add(lambda k, j: self.columns.weight(panel, side, plus(k, half), j)))

        loop(0, PRODUCTS, 1, product)
        u, v, w = map(self._tile, (U, V, W))
        self._keep([arith.addf(c, arith.subf(b, a)) for a, b, c in zip(u, v, w, strict=True)], C22)

    def _plain(self, row: Size, rows: Size, panel: Size) -> None:
        """The products of some rows with a pair of tiles of columns, in lower and wider tiles, of which the last one may reach beyond."""
        tiles = self.tiles

        def tile(first: ir.Value) -> None:
            at = [least(plus(plus(row, first), i), minus(self.rows, 1)) for i in range(tiles.low)]

            def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                columns = [self.columns.weight(panel, side, k, j) for side in range(SIDES) for j in range(tiles.vectors)]
                return self._step([read(self.left, one, k) for one in at], columns, sums)

            sums = loop(0, tiles.depth, 1, step, [self.vectors.splat(0)] * (tiles.low * SIDES * tiles.vectors))
            for number, value in enumerate(sums):
                i, j = divmod(number, SIDES * tiles.vectors)
                self.vectors.store(value, self.sums, plus(first, i), j * tiles.lanes)

        loop(0, rows, tiles.low, tile)

    def _step(self, rows: Sequence[ir.Value], columns: Sequence[ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
        """Adds the products of elements of rows with vectors of columns to sums."""
        places = [(x, y) for x in map(self.vectors.spread, rows) for y in columns]
        return [math.fma(x, y, sum_) for (x, y), sum_ in zip(places, sums, strict=True)]

    def _fetch(self, panel: Size, slot: Size, which: Size, k: Size) -> None:
        """Fetches a part of the next pair of tiles of columns, at a step of one of the products of a pair of tiles of rows."""
        if self.cold is not None:
            tiles = self.tiles
            size = SIDES * tiles.depth * tiles.width
            step = plus(times(plus(times(slot, PRODUCTS), which), tiles.half), k)
            fetch_part(self.cold, times(plus(panel, 1), size), step, -(-size // (PRODUCTS * tiles.half)), tiles.chunk)

    def _places(self, tile: int | ir.Value) -> list[tuple[Size, Size]]:
        """Where the vectors of a tile of sums are, row by row."""
        tiles = self.tiles
        row, column = times(quotient(tile, SIDES), tiles.height), times(remainder(tile, SIDES), tiles.width)
        return [(plus(row, i), plus(column, j * tiles.lanes)) for i in range(tiles.height) for j in range(tiles.vectors)]

    def _tile(self, tile: int | ir.Value) -> list[ir.Value]:
        """The sums of a tile."""
        return [self.vectors.load(self.sums, *at) for at in self._places(tile)]

    def _keep(self, sums: Sequence[ir.Value], tile: int | ir.Value) -> None:
        """Writes the sums of a tile."""
        for value, at in zip(sums, self._places(tile), strict=True):
            self.vectors.store(value, self.sums, *at)
