"""The loops of a product of f32 by AMX: what ``tir-split-products`` makes of a kernel.

A number of f32 is the sum of three of bf16, and a product of two numbers the sum of the products of their parts, of which six are above
f32's precision. Rows are split when the kernel runs, a block of the depth at a time; the weight is packed in parts.

Numbers from 2^100 on, infinities and NaNs are not sums of such parts. The rows of a tile that has one are multiplied in f32, by the sums of
the weight's parts. So are rows without a number of 2^-50 and more, whose products the instructions might take for zeros, as they do with
denormal numbers. Beside greater numbers, those below 2^-110 lose their lower parts.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

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
    in_parts,
    in_turns,
    joined,
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
    value_of,
    when,
)
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, STEP, UPPER, PartsPacking
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.matrices.row_splitting import ROWS, RowSplitting

BYTES = 2               # of bf16
SHARE = 2               # of the second cache, its inverse, that the parts of the rows at hand take, or of the weight
TURNS = 8               # of a thread that multiplies rows of its own
WORTH_IT = 1 << 20      # multiply-adds from which on several threads pay


@dataclass(frozen=True)
class RowProduct:
    """A product of the rows of ``left``, all of whose dimensions but the last are rows, by a weight [depth, columns], and the elementwise
    ops on its result. ``places``: the terms of a row by its number; ``column``: the term of a column."""

    form: Epilogue
    left: ir.Value
    rows: int
    depth: int
    columns: int
    places: Callable[[Size], dict[Term, Size]]
    column: Term


def is_near(packing: PartsPacking, machine: CpuMachine) -> bool:
    """Whether a weight in parts stays in a core's second cache."""
    return prod(packing.shape) * BYTES <= machine.l2_bytes // SHARE


@dataclass(frozen=True)
class RowTiles:
    """Tiles of rows: ``count`` from the tile ``first`` of all on. ``slot``: the place of the parts of the first one among those of all
    threads; ``thread``: which computes them, None where all do."""

    first: Size
    count: Size
    slot: Size
    thread: Size | None

    def row(self, tile: Size) -> Size:
        """The first row of one of them."""
        return times(plus(self.first, tile), ROWS)


