"""Loops over blocks of queries and keys of one attention: what ``tir-tile-attention`` makes of a kernel.

For each block of queries, blocks of keys and values are copied to scratch buffers in the order in which they are read. Tiles of a few
queries then go through a block of keys: their scores stay in the first-level cache, from the product with the keys through softmax to the
product with the values. Where there are several blocks of keys, softmax is that of the keys so far: with a greater maximum, the sums of
exponentials and the sums over values so far are scaled down ("online softmax": Milakov and Gimelshein, arXiv:1805.02867; Dao and others,
arXiv:2205.14135). Keys that a mask of -inf hides from a whole block of queries, at the begin and at the end, are left out.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import Term
from legato.core.interfaces import AttentionTilesLike
from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, math, memref
from legato.core.vector_loops import (
    Size,
    below,
    if_else,
    in_parallel,
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
    write,
)
from legato.passes.cpu.attention.matrix_tiles import MatrixTiles
from legato.passes.cpu.attention.operands import AttentionOperands
from legato.passes.cpu.attention.row_by_row import RowByRow
from legato.passes.cpu.attention.vector_tiles import VectorTiles
from legato.passes.cpu.attention.visible_keys import VisibleKeys, may_hide
from legato.passes.cpu.elements import Buffers


class AttentionBlocks:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: AttentionForm, tiles: AttentionTilesLike, buffers: Buffers):
        self.form, self.tiles, self.buffers = form, tiles, buffers
        self.rows, self.keys = self._size("m"), self._size("n")
        self.depth, self.columns = self._static("d"), self._static("e")
        self.operands = AttentionOperands(form, tiles, buffers, self.depth, self.columns)
        self.at, self.vectors, self.lanes = self.operands.at, self.operands.vectors, tiles.lanes
        self.panel, self.width = self.operands.panel, self.operands.width
        self.single = isinstance(self.keys, int) and self.keys <= tiles.keys
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])
        self.end = self.keys
        self.tiled = MatrixTiles(self) if tiles.matrices else VectorTiles(self)
        self.visible = None if self.single or not may_hide(form) else VisibleKeys(form, self.operands, self.keys)

    def _static(self, term: Term) -> int:
        extent = self.form.extent(term)
        assert extent is not None
        return extent

    def _size(self, term: Term) -> Size:
        extent = self.form.extent(term)
        if extent is not None:
            return extent
        tensor, dim = self.form.source(term)
        return memref.DimOp(self.buffers.of(tensor), index(dim)).result

    # --- work and threads ---

    def build(self) -> None:
        """Builds all loops."""
        batch = [(term, self._size(term)) for term in self.form.batch]
        blocks = rounded_up(self.rows, self.tiles.queries)
        count: Size = blocks
        for _, size in batch:
            count = times(count, size)
        self._allocate()
        threads = self.tiles.threads
        if threads == 1:
            self.at.thread = 0
            loop(0, count, 1, lambda item: self._item(item, batch, blocks))
            return
        part = rounded_up(count, threads)

        def run(thread: ir.Value) -> None:
            self.at.thread = thread
            first = least(times(thread, part), count)
            loop(first, least(plus(first, part), count), 1, lambda item: self._item(item, batch, blocks))

        in_parallel(threads, run)

    def _allocate(self) -> None:
        """The scratch buffers, one of each for each thread."""
        tiles, threads = self.tiles, self.tiles.threads
        self.operands.allocate()
        if isinstance(self.tiled, MatrixTiles):
            self.tiled.allocate()
        self.s = scratch(threads, tiles.rows, tiles.keys + self.panel)  # the distance of rows is no power of two
        self.total = scratch(threads, tiles.queries)
        self.factor = scratch(threads, tiles.rows)
        if not self.single:
            self.o = scratch(threads, tiles.queries, self.width)
            self.top = scratch(threads, tiles.queries)

    def _item(self, item: ir.Value, batch: list[tuple[Term, Size]], blocks: Size) -> None:
        """One block of queries of one head."""
        self.at.batch, rest = {}, quotient(item, blocks)
        for term, size in reversed(batch):
            self.at.batch[term] = remainder(rest, size) if size != 1 else 0
            rest = quotient(rest, size)
        self.at.first_row = times(remainder(item, blocks) if blocks != 1 else 0, self.tiles.queries)
        self.at.rows = least(minus(self.rows, self.at.first_row), self.tiles.queries)
        if "query" in self.tiles.copied:
            self.operands.pack_queries()
        if isinstance(self.tiled, MatrixTiles):
            self.tiled.pack_queries()
        if self.single:
            self._keys(0)
            return
        self._start()
        first, self.end = (0, self.keys) if self.visible is None else self.visible.bounds()
        loop(first, self.end, self.tiles.keys, self._keys)
        loop(0, self.at.rows, 1, lambda row: self._finish(row))

    def _keys(self, first: Size) -> None:
        """One block of keys, for all rows of the block of queries."""
        self.at.first_key = first
        self.at.keys = least(minus(self.end, first), self.tiles.keys)
        few, whole = self.tiles.one_by_one, self.form.extent("m")
        if few and whole is None:
            if_else(below(self.at.rows, few + 1), RowByRow(self).build, self.tiled.build)
        elif few:
            RowByRow(self).build()
        else:
            self.tiled.build()

    def score(self, product: ir.Value, row: ir.Value, i: Size, panel: ir.Value, j: int, rest: Size | None) -> ir.Value:
        """Stores the scores of row ``i`` of a tile for vector ``j`` of a panel of keys, from the products of query and keys; -inf after the
        last one of ``rest`` keys."""
        v, form = self.vectors, self.form
        count = None if rest is None else minus(rest, j * self.lanes)
        at = plus(times(panel, self.panel), j * self.lanes)
        first = form.products[0].op.results[0]
        narrow = first.type.element_type
        known = product if narrow == v.f32 else arith.truncf(v.of(narrow), product)
        places = {"m": plus(plus(row, i), self.at.first_row), "n": plus(at, self.at.first_key)}
        elements = self.operands.elements("n", count, {first: known}, **places)
        value = self.operands.wide(elements.tensor(*form.scores))
        if count is not None:
            value = arith.select(v.mask(count), value, v.splat(-inf))
        v.store(value, self.s, self.at.thread, i, at)
        return value

    # --- state between blocks of keys ---

    def _start(self) -> None:
        v = self.vectors

        def clear(row: ir.Value) -> None:
            for e in range(0, self.width, self.lanes):
                v.store(v.splat(0), self.o, self.at.thread, row, e)
            write(v.number(0), self.total, self.at.thread, row)
            write(v.number(-inf), self.top, self.at.thread, row)

        loop(0, self.at.rows, 1, clear)

    def _finish(self, row: ir.Value) -> None:
        scaled = self.scaled(row)
        for e in range(0, self.width, self.lanes):
            self.write(scaled(self.vectors.load(self.o, self.at.thread, row, e)), row, e)

    def take_sums(self, row: ir.Value, i: ir.Value, sums: Sequence[ir.Value]) -> None:
        """Takes sums over the values of a block of keys: vectors of all columns of row ``i`` of a tile. They are the result, or are added
        to those of earlier blocks."""
        v, line = self.vectors, plus(row, i)
        scaled = self.scaled(line) if self.single else None
        factor = None if self.single else v.spread(read(self.factor, self.at.thread, i))
        for e, value in zip(range(0, self.width, self.lanes), sums, strict=True):
            if scaled is not None:
                self.write(scaled(value), line, e)
            else:
                before = v.load(self.o, self.at.thread, line, e)
                v.store(math.fma(before, factor, value), self.o, self.at.thread, line, e)

    def scaled(self, row: Size) -> Callable[[ir.Value], ir.Value]:
        """What makes results of sums over values: they are divided by the row's sum of exponentials."""
        v, total = self.vectors, read(self.total, self.at.thread, row)
        divisor = total
        if not isinstance(self.keys, int):  # of no keys, the sum over values is 0
            divisor = arith.select(arith.cmpi(arith.CmpIPredicate.eq, self.keys, index(0)), v.number(1), total)
        scale = v.spread(arith.divf(v.number(1), divisor))
        if not self.form.guarded:
            return lambda value: arith.mulf(value, scale)
        some = arith.cmpf(arith.CmpFPredicate.OGT, total, v.number(0))    # false for NaN
        return lambda value: arith.select(some, arith.mulf(value, scale), v.splat(0))

    def write(self, value: ir.Value, row: Size, e: int) -> None:
        """Writes a vector of the result, through the elementwise ops after the second product."""
        form, v = self.form, self.vectors
        second = form.products[1].op.results[0]
        narrow = second.type.element_type
        known = value if narrow == v.f32 else arith.truncf(v.of(narrow), value)
        count = self.columns - e if e + self.lanes > self.columns else None
        places = {"m": plus(row, self.at.first_row), "e": e}
        returned = form.kernel.ops[-1].operands[0]
        result = self.operands.elements("e", count, {second: known}, **places).tensor(returned, form.out)
        at = [term if isinstance(term, int) else {**self.at.batch, **places}[term] for term in form.out]
        self.operands.put(result, self.out, count, *at)
