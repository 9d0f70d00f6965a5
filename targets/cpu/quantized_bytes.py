"""The loops of a product of several rows, rounded to bytes, with a weight of 4 bits, by instructions on bytes (AVX512-VNNI, AVX-VNNI).

By a scale for each block of the weight, numbers of a row become -127 to 127. A word of the weight has the nibbles of eight rows of it:
those at even and those at odd places are four bytes of each lane, which one instruction multiplies by four of the row and adds up in i32.
Rows that bytes cannot hold, for NaN, infinities or numbers that are all tiny, leave the product to floats.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, if_else, in_parts, loop, minus, plus, quotient, read, scratch, times, write
from legato.dialects.relax.ops.quantized import WORD_BITS
from legato.dialects.tir import intrinsics
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.integer_rows import BITS, HALF, LEAST, LOW, PARTS, PER, SIGNS, compare, is_normal, magnitudes, rounded, write_bytes
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import AHEAD, QuantizedProduct
from legato.targets.cpu.threads import TYPICAL, WORTH_IT

LARGEST = 127       # of a row's integers
VECTORS = 2         # of columns in a tile
LEAST_ROWS = 3      # for fewer, the weight's bytes are what takes long


def takes(product: QuantizedProduct, machine: Machine, in_bytes: bool) -> bool:
    """Whether a product is made so: of rows that may be bytes, and a weight whose words instructions on bytes take."""
    enough = not isinstance(product.rows, int) or product.rows >= LEAST_ROWS
    known = product.bits == BITS and product.lanes in (8, 16)
    return in_bytes and enough and known and machine.multiplies_bytes and machine.lanes(32) == product.lanes


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
        words, v = self.product.words, self.narrow
        zero, first = v.splat(0), times(b, words)

        def floats(word: Size) -> ir.Value:
            return v.load(self.product.x, row, times(plus(first, word), PER))

        largest, check = magnitudes(v, words, floats, lambda size: arith.mulf(size, zero))
        bound = arith.maxnumf(largest, v.number(LEAST))
        is_finite = compare("OEQ", check, v.number(0))
        scale = arith.select(is_finite, v.spread(arith.divf(v.number(LARGEST), bound)), zero)

        def word(number: ir.Value, total: ir.Value) -> list[ir.Value]:
            integers = rounded(v, arith.select(is_finite, floats(number), zero), scale)
            write_bytes(v, integers, self.bytes, row, plus(first, number))
            return [arith.addi(total, integers)]

        total, = loop(0, words, 1, word, [splat_of(v.of(self.i32), 0)])
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
        first = times(b, product.words)
        given = [read(self.sums, plus(row, i), b) for i in range(len(totals) // many)]
        half = arith.ConstantOp(self.i32, -HALF).result
        starts = [v.spread(arith.muli(one, half)) for one in given]      # since HALF is added to the weight

        def word(s: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = list(sums)
            product.fetch(product.weight, columns, panel, b, plus(s, max(AHEAD // product.row_bytes, 1)))
            parts = [self._nibbles(v.load(product.weight, panel, b, s, column)) for column in columns]
            for at in range(len(found)):
                i, j = divmod(at, many)
                for part in range(PARTS):
                    factor = v.spread(read(self.bytes, plus(row, i), plus(first, s), part))
                    found[at] = intrinsics.build("dot4_u8s8", parts[j][part], factor, found[at])
            return found

        sums = loop(0, product.words, 1, word, [starts[at // many] for at in range(len(totals))])
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

    def _nibbles(self, words: ir.Value) -> list[ir.Value]:
        """The integers + ``HALF`` of each word, a byte each: those of even and those of odd rows."""
        given, low = arith.xori(words, splat_of(words.type, SIGNS)), splat_of(words.type, LOW)
        return [arith.andi(given, low), arith.andi(arith.shrui(given, splat_of(words.type, BITS)), low)]
