"""What the loops of one attention share: the buffers of a block of queries, and what is in them between blocks of keys."""
from __future__ import annotations

from collections.abc import Callable
from math import inf

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import Term
from legato.core.interfaces import AttentionTilesLike
from legato.core.ir_helpers import index, present
from legato.core.mlir import arith, ir, math, memref
from legato.core.vector_loops import Size, loop, minus, plus, read, scratch, times, write
from legato.passes.cpu.attention.operands import AttentionOperands
from legato.passes.cpu.elements import Buffers

PAIR = 2  # rows that share a key in a register, where rows are computed one by one


class AttentionState:
    """The state of one attention at ``at``.

    ``rows``, ``keys``, ``depth``, ``columns``: its sizes; ``panel``: the keys of a register tile; ``width``: columns in whole vectors;
    ``single``: whether all keys are one block; ``held_rows``: the rows of a tile, or those that are computed one by one, for which there
    are buffers. ``s``: their scores, by row and key; ``factor``: by row, what earlier sums are scaled by; ``sums``: by row, the sums over
    the values of one block of keys; ``parts``: by row and key, vectors that add up to their product. By row of the block ``total``, ``top``
    and ``o``: the sum of the exponentials, the maximum and the sums over values so far.
    """

    def __init__(self, form: AttentionForm, tiles: AttentionTilesLike, buffers: Buffers):
        self.form, self.tiles, self.buffers = form, tiles, buffers
        self.rows, self.keys = self.size("m"), self.size("n")
        self.depth, self.columns = present(form.extent("d")), present(form.extent("e"))
        self.operands = AttentionOperands(form, tiles, buffers, self.depth, self.columns)
        self.at, self.vectors, self.lanes = self.operands.at, self.operands.vectors, tiles.lanes
        self.panel, self.width = self.operands.panel, self.operands.width
        self.held_rows = max(tiles.rows, tiles.one_by_one)
        self.single = isinstance(self.keys, int) and self.keys <= tiles.keys
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])

    def size(self, term: Term) -> Size:
        """The extent of a loop."""
        extent = self.form.extent(term)
        if extent is not None:
            return extent
        tensor, dim = self.form.source(term)
        return memref.DimOp(self.buffers.of(tensor), index(dim)).result

    def allocate(self) -> None:
        """Allocates the scratch buffers, which are a thread's own."""
        tiles = self.tiles
        self.operands.allocate()
        rows = self.held_rows
        self.s = scratch(rows, tiles.keys + self.panel)  # the distance of rows is no power of two
        self.total = scratch(tiles.queries)
        self.factor = scratch(rows)
        self.sums = scratch(rows, -(-self.columns // self.panel) * self.panel)
        if tiles.one_by_one or tiles.parts:
            self.parts = scratch(PAIR, self.lanes, self.lanes)
        if not self.single:
            self.o = scratch(tiles.queries, self.width)
            self.top = scratch(tiles.queries)

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
        v.store(value, self.s, i, at)
        return value

    # --- state between blocks of keys ---

    def start(self) -> None:
        """Begins a block of queries."""
        v = self.vectors

        def clear(row: ir.Value) -> None:
            for e in range(0, self.width, self.lanes):
                v.store(v.splat(0), self.o, row, e)
            write(v.number(0), self.total, row)
            write(v.number(-inf), self.top, row)

        loop(0, self.at.rows, 1, clear)

    def finish(self, row: ir.Value) -> None:
        """Writes a row of the result after the last block of keys."""
        scaled = self.scaled(row)
        for e in range(0, self.width, self.lanes):
            self.write(scaled(self.vectors.load(self.o, row, e)), row, e)

    def take_sums(self, row: ir.Value, i: ir.Value) -> None:
        """Takes the sums over the values of a block of keys, of row ``i`` of a tile: they are the result, or are added to those of earlier
        blocks."""
        v, line = self.vectors, plus(row, i)
        scaled = self.scaled(line) if self.single else None
        factor = None if self.single else v.spread(read(self.factor, i))
        for e in range(0, self.width, self.lanes):
            value = v.load(self.sums, i, e)
            if scaled is not None:
                self.write(scaled(value), line, e)
            else:
                before = v.load(self.o, line, e)
                v.store(math.fma(before, factor, value), self.o, line, e)

    def scaled(self, row: Size) -> Callable[[ir.Value], ir.Value]:
        """What makes results of sums over values: they are divided by the row's sum of exponentials."""
        v, total = self.vectors, read(self.total, row)
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
