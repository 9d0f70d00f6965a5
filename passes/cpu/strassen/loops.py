"""The loops of a product by Strassen's algorithm: what ``tir-strassen-products`` makes of a kernel."""
from __future__ import annotations

from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, Vectors, below, exceeds, if_else, in_turns, least, loop, minus, plus, rounded_up, times, when
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_product import RowProduct
from legato.passes.cpu.strassen.column_sums import ColumnSums
from legato.passes.cpu.strassen.products import SevenProducts
from legato.passes.cpu.strassen.row_sums import RowSums
from legato.passes.cpu.strassen.tiles import SIDES, StrassenTiles


class StrassenLoops:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed, [panels, depth, 1, columns of one]."""

    def __init__(self, product: RowProduct, tiles: StrassenTiles, buffers: Buffers, weights: ir.Value):
        self.product, self.tiles, self.buffers, self.weights = product, tiles, buffers, weights
        self.vectors = Vectors(tiles.lanes)
        self.left = product.in_rows(buffers.of(product.left))
        self.rows = product.rows_of(buffers.of(product.left))
        self.pairs = rounded_up(self.rows, tiles.each)
        self.chunks = rounded_up(self.pairs, tiles.chunk)

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
        self.row_sums = RowSums(self.left, self.rows, self.tiles, self.vectors)
        self.columns = ColumnSums(self.weights, self.tiles, self.vectors)
        self.products = SevenProducts(self.row_sums, self.columns, self.tiles, self.vectors)

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
        """The products of a chunk of rows with a pair of tiles of columns, block by block of the depth."""
        first, count = self._pairs_of(chunk)

        def block(number: ir.Value) -> None:
            if not self.tiles.sums_on_the_way:
                self.columns.sum(panel, number)

            def pair(slot: ir.Value, are_summed: ir.Value) -> list[ir.Value]:
                balanced = self.row_sums.are_balanced(slot)
                self._pair(plus(first, slot), slot, number, panel, balanced, are_summed)
                return [arith.ori(are_summed, balanced)]

            loop(0, count, 1, pair, [_flag(not self.tiles.sums_on_the_way)])

        loop(0, self.tiles.blocks, 1, block)

    def _pair(self, pair: Size, slot: Size, block: ir.Value, panel: Size, balanced: ir.Value, are_summed: ir.Value) -> None:
        """The products of a block of a pair of tiles of rows, whose sums are at hand in a place. Behind the last block they are written.
        ``are_summed``: whether the sums of columns are at hand."""
        tiles = self.tiles
        row, column, width = times(pair, tiles.each), times(panel, SIDES * tiles.width), SIDES * tiles.width
        rows = least(tiles.each, minus(self.rows, row))

        def seven() -> None:
            when(exceeds(block, tiles.blocks - 2) if tiles.blocks > 1 else True,
                 lambda: self.product.fetch(self.buffers, row, rows, column, width))
            self.products.build(block, slot, panel, are_summed)

        def plain() -> None:
            self.products.plain(row, rows, panel)

        def write() -> None:
            self.product.write(self.buffers, self.vectors, self.products.sums.memory, (0, 0), row, rows, column, width)

        def end() -> None:
            when(arith.xori(balanced, _flag(True)), plain)
            write()

        if tiles.blocks == 1:
            if_else(balanced, seven, plain)
            write()
            return

        def add_up() -> None:
            seven()
            when(exceeds(block, 0), lambda: self.products.sums.add_before(slot))
            when(below(block, tiles.blocks - 1), lambda: self.products.sums.keep_before(slot))

        when(balanced, add_up)
        when(exceeds(block, tiles.blocks - 2), end)


def _flag(value: bool) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(1), value)
