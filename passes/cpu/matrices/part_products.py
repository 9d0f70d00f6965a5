"""The loops of a product of f32 by AMX: what ``tir-split-products`` makes of a kernel.

A number of f32 is the sum of three of bf16, and a product of two numbers the sum of the products of their parts, of which six are above
f32's precision. Rows are split when the kernel runs, a block of the depth at a time. The weight is packed in parts, or, if it comes from
memory, in f32, and split then, panel by panel.

Numbers from 2^63 on, infinities and NaNs are not split: products of their parts may be infinite, of two signs. The rows of a tile that
has one are multiplied in f32, by the weight's numbers. So are rows without a number of 2^-50 and more, whose products the instructions
might take for zeros, as they do with denormal numbers. Beside greater numbers, those below 2^-110 lose their lower parts.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from legato.analysis.structured.elements import Term
from legato.analysis.structured.epilogue import Epilogue
from legato.core.interfaces import CpuMachine
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir, math, memref, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    if_else,
    in_parallel,
    in_turns,
    joined,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    scratch,
    times,
    value_of,
    when,
)
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, STEP, UPPER
from legato.passes.cpu.matrices.panel_splitting import PanelSplitting
from legato.passes.cpu.matrices.product_cut import ROWS, ProductCut, Share
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.matrices.row_splitting import RowSplitting

TURNS = 8               # of a thread that multiplies rows of its own
TOGETHER = 4            # rows that are multiplied in f32 at once


@dataclass(frozen=True)
class RowProduct:
    """A product of rows of ``left``, whose dimensions but the last are rows, by a weight [depth, columns], and the elementwise ops on its
    result. ``places``: the terms of a row by its number; ``column``: the term of a column; ``source``: where a row is in ``left``, if
    these are not all of its rows, in order."""

    form: Epilogue
    left: ir.Value
    rows: int
    depth: int
    columns: int
    places: Callable[[Size], dict[Term, Size]]
    column: Term
    source: Callable[[Size], list[Size]] | None = None


class PartProducts:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed as the cut's packing says."""

    def __init__(self, product: RowProduct, cut: ProductCut, machine: CpuMachine, buffers: Buffers, weights: ir.Value):
        self.product, self.cut, self.packing, self.buffers, self.weights = product, cut, cut.packing, buffers, weights
        self.vectors, self.bits = Vectors(machine.lanes(32)), ir.IntegerType.get_signless(32)
        left = buffers.of(product.left)
        flat = ir.MemRefType.get([product.rows, product.depth], left.type.element_type)
        dims = [[*range(left.type.rank - 1)], [left.type.rank - 1]]
        is_whole = left.type.rank == 2 or product.source is not None
        self.left = left if is_whole else memref.CollapseShapeOp(flat, left, dims).result
        self.source = product.source or (lambda row: [row])
        self.out = buffers.of(list(product.form.kernel.function.arguments)[-1])
        if not self.packing.at_run_time:
            *outer, side, columns, pair = self.packing.shape
            in_rows = ir.MemRefType.get([*outer, side * columns * pair], weights.type.element_type)
            self.in_rows = memref.CollapseShapeOp(in_rows, weights, [[0], [1], [2], [3, 4, 5]]).result
        self.whole, self.in_blocks = product.rows % ROWS == 0, self.packing.blocks > 1

    def build(self) -> None:
        """Builds all loops."""
        cut, threads = self.cut, self.cut.threads
        self.splitting = RowSplitting(self.left, self.source, self.packing, self.vectors, threads * cut.chunk)
        self.panels = PanelSplitting(self.weights, self.packing, self.vectors, threads) if self.packing.at_run_time else None
        # of a tile and a panel, for each thread; or of all of a thread's, where blocks of the depth add to them
        shape = (cut.by_rows * cut.chunk * ROWS, self.packing.panels * COLUMNS) if self.in_blocks else (threads * ROWS, COLUMNS)
        self.sums = scratch(*shape)
        if cut.in_turns:
            chunks = -(-cut.tiles // cut.chunk)
            at_once = max(1, chunks // (TURNS * threads))

            def turn(number: ir.Value, thread: Size) -> None:
                begin = times(number, at_once)
                self._chunks(thread, times(begin, cut.chunk), least(times(plus(begin, at_once), cut.chunk), cut.tiles))

            in_turns(-(-chunks // at_once), threads, turn)
        elif threads > 1:
            in_parallel(threads, lambda thread: self._chunks(thread, *cut.tiles_of(thread)))
        else:
            self._chunks(0, 0, cut.tiles)

    def _chunks(self, thread: Size, begin: Size, end: Size) -> None:
        """The products of some tiles of rows by one thread, a chunk at a time."""
        loop(begin, end, self.cut.chunk, lambda first: self._chunk(self.cut.share(thread, first, end)))

    def _chunk(self, share: Share) -> None:
        """The products of a chunk, in blocks of the depth where there are several."""
        if not self.in_blocks:
            self._split_rows(share, 0)

            def product(panel: Size, tile: Size) -> None:
                needs_f32 = self.splitting.needs_f32(plus(share.slot, tile))
                if_else(needs_f32, lambda: self._in_f32(share, tile, panel), lambda: self._by_parts(share, tile, panel, 0))
                self._outputs(share, tile, panel)

            self._each(share, product, lambda panel: self._split_panel(share, 0, panel))
            return
        self._each(share, lambda panel, tile: self._clear(share, tile, panel))
        loop(0, self.packing.blocks, 1, lambda block: self._block(share, block))

        def result(panel: Size, tile: Size) -> None:
            when(self.splitting.needs_f32(plus(share.slot, tile)), lambda: self._in_f32(share, tile, panel))
            self._outputs(share, tile, panel)

        self._each(share, result)

    def _block(self, share: Share, block: Size) -> None:
        """What a block of the depth adds to the sums of a chunk."""
        self._split_rows(share, block)
        self._each(share, lambda panel, tile: self._by_parts(share, tile, panel, block),
                   lambda panel: self._split_panel(share, block, panel))

    def _each(self, share: Share, of_tile: Callable[[Size, Size], None], of_panel: Callable[[Size], None] | None = None) -> None:
        """Does something for each panel, then for each tile with it."""
        def panel(number: ir.Value) -> None:
            if of_panel is not None:
                of_panel(number)
            loop(0, share.count, 1, lambda tile: of_tile(number, tile))

        loop(share.begin, share.end, 1, panel)

    def _split_rows(self, share: Share, block: Size) -> None:
        def split(tile: Size) -> None:
            row = share.row(tile)
            self.splitting.split(row, self._rows(row), plus(share.slot, tile), block)

        loop(0, share.count, 1, split)

    def _split_panel(self, share: Share, block: Size, panel: Size) -> None:
        if self.panels is not None:
            self.panels.split(self._panel(block, panel), self.splitting.steps(block), share.thread)

    def _rows(self, row: Size) -> Size:
        """The rows of a tile that begins with a row."""
        return ROWS if self.whole else least(ROWS, minus(self.product.rows, row))

    def _place(self, share: Share, tile: Size, panel: Size) -> list[Size]:
        """Where the sums of a tile and a panel are."""
        if not self.in_blocks:
            return [times(share.thread, ROWS), 0]
        return [times(plus(share.totals, tile), ROWS), times(panel, COLUMNS)]

    def _clear(self, share: Share, tile: Size, panel: Size) -> None:
        """Begins sums."""
        row, column = self._place(share, tile, panel)

        def one(i: ir.Value) -> None:
            for j in range(0, COLUMNS, self.vectors.lanes):
                self.vectors.store(self.vectors.splat(0), self.sums, plus(row, i), plus(column, j))

        loop(0, ROWS, 1, one)

    def _by_parts(self, share: Share, tile: Size, panel: Size, block: Size) -> None:
        """The sums of the products of a tile with a panel in a block."""
        parts, steps, place = self.packing.parts, self.splitting.steps(block), self._panel(block, panel)
        matrices, of_panel = (self.weights, place) if self.panels is None else (self.panels.matrices, share.thread)

        def step(number: ir.Value, sums: ir.Value) -> list[ir.Value]:
            if self.panels is not None:
                self.panels.fetch_next(place, plus(times(tile, steps), number), self.cut.chunk)
            left = read_matrix(self.splitting.pairs, [plus(share.slot, tile), number, 0, 0, 0, 0], [parts, ROWS, SIDE, PAIR])
            right = read_matrix(matrices, [of_panel, number, 0, 0, 0, 0], [parts, SIDE, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        at = self._place(share, tile, panel)
        begun = read_matrix(self.sums, at, [ROWS, COLUMNS]) if self.in_blocks else no_sums(ROWS, COLUMNS)
        sums, = loop(0, steps, 1, step, [begun])
        write_sums(sums, self.sums, *at)

    def _in_f32(self, share: Share, tile: Size, panel: Size) -> None:
        """The sums of the products of a tile with numbers that are no sums of parts, over the whole depth."""
        v, row, vectors = self.vectors, share.row(tile), COLUMNS // self.vectors.lanes
        first_row, first_column = self._place(share, tile, panel)

        def some(i: ir.Value) -> None:
            rows = [least(plus(row, plus(i, r)), self.product.rows - 1) for r in range(TOGETHER)]

            def pair(number: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                first = plus(times(quotient(number, DEPTH), STEP), remainder(number, DEPTH))
                x = [[v.spread(self._number(at, plus(first, k * DEPTH))) for k in range(PAIR)] for at in rows]
                added = list(sums)
                for j in range(vectors):
                    for k, w in enumerate(self._weights(panel, number, j * v.lanes)):
                        for r in range(TOGETHER):
                            added[r * vectors + j] = math.fma(x[r][k], w, added[r * vectors + j])
                return added

            sums = loop(0, self.packing.steps * DEPTH, 1, pair, [v.splat(0)] * (TOGETHER * vectors))
            for number, value in enumerate(sums):
                at = plus(first_row, plus(i, number // vectors)), plus(first_column, number % vectors * v.lanes)
                v.store(value, self.sums, *at)

        loop(0, self._rows(row), TOGETHER, some)

    def _number(self, row: Size, column: Size) -> ir.Value:
        """An element of the factor in rows; 0 after its columns."""
        depth = self.product.depth
        number = read(self.left, *self.source(row), least(column, depth - 1))
        return number if depth % STEP == 0 else arith.select(below(column, depth), number, self.vectors.number(0))

    def _weights(self, panel: Size, pair: Size, column: int) -> list[ir.Value]:
        """The weights of a pair of elements of a row, for a vector of columns."""
        v, in_block = self.vectors, self.packing.in_block
        step, side = quotient(pair, DEPTH), remainder(pair, DEPTH)
        at = [self._panel(quotient(step, in_block), panel), remainder(step, in_block)]
        if self.packing.at_run_time:
            return [v.load(self.weights, *at, plus(side, k * DEPTH), column) for k in range(PAIR)]
        words, halves = v.of(self.bits), ir.VectorType.get([PAIR * v.lanes], ir.BF16Type.get())
        found: list[list[ir.Value]] = []
        for part in range(self.packing.parts):
            place = [*at, part, plus(times(side, COLUMNS * PAIR), column * PAIR)]
            both = vector.BitCastOp(words, vector.LoadOp(halves, self.in_rows, [*map(value_of, place)]).result).result
            even = arith.shli(both, v.constant(16, self.bits))
            odd = arith.andi(both, v.constant(int(UPPER.view(np.int32)), self.bits))
            found.append([arith.bitcast(v.type, even), arith.bitcast(v.type, odd)])
        return [joined(arith.addf, parts) for parts in zip(*found)]

    def _panel(self, block: Size, panel: Size) -> Size:
        """The number of a block's panel among all."""
        return plus(times(block, self.packing.panels), panel)

    def _outputs(self, share: Share, tile: Size, panel: Size) -> None:
        """Writes the rows of a tile through the elementwise ops after the product."""
        v, product, row, feature = self.vectors, self.product, share.row(tile), times(panel, COLUMNS)
        form, some = product.form, bool(product.columns % COLUMNS)
        first_row, first_column = self._place(share, tile, panel)

        def one(i: ir.Value) -> None:
            at = product.places(plus(row, i))
            for j in range(0, COLUMNS, v.lanes):
                place = plus(feature, j)
                count = minus(product.columns, place) if some else None
                places = {**at, product.column: place}
                value = v.load(self.sums, plus(first_row, i), plus(first_column, j))
                elements = Elements(form.kernel, self.buffers, v, places, product.column, count, {form.result: value})
                result = elements.tensor(form.returned, form.out)
                mask = None if count is None else v.mask(count)
                v.store_if(mask, result, self.out, *(term if isinstance(term, int) else places[term] for term in form.out))

        loop(0, self._rows(row), 1, one)
