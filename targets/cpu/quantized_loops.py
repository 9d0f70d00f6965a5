"""The loops of a matrix product with a weight of few bits: see ``targets.cpu.quantized``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from legato.core.cpu_table import COLD, LINE
from legato.core.dtypes import element_bytes
from legato.core.mlir import arith, bufferization, ir, memref, scf, vector
from legato.core.vector_loops import Size, Vectors, if_else, least, loop, plus, read, scratch, times, value_of, write
from legato.dialects.relax.ops.quantized import rows_per_word
from legato.targets.builders.sizes import dim
from legato.targets.cpu import fixed_point
from legato.targets.cpu.fixed_point import FixedPointRow
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.packed_integers import PackedIntegers
from legato.targets.cpu.register_tiles import choose

FEW_ROWS = 4  # rows that share a word while it is unpacked; for more, a panel of floats costs less
FEW_OF_BYTES = 9  # likewise of weights of 8 bits, if as many sums of two vectors are in registers
GROUP = 4     # accumulators of one row: as many multiply-adds are in flight
BYTES = 4     # rows of bytes that one step of the loop reads
AHEAD = 4096  # bytes of the weight between a fetch and the use; 2 to 8 KB measured alike


class QuantizedProduct:
    """Builds the loops over one panel of columns at the insertion point."""

    def __init__(self, bits: int, columns: int, machine: Machine, x: ir.Value, weight: ir.Value, scale: ir.Value, zero: ir.Value,
                 out: ir.Value):
        _, self.blocks, self.words, self.width = weight.type.shape
        self.bits, self.columns, self.machine = bits, columns, machine
        self.per = rows_per_word(bits)
        self.block = self.words * self.per
        self.depth = self.blocks * self.block
        self.rows: Size = dim(x, 0)
        self.lanes = min(machine.lanes(32), self.width)
        self.v = Vectors(self.lanes)
        self.x, self.weight, self.scale, self.out = (_buffer(value, value != out) for value in (x, weight, scale, out))
        self.zero = None if zero.type.shape == [0] else _buffer(zero, True)
        self._out = out
        self.integers = PackedIntegers(bits, self.v, machine)
        self.masked = self.integers.masked
        self.few = min(FEW_OF_BYTES, (machine.registers - 4) // 2) if bits == 8 else FEW_ROWS
        self.fixed: FixedPointRow | None = None
        self.row_bytes = self.width * element_bytes(self.weight.type.element_type)
        self.is_large = prod(self.weight.type.shape[:-1]) * self.row_bytes >= COLD
        self.tiles = choose(self.rows if isinstance(self.rows, int) else None, self.width, self.lanes, machine.registers, None,
                            machine.rows_in_l1(self.depth * 4))
        self.tile = self.tiles.columns[0] if self.width % self.tiles.columns[0] == 0 else self.lanes
        self.at_once = self._blocks_at_once()

    def _blocks_at_once(self) -> int:
        """The blocks that are dequantized to a panel at once: a divisor of their number; they take a quarter of the second-level cache, or
        more where one block does."""
        most = max(self.machine.l2_bytes // (4 * 4 * self.width * self.block), 1)
        return next(count for count in range(min(most, self.blocks), 0, -1) if self.blocks % count == 0)

    def prepare(self) -> None:
        """Prepares the first rows for ``few_rows``: a single one as integers, where that is fastest; the sums of their blocks, by which
        zeros are corrected, x (q - z) = x q - z x; what they are multiplied by where integers are masked; whether all of them are finite,
        since infinities have no such correction."""
        rows = min(self.rows, self.few) if isinstance(self.rows, int) else 1
        if rows == 1 and fixed_point.takes(self.machine, self.bits, self.lanes, self.words):
            self.fixed = FixedPointRow(self.v, self.x, self.rows, self.blocks, self.words, self.zero is None)
            self.totals = scratch(self.weight.type.shape[0], self.width)
        if self.zero is None and (self.fixed or not self.masked):
            return
        self.sums = scratch(rows, self.blocks)
        scales = self.masked and self.fixed is None
        self.scaled = scratch(rows, self.depth) if scales else self.x
        zero = self.v.number(0)

        def word(row: ir.Value, first: Size, w: ir.Value, total: ir.Value, check: ir.Value) -> list[ir.Value]:
            for part in range(self.per):
                k = plus(plus(times(w, self.per), part), first)
                value = read(self.x, row, k)
                total, check = arith.addf(total, value), arith.addf(check, arith.mulf(value, zero))
                if scales:
                    last = part == self.per - 1
                    write(value if last else arith.mulf(value, self.v.number(2.0 ** (-self.bits * part))), self.scaled, row, k)
            return [total, check]

        def block(row: ir.Value, b: ir.Value, check: ir.Value) -> list[ir.Value]:
            first = times(b, self.block)
            total, check = loop(0, self.words, 1, lambda w, *sums: word(row, first, w, *sums), [zero, check])
            write(total, self.sums, row, b)
            return [check]

        check, = loop(0, least(self.rows, rows), 1, lambda row, check: loop(0, self.blocks, 1, lambda b, c: block(row, b, c), [check]),
                      [zero])
        self.finite = arith.cmpf(arith.CmpFPredicate.OEQ, check, zero)

    def allocate(self, threads: int) -> None:
        """Allocates the panels of floats, one for each thread."""
        self.panel = scratch(threads, self.width // self.tile, self.at_once * self.block, self.tile)

    def result(self) -> ir.Value:
        """The tensor that is written."""
        return bufferization.ToTensorOp(self._out.type, self.out, restrict=True, writable=True).result

    # --- elements ---

    def values(self, panel: ir.Value, block: Size, word: Size, column: int, masked: bool = False) -> list[ir.Value]:
        """Vectors of the weight's integers as floats: the rows of one word."""
        words = self.v.load(self.weight, panel, block, word, column)
        return self.integers.in_place(words) if masked else self.integers.floats(words)

    def per_block(self, buffer: ir.Value, panel: ir.Value, block: Size, column: Size) -> ir.Value:
        """A vector of scales or zeros."""
        value = self.v.load(buffer, panel, block, column)
        if value.type == self.v.type:
            return value
        element = value.type.element_type
        if isinstance(element, ir.IntegerType):
            return arith.sitofp(self.v.type, value)
        return (arith.extf if element.width < 32 else arith.truncf)(self.v.type, value)

    def _zeros(self, panel: ir.Value, block: Size, columns: Sequence[Size]) -> list[ir.Value | None]:
        return [None if self.zero is None else self.per_block(self.zero, panel, block, column) for column in columns]

    # --- few rows ---

    def few_rows(self, panel: ir.Value, rows: int) -> None:
        """The product of some rows with one panel."""
        if self.fixed is not None:
            if_else(self.fixed.fits, lambda: self._fixed(panel), lambda: self._few(panel, rows, exact=True))
            return
        if self.zero is None and not self.masked:
            self._few(panel, rows, exact=True)
            return
        made = scf.IfOp(self.finite, has_else=True)
        for block, exact in ((made.then_block, False), (made.else_block, True)):
            with ir.InsertionPoint(block):
                self._few(panel, rows, exact)
                scf.YieldOp([])

    def _fixed(self, panel: ir.Value) -> None:
        """The product of a row of integers with one panel, which is read once, block by block; the sums are in memory. A loop over columns,
        since LLVM would keep the bytes of the row in registers, and the sums of products on the stack."""
        assert self.fixed is not None
        products = self.fixed.products

        def column(b: ir.Value, at: ir.Value) -> None:
            def word(s: Size) -> ir.Value:
                self.fetch(self.weight, [at], panel, b, plus(s, max(AHEAD // self.row_bytes, 1)))
                return self.v.load(self.weight, panel, b, s, at)

            found = products(b, word)
            zero, = self._zeros(panel, b, [at])
            if zero is not None:
                found = vector.FMAOp(self.v.spread(arith.negf(read(self.sums, 0, b))), self._below(zero), found).result
            self.fetch(self.scale, [at], panel, plus(b, max(AHEAD // self.words // self.row_bytes, 1)))
            total = vector.FMAOp(found, self.per_block(self.scale, panel, b, at), self.v.load(self.totals, panel, at)).result
            self.v.store(total, self.totals, panel, at)

        loop(0, self.width, self.lanes, lambda at: self.v.store(self.v.splat(0), self.totals, panel, at))
        loop(0, self.blocks, 1, lambda b: loop(0, self.width, self.lanes, lambda at: column(b, at)))
        for at in range(0, self.width, self.lanes):
            self.store(self.v.load(self.totals, panel, at), 0, panel, at)

    def _few(self, panel: ir.Value, rows: int, exact: bool) -> None:
        """``exact``: zeros are subtracted from each integer, not from the sums of a block."""
        group = 2 if rows > FEW_ROWS else max((2 * GROUP if self.bits == 8 else GROUP) // rows, 1)
        columns = list(range(0, self.width, self.lanes))
        for at in range(0, len(columns), group):
            self._group(panel, rows, columns[at: at + group], exact)

    def _group(self, panel: ir.Value, rows: int, columns: list[int], exact: bool) -> None:
        many, masked = rows * len(columns), self.masked and not exact
        step = next(size for size in (BYTES, 2, 1) if self.words % size == 0) if self.bits == 8 else 1
        x = self.scaled if masked else self.x

        def block(b: ir.Value, *totals: ir.Value) -> list[ir.Value]:
            zeros = self._zeros(panel, b, columns)
            first = times(b, self.block)

            def words(s: ir.Value, *sums: ir.Value) -> list[ir.Value]:
                found = list(sums)
                for further in range(step):
                    word = plus(s, further)
                    self.fetch(self.weight, columns, panel, b, plus(word, max(AHEAD // self.row_bytes, 1)))
                    values = [self.values(panel, b, word, column, masked) for column in columns]
                    for part in range(self.per):
                        k = plus(plus(times(word, self.per), part), first)
                        factors = [self.v.spread(read(x, row, k)) for row in range(rows)]
                        for at in range(many):
                            row, j = divmod(at, len(columns))
                            value, zero = values[j][part], zeros[j]
                            value = arith.subf(value, zero) if exact and zero is not None else value
                            found[at] = vector.FMAOp(factors[row], value, found[at]).result
                return found

            starts = [self.v.splat(0)] * many
            if not exact:
                below = [self._below(zero) for zero in zeros]
                sums = [self.v.spread(arith.negf(read(self.sums, row, b))) for row in range(rows)]
                starts = [arith.mulf(sums[at // len(columns)], below[at % len(columns)]) for at in range(many)]
            sums = loop(0, self.words, step, words, starts)
            self.fetch(self.scale, columns, panel, plus(b, max(AHEAD // self.words // self.row_bytes, 1)))
            scales = [self.per_block(self.scale, panel, b, column) for column in columns]
            return [vector.FMAOp(one, scales[at % len(columns)], totals[at]).result for at, one in enumerate(sums)]

        totals = loop(0, self.blocks, 1, block, [self.v.splat(0)] * many)
        for at, total in enumerate(totals):
            self.store(total, at // len(columns), panel, columns[at % len(columns)])

    def fetch(self, buffer: ir.Value, columns: Sequence[Size], *outer: Size, near: bool = True) -> None:
        """Fetches the lines that these columns are in, if the weight is large: to the first-level cache, or if not ``near`` to the second.
        Behind its end that does no harm."""
        if self.is_large:
            for column in columns:
                if not isinstance(column, int) or column * element_bytes(buffer.type.element_type) % LINE == 0:
                    memref.PrefetchOp(buffer, [*map(value_of, outer), value_of(column)], False, 3 if near else 2, True)

    def _below(self, zero: ir.Value | None) -> ir.Value:
        """What the integers that are summed exceed their differences from the zero by."""
        if not self.masked:
            assert zero is not None
            return zero
        half = self.v.splat(1 << (self.bits - 1))
        return half if zero is None else arith.addf(zero, half)

    # --- many rows ---

    def one_or_many(self, panel: ir.Value, many: Callable[[ir.Value], None]) -> None:
        """The product of a number of rows that is known only at run time; ``many``: of several with this panel."""
        single = arith.cmpi(arith.CmpIPredicate.eq, value_of(self.rows), value_of(1))
        made = scf.IfOp(single, has_else=True)
        for block, body in ((made.then_block, lambda: self.few_rows(panel, 1)), (made.else_block, lambda: many(panel))):
            with ir.InsertionPoint(block):
                body()
                scf.YieldOp([])

    def many_rows(self, thread: Size, panel: ir.Value) -> None:
        """The product of all rows with one panel, which is dequantized part by part."""
        def part(first: ir.Value) -> None:
            self._dequantize(thread, panel, first)
            for tile in range(self.width // self.tile):
                self._each_tile(lambda row, rows, tile=tile: self._tile(thread, panel, tile, first, row, rows))

        loop(0, self.blocks, self.at_once, part)

    def _dequantize(self, thread: Size, panel: ir.Value, first: Size) -> None:
        columns = list(range(0, self.width, self.lanes))

        def block(b: ir.Value) -> None:
            at = plus(b, first)
            for column, zero in zip(columns, self._zeros(panel, at, columns)):
                scale = self.per_block(self.scale, panel, at, column)

                def words(s: ir.Value, column: int = column, zero: ir.Value | None = zero, scale: ir.Value = scale) -> None:
                    for part, value in enumerate(self.values(panel, at, s, column)):
                        value = value if zero is None else arith.subf(value, zero)
                        k = plus(plus(times(s, self.per), part), times(b, self.block))
                        self.v.store(arith.mulf(value, scale), self.panel, thread, column // self.tile, k, column % self.tile)

                loop(0, self.words, 1, words)

        loop(0, self.at_once, 1, block)

    def _each_tile(self, body: Callable[[Size, int], None]) -> None:
        """All rows in register tiles: ``body(first row, number of rows)``."""
        done: Size = 0
        for rows in self.tiles.rows:
            left = arith.subi(value_of(self.rows), value_of(done)) if not isinstance(self.rows, int) or not isinstance(done, int) else \
                self.rows - done
            whole = left // rows * rows if isinstance(left, int) else arith.muli(arith.divui(left, value_of(rows)), value_of(rows))
            end = plus(done, whole)
            loop(done, end, rows, lambda row, rows=rows: body(row, rows))
            done = end

    def _tile(self, thread: Size, panel: ir.Value, tile: int, first: Size, row: Size, rows: int) -> None:
        """A register tile: sums of the parts of the panel before are read from the output."""
        columns = list(range(0, self.tile, self.lanes))
        start = times(first, self.block)

        def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            values = [self.v.load(self.panel, thread, tile, k, column) for column in columns]
            found = []
            for i in range(rows):
                factor = self.v.spread(read(self.x, plus(row, i), plus(k, start)))
                found += [vector.FMAOp(factor, value, sums[i * len(columns) + j]).result for j, value in enumerate(values)]
            return found

        def starts() -> list[ir.Value]:
            return [self._load(plus(row, i), panel, tile * self.tile + column) for i in range(rows) for column in columns]

        zeros = [self.v.splat(0)] * (rows * len(columns))
        if self.at_once < self.blocks:
            made = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, value_of(first), value_of(0)), [self.v.type] * len(zeros), has_else=True)
            for block, values in ((made.then_block, lambda: zeros), (made.else_block, starts)):
                with ir.InsertionPoint(block):
                    scf.YieldOp(values())
            zeros = list(made.results)
        sums = loop(0, self.at_once * self.block, 1, step, zeros)
        for at, total in enumerate(sums):
            self.store(total, plus(row, at // len(columns)), panel, tile * self.tile + columns[at % len(columns)])

    # --- the output ---

    def _place(self, panel: ir.Value, column: int) -> tuple[Size, ir.Value | None]:
        """The column of the output, and the mask of the lanes that it has; None where it has all."""
        place = plus(times(panel, self.width), column)
        if self.columns % self.width == 0:
            return place, None
        return place, self.v.mask(arith.maxsi(arith.subi(value_of(self.columns), value_of(place)), value_of(0)))

    def _load(self, row: Size, panel: ir.Value, column: int) -> ir.Value:
        place, mask = self._place(panel, column)
        if mask is None:
            return self.v.load(self.out, row, place)
        return vector.MaskedLoadOp(self.v.type, self.out, [value_of(row), value_of(place)], mask, self.v.splat(0)).result

    def store(self, value: ir.Value, row: Size, panel: ir.Value, column: int) -> None:
        """Writes a vector of the output, of a panel's columns from this one on that there are."""
        place, mask = self._place(panel, column)
        if mask is None:
            self.v.store(value, self.out, row, place)
        else:
            vector.MaskedStoreOp(self.out, [value_of(row), value_of(place)], mask, value)


def _buffer(tensor: ir.Value, read_only: bool) -> ir.Value:
    type_ = ir.MemRefType.get(tensor.type.shape, tensor.type.element_type)
    return bufferization.ToBufferOp(type_, tensor, read_only=read_only).result
