"""The loops of a product of several rows, rounded to bytes, with a weight of 4 or 8 bits, by instructions on bytes (AVX512-VNNI, AVX-VNNI).

By a scale for each block of the weight, numbers of a row become -127 to 127. A word of a weight of 4 bits has the nibbles of eight rows of
it: those at even and those at odd places are four bytes of each lane, which one instruction multiplies by four of the row and adds up.
Of a weight of 8 bits, the bytes of four rows are shuffled into lanes.
Rows that bytes cannot hold, for NaN, infinities or numbers that are all tiny, leave the product to floats.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.cpu_table import LINE
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, if_else, in_parts, loop, minus, plus, quotient, read, scratch, times, write
from legato.dialects.relax.ops.quantized import WORD_BITS
from legato.dialects.tir import intrinsics
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.integer_rows import BITS, LEAST, LOW, PARTS, PER, SIGNS, compare, is_normal, magnitudes, rounded, write_bytes
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import AHEAD, QuantizedProduct
from legato.targets.cpu.threads import TYPICAL, WORTH_IT

LARGEST = 127       # of a row's integers
BYTE_SIGNS = 0x80808080 - (1 << WORD_BITS)
VECTORS = 2         # of columns in a tile
LEAST_ROWS = {4: 3, 8: 2}   # by the weight's bits; for fewer, its bytes are what takes long


def takes(product: QuantizedProduct, machine: Machine, in_bytes: bool) -> bool:
    """Whether a product is made so: of rows that may be bytes, and a weight whose words instructions on bytes take."""
    known = (product.bits == BITS or (product.bits == 8 and product.block % PER == 0)) and product.lanes in (8, 16)
    enough = known and (not isinstance(product.rows, int) or product.rows >= LEAST_ROWS[product.bits])
    return in_bytes and enough and machine.multiplies_bytes and machine.lanes(32) == product.lanes


def row_tiles(rows: Size, most: int) -> tuple[int, ...]:
    """The rows of tiles, and of those for the rest: of at most so many, and about equal ones where their number is known."""
    if not isinstance(rows, int):
        return tuple(dict.fromkeys((most, -(-most // 2), 1)))
    tile = -(-rows // -(-rows // most))
    return (tile, rows % tile) if rows % tile else (tile,)


class QuantizedBytes:
    """Builds the loops over one panel of columns at the insertion point, after the rows are rounded."""

    def __init__(self, product: QuantizedProduct, machine: Machine, threads: int) -> None:
        self.product, self.v, self.rows = product, product.v, product.rows
        self.i32 = ir.IntegerType.get_signless(WORD_BITS)
        self.narrow = Vectors(PER)
        self.steps, self.half = product.block // PER, 1 << (product.bits - 1)
        self.true = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
        columns = list(range(0, product.width, self.v.lanes))
        self.groups = [columns[at: at + VECTORS] for at in range(0, len(columns), VECTORS)]
        most = (machine.registers - VECTORS * PARTS) // (2 * VECTORS)
        self.tiles = row_tiles(self.rows, max(most, 1))
        product.allocate(threads)
        self.bytes = self._room(self.i32, product.depth // PER, PARTS)
        self.factors, self.sums = self._room(self.v.f32, product.blocks), self._room(self.i32, product.blocks)
        fit = self._room(self.true.type)
        elements = (self.rows if isinstance(self.rows, int) else TYPICAL) * product.depth
        in_parts(self.rows, threads if elements >= WORTH_IT else 1, lambda row, _: self._round(row, fit))
        self.fits, = loop(0, self.rows, 1, lambda row, fits: [arith.andi(fits, read(fit, row))], [self.true])

    def _room(self, element: ir.Type, *shape: int) -> ir.Value:
        """A buffer of this shape for each row."""
        if isinstance(self.rows, int):
            return scratch(self.rows, *shape, element=element)
        type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size(), *shape], element)
        return memref.AllocOp(type_, [self.rows], [], alignment=64).result

    # --- the rows ---

    def _round(self, row: ir.Value, fit: ir.Value) -> None:
        """Rounds a row, block by block; writes to ``fit`` whether bytes hold it."""
        fits, = loop(0, self.product.blocks, 1, lambda b, fits: [arith.andi(fits, self._round_block(row, b))], [self.true])
        write(fits, fit, row)

    def _round_block(self, row: ir.Value, b: ir.Value) -> ir.Value:
        """Rounds a block of a row; returns whether bytes hold it."""
        v, zero, first = self.narrow, self.narrow.splat(0), times(b, self.steps)

        def floats(word: Size) -> ir.Value:
            return v.load(self.product.x, row, times(plus(first, word), PER))

        largest, check = magnitudes(v, self.steps, floats, lambda size: arith.mulf(size, zero))
        bound = arith.maxnumf(largest, v.number(LEAST))
        is_finite = compare("OEQ", check, v.number(0))
        scale = arith.select(is_finite, v.spread(arith.divf(v.number(LARGEST), bound)), zero)

        def word(number: ir.Value, total: ir.Value) -> list[ir.Value]:
            integers = rounded(v, arith.select(is_finite, floats(number), zero), scale)
            write_bytes(v, integers, self.bytes, row, plus(first, number), in_order=self.product.bits != BITS)
            return [arith.addi(total, integers)]

        total, = loop(0, self.steps, 1, word, [splat_of(v.of(self.i32), 0)])
        write(arith.mulf(bound, v.number(1 / LARGEST)), self.factors, row, b)
        write(v.reduce("add", total), self.sums, row, b)
        return arith.andi(is_finite, is_normal(v, largest))

    # --- products ---

    def build(self, thread: Size, panel: ir.Value) -> None:
        """The product of all rows with one panel."""
        if_else(self.fits, lambda: self._tiles(panel), lambda: self.product.many_rows(thread, panel))

    def _tiles(self, panel: ir.Value) -> None:
        """The product of all rows with one panel, of bytes."""
        done: Size = 0
        for rows in self.tiles:
            stop = plus(done, times(quotient(minus(self.rows, done), rows), rows))
            loop(done, stop, rows, lambda row, rows=rows: self._tile(panel, row, rows))
            done = stop

    def _tile(self, panel: ir.Value, row: ir.Value, rows: int) -> None:
        """The product of some rows."""
        for columns in self.groups:
            zeros = [self.v.splat(0)] * (rows * len(columns))
            totals = loop(0, self.product.blocks, 1, lambda b, *totals, columns=columns: self._block(panel, b, row, columns, totals), zeros)
            for at, total in enumerate(totals):
                self.product.store(total, plus(row, at // len(columns)), panel, columns[at % len(columns)])

    def _block(self, panel: ir.Value, b: ir.Value, row: ir.Value, columns: list[int], totals: Sequence[ir.Value]) -> list[ir.Value]:
        """Totals with the products with one block of the weight."""
        product, v, many = self.product, self.v, len(columns)
        first = times(b, self.steps)
        given = [read(self.sums, plus(row, i), b) for i in range(len(totals) // many)]
        half = arith.ConstantOp(self.i32, -self.half).result
        starts = [v.spread(arith.muli(one, half)) for one in given]      # since that is added to the weight

        def word(s: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = list(sums)
            read_parts = self._nibbles if product.bits == BITS else self._bytes
            parts = read_parts(panel, b, s, columns)
            for at in range(len(found)):
                i, j = divmod(at, many)
                for part in range(PARTS):
                    factor = v.spread(read(self.bytes, plus(row, i), plus(first, s), part))
                    found[at] = intrinsics.build("dot4_u8s8", parts[j][part], factor, found[at])
            return found

        sums = loop(0, self.steps, 1, word, [starts[at // many] for at in range(len(totals))])
        zeros = [None if product.zero is None else product.per_block(product.zero, panel, b, column) for column in columns]
        scales = [product.per_block(product.scale, panel, b, column) for column in columns]
        found = []
        for at, total in enumerate(totals):
            i, j = divmod(at, many)
            value, zero = arith.sitofp(v.type, sums[at]), zeros[j]
            if zero is not None:
                value = vector.FMAOp(v.spread(arith.negf(arith.sitofp(v.f32, given[i]))), zero, value).result
            factor = v.spread(read(self.factors, plus(row, i), b))
            found.append(vector.FMAOp(arith.mulf(value, scales[j]), factor, total).result)
        return found

    def _nibbles(self, panel: ir.Value, b: ir.Value, s: ir.Value, columns: list[int]) -> list[list[ir.Value]]:
        """The integers + ``half`` of a word of each column, a byte each: those of even and those of odd rows."""
        product, found = self.product, []
        product.fetch(product.weight, columns, panel, b, plus(s, max(AHEAD // product.row_bytes, 1)))
        for column in columns:
            words = self.v.load(product.weight, panel, b, s, column)
            given, low = arith.xori(words, splat_of(words.type, SIGNS)), splat_of(words.type, LOW)
            found.append([arith.andi(given, low), arith.andi(arith.shrui(given, splat_of(words.type, BITS)), low)])
        return found

    def _bytes(self, panel: ir.Value, b: ir.Value, s: ir.Value, columns: list[int]) -> list[list[ir.Value]]:
        """The integers + ``half`` of ``PER`` rows of each column, a byte each: those of the first and of the other half of the rows."""
        product, first = self.product, times(s, PER)
        for row in range(0, PER, max(LINE // product.row_bytes, 1)):
            product.fetch(product.weight, columns, panel, b, plus(plus(first, row), max(AHEAD // product.row_bytes, 1)))
        return [[self._four_rows(panel, b, plus(first, part * PER // PARTS), column) for part in range(PARTS)] for column in columns]

    def _four_rows(self, panel: ir.Value, b: ir.Value, first: Size, column: int) -> ir.Value:
        """The bytes of four rows, those of a column in one lane."""
        lanes = self.v.lanes
        rows = [self.v.load(self.product.weight, panel, b, plus(first, row), column) for row in range(4)]
        low, high = (vector.ShuffleOp(one, other, [row * lanes + lane for lane in range(lanes) for row in range(2)]).result
                     for one, other in (rows[:2], rows[2:]))
        order = [pair * 2 * lanes + 2 * lane + byte for lane in range(lanes) for pair in range(2) for byte in range(2)]
        words = vector.BitCastOp(self.v.of(self.i32), vector.ShuffleOp(low, high, order).result).result
        return arith.xori(words, splat_of(words.type, BYTE_SIGNS))
