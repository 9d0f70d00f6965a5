"""The loops of a product of rows, rounded to bytes, with a weight of 4 or 8 bits, by instructions on bytes.

By a scale for each block of the weight, numbers of a row become -127 to 127; ``weight_bytes`` reads the weight and multiplies. Rows that
bytes cannot hold, for NaN, infinities or numbers that are all tiny, leave the product to floats.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, if_else, in_parts, loop, minus, plus, quotient, read, scratch, times, write
from legato.dialects.relax.ops.quantized import WORD_BITS
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.integer_rows import BITS, LEAST, PARTS, PER, compare, is_normal, magnitudes, rounded, write_bytes
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import QuantizedProduct
from legato.targets.cpu.threads import TYPICAL, WORTH_IT
from legato.targets.cpu.weight_bytes import UNPACKED, WeightBytes

LARGEST = 127       # of a row's integers
VECTORS = 2         # of columns in a tile of many rows


def takes(product: QuantizedProduct, machine: Machine, in_bytes: bool) -> bool:
    """Whether a product is made so: of rows that may be bytes, and a weight whose words instructions on bytes take."""
    known = product.bits == BITS or (product.bits == 8 and product.block % PER == 0)
    return in_bytes and known and machine.has("avx2") and product.lanes in (8, 16) and machine.lanes(32) == product.lanes


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
        self.steps = product.block // PER
        self.true = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
        self.weight, self.registers = WeightBytes(product, machine), machine.registers
        most = (machine.registers - VECTORS * PARTS) // VECTORS if product.bits == BITS else machine.registers // UNPACKED
        self.tiles = row_tiles(self.rows, most // 2)
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

    def _groups(self, rows: int) -> list[list[int]]:
        """The columns of a panel, by those that so many rows are multiplied by at once: of few rows by whole lines of the weight."""
        columns = list(range(0, self.product.width, self.v.lanes))
        many = next((size for size in (len(columns), UNPACKED) if 2 * rows * size <= self.registers), VECTORS)
        return [columns[at: at + many] for at in range(0, len(columns), many)]

    def _tile(self, panel: ir.Value, row: ir.Value, rows: int) -> None:
        """The product of some rows."""
        for columns in self._groups(rows):
            zeros = [self.v.splat(0)] * (rows * len(columns))
            totals = loop(0, self.product.blocks, 1, lambda b, *totals, columns=columns: self._block(panel, b, row, columns, totals), zeros)
            for at, total in enumerate(totals):
                self.product.store(total, plus(row, at // len(columns)), panel, columns[at % len(columns)])

    def _block(self, panel: ir.Value, b: ir.Value, row: ir.Value, columns: list[int], totals: Sequence[ir.Value]) -> list[ir.Value]:
        """Totals with the products with one block of the weight."""
        product, v, many = self.product, self.v, len(columns)
        first = times(b, self.steps)
        given = [read(self.sums, plus(row, i), b) for i in range(len(totals) // many)]
        less = arith.ConstantOp(self.i32, -self.weight.above).result
        starts = [v.spread(arith.muli(one, less)) for one in given]

        def word(s: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = list(sums)
            for start in range(0, many, UNPACKED):
                group = columns[start: start + UNPACKED]
                parts = self.weight.read(panel, b, s, group)
                for i in range(len(totals) // many):
                    factors = [v.spread(read(self.bytes, plus(row, i), plus(first, s), part)) for part in range(PARTS)]
                    for j, one in enumerate(parts, i * many + start):
                        found[j] = self.weight.add_products(one, factors, found[j])
            return found

        sums = loop(0, self.steps, 1, word, [starts[at // many] for at in range(len(totals))])
        size = min(many, UNPACKED)
        sums = [one for at in range(0, len(sums), size) for one in self.weight.in_order(sums[at: at + size])]
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
