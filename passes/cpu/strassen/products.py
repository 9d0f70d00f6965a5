"""The loops of a product by Strassen's algorithm: what ``tir-strassen-products`` makes of a kernel.

With A the rows and B the weight, in quarters, Winograd's form of the algorithm is

    S1 = A21 + A22   S2 = S1 - A11    S3 = A11 - A21   S4 = A12 - S2
    T1 = B12 - B11   T2 = B22 - T1    T3 = B22 - B12   T4 = B21 - T2
    C11 = A11 B11 + A12 B21
    U = A11 B11 + S2 T2               V = U + S1 T1
    C12 = V + S4 B22                  C22 = V + S3 T3  C21 = U + S3 T3 + A22 T4

in which all sums but that of S3 T3 go on in the registers where they are. The quarters are tiles: the sums of rows are computed once, those
of the weight for each pair of its tiles of columns, and stay in the second cache while the rows of a chunk are multiplied by them.

Winograd's sums let the numbers of two rows, and two columns, meet. Rows of very different sizes, or with infinities and NaNs, are
multiplied plainly, tile by tile.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    if_else,
    in_turns,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    rounded_up,
    scratch,
    times,
    when,
)
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.next_blocks import fetch_part, flattened, is_cold
from legato.passes.cpu.row_product import RowProduct
from legato.passes.cpu.strassen.column_sums import T1, T2, T3, T4, ColumnSums
from legato.passes.cpu.strassen.row_sums import A11, A12, A22, S1, S2, S3, S4, RowSums
from legato.passes.cpu.strassen.tiles import PRODUCTS, SIDES, StrassenTiles

FEW = 5                 # rows of a tile of plain products, where their number is not known
Columns = Callable[[Size, int], ir.Value]   # a vector of columns, by its place along the depth and its number


class SevenProducts:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed, [panels, depth, 1, columns of one]."""

    def __init__(self, product: RowProduct, tiles: StrassenTiles, buffers: Buffers, weights: ir.Value):
        self.product, self.tiles, self.buffers = product, tiles, buffers
        self.vectors = Vectors(tiles.lanes)
        self.columns = ColumnSums(weights, tiles, self.vectors)
        self.left = product.in_rows(buffers.of(product.left))
        self.rows = product.rows_of(buffers.of(product.left))
        self.out = buffers.of(list(product.form.kernel.function.arguments)[-1])
        self.pairs = quotient(self.rows, tiles.each)
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
        """Allocates the buffers of a thread: of sums, and results."""
        self.row_sums = RowSums(self.left, self.tiles, self.vectors)
        self.columns.allocate()
        self.results = scratch(self.tiles.each + (0 if isinstance(self.rows, int) else FEW), SIDES * self.tiles.width)

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
            if_else(self.row_sums.are_balanced(slot), lambda: self._seven(slot, panel), lambda: self._eight(row, panel))
            self._outputs(row, self.tiles.each, panel)

        loop(0, count, 1, pair)
        is_last = (isinstance(self.chunks, int) and self.chunks == 1) or below(minus(self.chunks, 2), chunk)
        when(is_last, lambda: self._rest(panel))

    def _rest(self, panel: Size) -> None:
        """The rows behind the last pair of tiles."""
        first = times(self.pairs, self.tiles.each)
        if not isinstance(first, int):
            rest = minus(self.rows, first)
            loop(0, rest, FEW, lambda i: self._plain(plus(first, i), FEW, i, panel))
            self._outputs(first, rest, panel)
            return
        for height in self.tiles.heights(minus(self.rows, first)):
            self._plain(first, height, 0, panel)
            self._outputs(first, height, panel)
            first += height

    def _seven(self, slot: Size, panel: Size) -> None:
        """The products of a pair of tiles of rows, whose sums are at hand in a place, by sums."""
        half, height = self.tiles.half, self.tiles.height

        def add(product: int, right: Columns, sums: Sequence[ir.Value]) -> list[ir.Value]:
            def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                self._fetch(panel, slot, product, k)
                self.row_sums.fetch(slot, product, k)
                return self._step([self.row_sums.read(slot, product, i, k) for i in range(height)], right, k, sums)

            return loop(0, half, 1, step, list(sums))

        def weight(side: int, first: int) -> Columns:
            return lambda k, j: self.columns.weight(panel, side, plus(k, first), j)

        def sums(which: int) -> Columns:
            return lambda k, j: self.columns.read(which, k, j)

        first = add(A11, weight(0, 0), self._zeros(height))
        self._keep(add(A12, weight(0, half), first), 0, 0)
        u = add(S2, sums(T2), first)
        v = add(S1, sums(T1), u)
        self._keep(add(S4, weight(1, half), v), 0, 1)
        apart = add(S3, sums(T3), self._zeros(height))
        self._keep([arith.addf(a, b) for a, b in zip(apart, v, strict=True)], height, 1)
        u = [arith.addf(a, b) for a, b in zip(apart, u, strict=True)]
        self._keep(add(A22, sums(T4), u), height, 0)

    def _eight(self, row: Size, panel: Size) -> None:
        """The products of a pair of tiles of rows, plainly."""
        height = self.tiles.height
        loop(0, self.tiles.each, height, lambda i: self._plain(plus(row, i), height, i, panel))

    def _plain(self, row: Size, height: int, place: Size, panel: Size) -> None:
        """The products of a tile of rows with a pair of tiles of columns."""
        inside = isinstance(self.rows, int)
        rows = [plus(row, i) if inside or height != FEW else least(plus(row, i), minus(self.rows, 1)) for i in range(height)]

        def of_side(side: Size) -> None:
            def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                return self._step([read(self.left, at, k) for at in rows], lambda k, j: self.columns.weight(panel, side, k, j), k, sums)

            self._keep(loop(0, self.tiles.depth, 1, step, self._zeros(height)), place, side)

        loop(0, SIDES, 1, of_side)

    def _step(self, rows: Sequence[ir.Value], columns: Columns, k: Size, sums: Sequence[ir.Value]) -> list[ir.Value]:
        """Adds the products of elements of rows with the vectors of columns at a place along the depth to sums."""
        right = [columns(k, j) for j in range(self.tiles.vectors)]
        places = [(x, y) for x in map(self.vectors.spread, rows) for y in right]
        return [math.fma(x, y, sum_) for (x, y), sum_ in zip(places, sums, strict=True)]

    def _fetch(self, panel: Size, slot: Size, which: int, k: Size) -> None:
        """Fetches a part of the next pair of tiles of columns, at a step of one of the products of a pair of tiles of rows."""
        if self.cold is not None:
            tiles = self.tiles
            size = SIDES * tiles.depth * tiles.width
            step = plus(times(plus(times(slot, PRODUCTS), which), tiles.half), k)
            fetch_part(self.cold, times(plus(panel, 1), size), step, -(-size // (PRODUCTS * tiles.half)), tiles.chunk)

    def _zeros(self, height: int) -> list[ir.Value]:
        return [self.vectors.splat(0)] * (height * self.tiles.vectors)

    def _keep(self, sums: Sequence[ir.Value], place: Size, side: Size) -> None:
        """Writes the sums of a tile to the results, from the row ``place`` on."""
        for number, value in enumerate(sums):
            i, j = divmod(number, self.tiles.vectors)
            self.vectors.store(value, self.results, plus(place, i), plus(times(side, self.tiles.width), j * self.tiles.lanes))

    def _outputs(self, row: Size, count: Size, panel: Size) -> None:
        """Writes so many rows through the elementwise ops after the product."""
        v, product, tiles = self.vectors, self.product, self.tiles
        form, some = product.form, bool(product.columns % (SIDES * tiles.width))
        column = times(panel, SIDES * tiles.width)

        def one(i: ir.Value) -> None:
            at = product.places(plus(row, i))
            for j in range(0, SIDES * tiles.width, v.lanes):
                place = plus(column, j)
                inside = minus(product.columns, place) if some else None
                places = {**at, product.column: place}
                known = {form.result: v.load(self.results, i, j)}
                elements = Elements(form.kernel, self.buffers, v, places, product.column, inside, known)
                mask = None if inside is None else v.mask(inside)
                where = [term if isinstance(term, int) else places[term] for term in form.out]
                v.store_if(mask, elements.tensor(form.returned, form.out), self.out, *where)

        loop(0, count, 1, one)