class PartProducts:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed as ``packing`` says."""

    def __init__(self, product: RowProduct, packing: PartsPacking, machine: CpuMachine, buffers: Buffers, weights: ir.Value):
        self.product, self.packing, self.buffers, self.weights = product, packing, buffers, weights
        self.vectors, self.bits = Vectors(machine.lanes(32)), ir.IntegerType.get_signless(32)
        left = buffers.of(product.left)
        flat = ir.MemRefType.get([product.rows, product.depth], left.type.element_type)
        dims = [[*range(left.type.rank - 1)], [left.type.rank - 1]]
        self.left = left if left.type.rank == 2 else memref.CollapseShapeOp(flat, left, dims).result
        self.out = buffers.of(list(product.form.kernel.function.arguments)[-1])
        *outer, side, columns, pair = packing.shape
        in_rows = ir.MemRefType.get([*outer, side * columns * pair], weights.type.element_type)
        self.in_rows = memref.CollapseShapeOp(in_rows, weights, [[0], [1], [2], [3, 4, 5]]).result
        self.tiles = -(-product.rows // ROWS)
        self.whole = product.rows % ROWS == 0
        of_tile = ROWS * packing.in_block * STEP * packing.parts * BYTES
        self.threads = threads = machine.threads if product.rows * product.depth * product.columns >= WORTH_IT else 1
        # a thread that multiplies rows of its own need not read parts from another one's cache, but reads all of the weight
        self.by_rows = threads > 1 and product.rows >= product.columns and self.tiles >= 2 * threads
        # a weight that stays in the cache is multiplied by one tile after the other, whose parts stay in the first one
        stays = is_near(packing, machine) and (self.by_rows or threads == 1)
        chunks = -(-self.tiles // (1 if stays else max(1, machine.l2_bytes // SHARE // of_tile)))
        self.chunk = -(-self.tiles // (-(-chunks // threads) * threads if self.by_rows else chunks))
        # few panels are shared out with parts of the rows
        even = packing.panels % threads == 0 or packing.panels >= 8 * threads
        self.shares = 1 if even or self.by_rows else min(threads, self.chunk)

    def build(self) -> None:
        """Builds all loops."""
        slots = self.chunk * self.threads if self.by_rows else self.chunk
        self.splitting = RowSplitting(self.left, self.packing, self.vectors, slots)
        self.sums = scratch(self.threads, ROWS, COLUMNS)
        if self.packing.blocks > 1:
            self.totals = scratch(slots * ROWS, self.packing.panels * COLUMNS)
        if self.by_rows:
            chunks = -(-self.tiles // self.chunk)
            at_once = max(1, chunks // (TURNS * self.threads))

            def turn(number: ir.Value, thread: Size) -> None:
                begin = times(number, at_once)
                loop(begin, least(plus(begin, at_once), chunks), 1, lambda item: self._chunk(times(item, self.chunk), thread))

            in_turns(-(-chunks // at_once), self.threads, turn)
        else:
            loop(0, self.tiles, self.chunk, self._chunk)

    def _chunk(self, first: Size, thread: Size | None = None) -> None:
        """The products of the rows of the tiles from ``first`` on, by one thread or all."""
        count = self.chunk if self.tiles % self.chunk == 0 else least(self.chunk, minus(self.tiles, first))
        tiles = RowTiles(first, count, 0 if thread is None else times(thread, self.chunk), thread)
        last = self.packing.blocks - 1
        if last > 0:
            self._block(tiles, 0)
        if last > 1:
            loop(1, last, 1, lambda block: self._block(tiles, block))
        self._block(tiles, last, is_last=True)

    def _block(self, tiles: RowTiles, block: Size, *, is_last: bool = False) -> None:
        """What a block of the depth adds to the products of tiles with all panels."""
        threads = self.threads if tiles.thread is None else 1

        def split(tile: Size, _: Size) -> None:
            row = tiles.row(tile)
            self.splitting.split(row, self._rows(row), plus(tiles.slot, tile), block, is_last=is_last)

        in_parts(tiles.count, threads, split)
        share = rounded_up(tiles.count, self.shares)

        def item(number: ir.Value, one: Size) -> None:
            thread = one if tiles.thread is None else tiles.thread
            panel, begin = quotient(number, self.shares), times(remainder(number, self.shares), share)
            end = least(plus(begin, share), tiles.count) if self.shares > 1 else tiles.count

            def by_parts() -> None:
                loop(begin, end, 1, lambda tile: self._by_parts(tiles, tile, panel, thread, block, is_last))

            def in_f32() -> None:
                loop(begin, end, 1, lambda tile: self._in_f32(tiles, tile, panel, thread))

            if is_last:
                if_else(self.splitting.needs_f32(plus(tiles.slot, begin), plus(tiles.slot, end)), in_f32, by_parts)
            else:
                by_parts()

        in_parts(self.packing.panels * self.shares, threads, item)

    def _rows(self, row: Size) -> Size:
        """The rows of a tile that begins with a row."""
        return ROWS if self.whole else least(ROWS, minus(self.product.rows, row))

    def _by_parts(self, tiles: RowTiles, tile: Size, panel: Size, thread: Size, block: Size, is_last: bool) -> None:
        """The products of a tile with a panel in a block, and after the last one what writes their sums."""
        parts, in_block = self.packing.parts, self.packing.in_block

        def step(number: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.splitting.pairs, [plus(tiles.slot, tile), number, 0, 0, 0, 0], [parts, ROWS, SIDE, PAIR])
            right = read_matrix(self.weights, [self._panel(block, panel), number, 0, 0, 0, 0], [parts, SIDE, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        at = [times(plus(tiles.slot, tile), ROWS), times(panel, COLUMNS)]
        begun = no_sums(ROWS, COLUMNS) if block == 0 else read_matrix(self.totals, at, [ROWS, COLUMNS])
        steps = self.packing.steps - (self.packing.blocks - 1) * in_block if is_last else in_block
        sums, = loop(0, steps, 1, step, [begun])
        if is_last:
            write_sums(sums, self.sums, thread, 0, 0)
            self._outputs(tiles.row(tile), panel, thread)
        else:
            write_sums(sums, self.totals, *at)

    def _in_f32(self, tiles: RowTiles, tile: Size, panel: Size, thread: Size) -> None:
        """The products of a tile with numbers that are no sums of parts, over the whole depth, and what writes them."""
        v, row = self.vectors, tiles.row(tile)

        def one(i: ir.Value) -> None:
            def pair(number: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                first = plus(times(quotient(number, DEPTH), STEP), remainder(number, DEPTH))
                x = [v.spread(self._number(plus(row, i), plus(first, k * DEPTH))) for k in range(PAIR)]
                added = list(sums)
                for j, total in enumerate(sums):
                    for k, w in enumerate(self._weights(panel, number, j * v.lanes)):
                        added[j] = total = math.fma(x[k], w, total)
                return added

            sums = loop(0, self.packing.steps * DEPTH, 1, pair, [v.splat(0)] * (COLUMNS // v.lanes))
            for j, value in enumerate(sums):
                v.store(value, self.sums, thread, i, j * v.lanes)

        loop(0, self._rows(row), 1, one)
        self._outputs(row, panel, thread)

    def _number(self, row: Size, column: Size) -> ir.Value:
        """An element of the factor in rows; 0 after its columns."""
        depth = self.product.depth
        number = read(self.left, row, least(column, depth - 1))
        return number if depth % STEP == 0 else arith.select(below(column, depth), number, self.vectors.number(0))

    def _weights(self, panel: Size, pair: Size, column: int) -> list[ir.Value]:
        """The weights of a pair of elements of a row, for a vector of columns."""
        v, in_block = self.vectors, self.packing.in_block
        words, halves = v.of(self.bits), ir.VectorType.get([PAIR * v.lanes], ir.BF16Type.get())
        step, side = quotient(pair, DEPTH), remainder(pair, DEPTH)
        found: list[list[ir.Value]] = []
        for part in range(self.packing.parts):
            place = plus(times(side, COLUMNS * PAIR), column * PAIR)
            at = [self._panel(quotient(step, in_block), panel), remainder(step, in_block), part, place]
            both = vector.BitCastOp(words, vector.LoadOp(halves, self.in_rows, [*map(value_of, at)]).result).result
            even = arith.shli(both, v.constant(16, self.bits))
            odd = arith.andi(both, v.constant(int(UPPER.view(np.int32)), self.bits))
            found.append([arith.bitcast(v.type, even), arith.bitcast(v.type, odd)])
        return [joined(arith.addf, parts) for parts in zip(*found)]

    def _panel(self, block: Size, panel: Size) -> Size:
        """The number of a block's panel among all."""
        return plus(times(block, self.packing.panels), panel)

    def _outputs(self, row: Size, panel: Size, thread: Size) -> None:
        """Writes the rows of a tile through the elementwise ops after the product."""
        v, product, feature = self.vectors, self.product, times(panel, COLUMNS)
        form, some = product.form, bool(product.columns % COLUMNS)

        def one(i: ir.Value) -> None:
            def outputs() -> None:
                at = product.places(plus(row, i))
                for j in range(0, COLUMNS, v.lanes):
                    place = plus(feature, j)
                    count = minus(product.columns, place) if some else None
                    places = {**at, product.column: place}
                    value = v.load(self.sums, thread, i, j)
                    elements = Elements(form.kernel, self.buffers, v, places, product.column, count, {form.result: value})
                    result = elements.tensor(form.returned, form.out)
                    mask = None if count is None else v.mask(count)
                    v.store_if(mask, result, self.out, *(term if isinstance(term, int) else places[term] for term in form.out))

            when(self.whole or below(plus(row, i), product.rows), outputs)

        loop(0, ROWS, 1, one)
