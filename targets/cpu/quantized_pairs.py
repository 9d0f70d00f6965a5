"""The loops of a product of several rows, rounded to bf16, with a weight of few bits, by instructions on pairs of bf16 (AVX512-BF16).

The differences of integers and zeros, of at most 255 in magnitude, are bf16 without rounding. Their products with a block of the rows are
added up in f32, and the sums times the scale to the totals of the panel, which stay in the first-level cache.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, in_parts, least, loop, minus, plus, quotient, scratch, times, value_of
from legato.dialects.tir import intrinsics
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import AHEAD, QuantizedProduct
from legato.targets.cpu.register_tiles import choose
from legato.targets.cpu.threads import TYPICAL, WORTH_IT

PAIR = 2
LEAST_ROWS = 3  # for fewer, making pairs takes longer than they save
GROUP = 2       # vectors of columns that are multiplied at once
AT_ONCE = 12    # rows whose sums are kept in registers
TOTALS = 96     # rows whose totals of one panel are kept in the first-level cache
HALF = 16       # bits
Weight = Callable[[ir.Value], list[list[ir.Value]]]     # the pairs of a step, by pairs of rows and columns


def takes(product: QuantizedProduct, machine: Machine, widened: bool) -> bool:
    """Whether a product is made so: of rows that may be rounded, or were ``widened`` from bf16, and a weight whose differences from its
    zeros are bf16."""
    if not (machine.rounds_factors or widened) or not machine.has("avx512bf16"):
        return False
    if machine.lanes(32) != product.lanes or product.block % PAIR:
        return False
    if product.per == 1 and product.words % PAIR:
        return False
    is_exact = product.zero is None or isinstance(product.zero.type.element_type, ir.IntegerType)
    return is_exact and (not isinstance(product.rows, int) or product.rows >= LEAST_ROWS)


class QuantizedPairs:
    """Builds the loops over one panel of columns at the insertion point, after the rows are rounded."""

    def __init__(self, product: QuantizedProduct, machine: Machine, threads: int) -> None:
        self.product, self.v = product, product.v
        self.i32 = self.v.of(ir.IntegerType.get_signless(32))
        self.rows = product.rows
        self.columns = list(range(0, product.width, self.v.lanes))
        self.group = min(GROUP, len(self.columns))
        self.tiles = self.row_tiles()
        held = self.whole_rows if isinstance(self.whole_rows, int) else TOTALS
        self.at_once = min(held, TOTALS // self.tiles[0] * self.tiles[0])
        self.totals = scratch(threads, self.at_once, product.width)
        self.x = self._rounded(threads)
        self.panel = self.make_panel(threads)

    def row_tiles(self) -> tuple[int, ...]:
        """The rows that are multiplied at once: a number, and those for the rest."""
        if isinstance(self.rows, int) and self.rows <= AT_ONCE:
            return (self.rows,)
        lanes, columns = self.v.lanes, self.group * self.v.lanes
        rows = self.rows if isinstance(self.rows, int) else None
        return choose(rows, columns, lanes, AT_ONCE * self.group + self.group + 1, columns).rows

    def make_panel(self, threads: int) -> ir.Value | None:
        """Memory for the pairs of a block and a group of columns; None where few rows use them at once."""
        if isinstance(self.rows, int) and self.rows <= AT_ONCE:
            return None
        return scratch(threads, self.product.block // PAIR, self.group * self.v.lanes, element=self.i32.element_type)

    def _rounded(self, threads: int) -> ir.Value:
        """The rows in bf16."""
        product, bf16 = self.product, ir.BF16Type.get()
        count = self.whole_rows
        sizes = [] if isinstance(count, int) else [count]
        shape = [count if isinstance(count, int) else ir.ShapedType.get_dynamic_size(), product.depth]
        rounded = memref.AllocOp(ir.MemRefType.get(shape, bf16), sizes, [], alignment=64).result
        lanes, type_ = self.v.lanes, self.v.of(bf16)
        whole = product.depth // lanes * lanes

        def row(at: ir.Value, _: Size) -> None:
            loop(0, whole, lanes, lambda k: self.v.store(arith.truncf(type_, self.v.load(product.x, at, k)), rounded, at, k))
            if whole < product.depth:
                rest = self.v.load_some(product.depth - whole, product.x, at, whole)
                self.v.store_some(product.depth - whole, arith.truncf(type_, rest), rounded, at, whole)

        elements = (self.rows if isinstance(self.rows, int) else TYPICAL) * product.depth
        in_parts(self.rows, threads if elements >= WORTH_IT else 1, row)
        return rounded

    @property
    def whole_rows(self) -> Size:
        """The rows that there is memory for."""
        return self.rows

    def build(self, thread: Size, panel: ir.Value) -> None:
        """The product of all rows with one panel."""
        loop(0, self.rows, self.at_once, partial(self._rows, thread, panel))

    def _rows(self, thread: Size, panel: ir.Value, first: ir.Value) -> None:
        """The product of some rows, whose totals fit."""
        product, v = self.product, self.v
        count: Size = self.rows if isinstance(self.rows, int) and self.rows <= self.at_once else \
            least(minus(self.rows, first), self.at_once)

        def start(row: ir.Value) -> None:
            for at in self.columns:
                v.store(v.splat(0), self.totals, thread, row, at)

        def end(row: ir.Value) -> None:
            for at in self.columns:
                product.store(v.load(self.totals, thread, row, at), plus(row, first), panel, at)

        loop(0, count, 1, start)
        loop(0, product.blocks, 1, lambda b: self._block(thread, panel, b, first, count))
        loop(0, count, 1, end)

    def _block(self, thread: Size, panel: ir.Value, b: ir.Value, first: ir.Value, count: Size) -> None:
        """Adds the products with one block of the weight to the totals."""
        product = self.product
        for at in range(0, len(self.columns), self.group):
            columns = self.columns[at: at + self.group]
            zeros = [None if product.zero is None else product.per_block(product.zero, panel, b, column) for column in columns]
            scales = [product.per_block(product.scale, panel, b, column) for column in columns]
            weight = partial(self._weight, panel, b, columns, zeros)
            pairs = max(product.per // PAIR, 1)     # of a step of the weight
            steps = product.block // (pairs * PAIR)
            start = times(b, product.block)
            if self.panel is None:
                self._add(thread, columns, scales, start, first, weight, steps, pairs, self.tiles[0], 0)
            else:
                loop(0, steps, 1, partial(self._dequantize, thread, weight, pairs))
                self.multiply(thread, columns, scales, start, first, count)

    def multiply(self, thread: Size, columns: list[int], scales: list[ir.Value], start: Size, first: Size, count: Size) -> None:
        """Adds the products of so many rows with the panel, times the scales, to the totals. ``start``: the first of the depth;
        ``first``: of the rows."""
        read = partial(self._read, thread, len(columns))
        self._tiles(count, partial(self._add, thread, columns, scales, start, first, read, self.product.block // PAIR, 1))

    def _tiles(self, count: Size, add: Callable[[int, Size], None]) -> None:
        """``add(rows, first row)`` for register tiles that cover the rows."""
        done: Size = 0
        for rows in self.tiles:
            stop = plus(done, times(quotient(minus(count, done), rows), rows))
            loop(done, stop, rows, partial(add, rows))
            done = stop

    def _dequantize(self, thread: Size, weight: Weight, pairs: int, step: ir.Value) -> None:
        """Writes the pairs of one step to the panel."""
        for part, values in enumerate(weight(step)):
            for j, value in enumerate(values):
                self.write_pairs(value, thread, plus(times(step, pairs), part), j)

    def write_pairs(self, value: ir.Value, thread: Size, pair: Size, number: int) -> None:
        """Writes a vector of pairs to the panel."""
        self.v.store(value, self.panel, thread, pair, number * self.v.lanes)

    def _read(self, thread: Size, vectors: int, pair: ir.Value) -> list[list[ir.Value]]:
        """The pairs of the panel that belong to one pair of rows."""
        return [[self.v.load(self.panel, thread, pair, j * self.v.lanes) for j in range(vectors)]]

    def _weight(self, panel: ir.Value, b: ir.Value, columns: list[int], zeros: list[ir.Value | None],
                word: ir.Value) -> list[list[ir.Value]]:
        """The pairs of one word, or of two rows of bytes, for each column."""
        product = self.product
        ahead = max(AHEAD // product.row_bytes, 1)
        if product.per > 1:
            product.fetch(product.weight, columns, panel, b, plus(word, ahead))
            floats = [product.values(panel, b, word, column) for column in columns]
        else:
            rows = [plus(times(word, PAIR), part) for part in range(PAIR)]
            for row in rows:
                product.fetch(product.weight, columns, panel, b, plus(row, ahead))
            floats = [[value for row in rows for value in product.values(panel, b, row, column)] for column in columns]
        for j, zero in enumerate(zeros):
            if zero is not None:
                floats[j] = [arith.subf(value, zero) for value in floats[j]]
        return [[self._pair(values[k], values[k + 1]) for values in floats] for k in range(0, len(floats[0]), PAIR)]

    def _pair(self, even: ir.Value, odd: ir.Value) -> ir.Value:
        """Two floats that are bf16, in one lane: their low halves are 0."""
        even, odd = (vector.BitCastOp(self.i32, value).result for value in (even, odd))
        return arith.ori(arith.shrui(even, self.v.constant(HALF, self.i32.element_type)), odd)

    def _add(self, thread: Size, columns: list[int], scales: list[ir.Value], start: Size, first: ir.Value, weight: Weight, steps: int,
             pairs: int, rows: int, row: Size) -> None:
        """Adds the products of some rows with the pairs that ``weight`` gives at each step, times the scales, to the totals."""
        def step(s: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = list(sums)
            for part, values in enumerate(weight(s)):
                k = plus(times(plus(times(s, pairs), part), PAIR), start)
                for i in range(rows):
                    factor = self._spread(plus(plus(row, i), first), k)
                    for j, value in enumerate(values):
                        at = i * len(values) + j
                        found[at] = intrinsics.build("dot2_bf16bf16", factor, value, found[at])
            return found

        sums = loop(0, steps, 1, step, [self.v.splat(0)] * (rows * len(columns)))
        for i in range(rows):
            for j, column in enumerate(columns):
                total = self.v.load(self.totals, thread, plus(row, i), column)
                self.v.store(vector.FMAOp(sums[i * len(columns) + j], scales[j], total).result, self.totals, thread, plus(row, i), column)

    def _spread(self, row: Size, k: Size) -> ir.Value:
        """A pair of a row in all lanes."""
        halves = vector.LoadOp(ir.VectorType.get([PAIR], ir.BF16Type.get()), self.x, [value_of(row), value_of(k)]).result
        lane = vector.BitCastOp(ir.VectorType.get([1], self.i32.element_type), halves).result
        return self.v.spread(vector.ExtractOp(lane, [], [0]).result)
