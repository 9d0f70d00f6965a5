"""A weight of 4 or 8 bits as bytes in registers, and their products with bytes of a row, -127 to 127.

A word of 4 bits has the nibbles of eight rows of the weight: those at even and those at odd places are four bytes of each lane. Of 8 bits,
the bytes of four rows are shuffled into lanes. Four bytes of a lane are multiplied by as many of a row and added up: by one instruction
(AVX512-VNNI, AVX-VNNI), whose first operand is unsigned, or by ``vpmaddubsw``, which adds pairs in 16 bits, and ``vpmaddwd``.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.cpu_table import LINE
from legato.core.mlir import arith, ir, math, vector
from legato.core.vector_loops import Vectors, plus, times
from legato.dialects.relax.ops.quantized import WORD_BITS
from legato.dialects.tir import intrinsics
from legato.targets.cpu.avx512 import call_intrinsic
from legato.targets.cpu.dot_products import PMADDWD, as_bits, splat_of
from legato.targets.cpu.integer_rows import BITS, LOW, PARTS, PER, SIGNS
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import QuantizedProduct

PMADDUBSW = {16: "llvm.x86.avx512.pmaddubs.w.512", 8: "llvm.x86.avx2.pmadd.ub.sw"}
BYTE_SIGNS = 0x80808080 - (1 << WORD_BITS)
UNPACKED = 4        # vectors of columns whose bytes, of four rows, are unpacked at once: a register of each row
AHEAD = 2048        # bytes of the weight between a fetch and the use; to the first-level cache, or further ahead, takes up to twice as long
BLOCK = 4           # lanes of 128 bits, in which instructions unpack


class WeightBytes:
    """Builds the steps at the insertion point. ``above``: what the bytes that are multiplied exceed the weight's integers by."""

    def __init__(self, product: QuantizedProduct, machine: Machine) -> None:
        self.product, self.v, self.bits = product, product.v, product.bits
        self.sums_four = machine.multiplies_bytes
        self.above = 1 << (self.bits - 1) if self.sums_four or self.bits == BITS else 0

    # --- the weight ---

    def read(self, panel: ir.Value, b: ir.Value, s: ir.Value, columns: Sequence[int]) -> list[list[ir.Value]]:
        """Step ``s`` of block ``b``, ``PER`` rows of the weight: for each vector of columns, one for each of ``PARTS``. ``in_order`` puts
        what is summed of these into the columns' order."""
        return self._nibbles(panel, b, s, columns) if self.bits == BITS else self._bytes(panel, b, s, columns)

    def in_order(self, sums: list[ir.Value]) -> list[ir.Value]:
        """Vectors of columns that ``read`` unpacked at once, in order: a transposition of blocks of 128 bits."""
        if self.bits == BITS or len(sums) != UNPACKED:
            return sums
        halves = self.v.lanes // 2
        low = [*range(halves), *range(self.v.lanes, self.v.lanes + halves)]
        pairs = [[vector.ShuffleOp(sums[at], sums[at + 1], [place + half for place in low]).result for half in (0, halves)]
                 for at in (0, 2)]
        if self.v.lanes == 2 * BLOCK:
            return [pairs[at][half] for half in range(2) for at in range(2)]
        even = [place + first for first in range(0, 2 * self.v.lanes, 2 * BLOCK) for place in range(BLOCK)]
        return [vector.ShuffleOp(pairs[0][half], pairs[1][half], [place + odd for place in even]).result
                for half in range(2) for odd in (0, BLOCK)]

    def _nibbles(self, panel: ir.Value, b: ir.Value, s: ir.Value, columns: Sequence[int]) -> list[list[ir.Value]]:
        """The nibbles of even and those of odd rows."""
        product, found = self.product, []
        product.fetch(product.weight, columns, panel, b, plus(s, max(AHEAD // product.row_bytes, 1)), near=False)
        for column in columns:
            words = self.v.load(product.weight, panel, b, s, column)
            given, low = arith.xori(words, splat_of(words.type, SIGNS)), splat_of(words.type, LOW)
            found.append([arith.andi(given, low), arith.andi(arith.shrui(given, splat_of(words.type, BITS)), low)])
        return found

    def _bytes(self, panel: ir.Value, b: ir.Value, s: ir.Value, columns: Sequence[int]) -> list[list[ir.Value]]:
        """The bytes of the first and of the other half of the rows."""
        product, first = self.product, times(s, PER)
        for row in range(0, PER, max(LINE // product.row_bytes, 1)):
            product.fetch(product.weight, columns, panel, b, plus(plus(first, row), max(AHEAD // product.row_bytes, 1)), near=False)
        parts = []
        for part in range(PARTS):
            rows = [plus(first, part * (PER // PARTS) + row) for row in range(4)]
            if len(columns) == UNPACKED:
                wide = Vectors(UNPACKED * self.v.lanes)
                words = _unpacked([wide.load(product.weight, panel, b, row, columns[0]) for row in rows])
            else:
                words = [_four_rows([self.v.load(product.weight, panel, b, row, column) for row in rows]) for column in columns]
            signs = splat_of(words[0].type, BYTE_SIGNS)
            parts.append([arith.xori(one, signs) for one in words] if self.above else words)
        return [list(one) for one in zip(*parts)]

    # --- products ---

    def add_products(self, weight: Sequence[ir.Value], row: Sequence[ir.Value], total: ir.Value) -> ir.Value:
        """A total and the products of a column's ``PARTS`` with those of a row."""
        if self.sums_four:
            for one, factor in zip(weight, row):
                total = intrinsics.build("dot4_u8s8", one, factor, total)
            return total
        pairs = [self._pairs(one, factor) for one, factor in zip(weight, row)]
        if self.bits == BITS:       # 16 bits hold sums of these
            pairs = [arith.addi(*pairs)]
        for one in pairs:
            total = arith.addi(total, call_intrinsic(PMADDWD[self.v.lanes], [one, splat_of(one.type, 1)], total.type))
        return total

    def _pairs(self, weight: ir.Value, row: ir.Value) -> ir.Value:
        """The sums of two products, in 16 bits, which hold those of -128 to 127 by -127 to 127: the sign of a weight is that of the row."""
        weight, row = as_bits(weight, 8), as_bits(row, 8)
        if self.bits != BITS:
            if self.v.lanes == 8:
                row = call_intrinsic("llvm.x86.avx2.psign.b", [row, weight])
            else:
                zero = splat_of(row.type, 0)
                row = arith.select(arith.cmpi(arith.CmpIPredicate.slt, weight, zero), arith.subi(zero, row), row)
            weight = math.absi(weight)
        sums = ir.VectorType.get([2 * self.v.lanes], ir.IntegerType.get_signless(16))
        return call_intrinsic(PMADDUBSW[self.v.lanes], [weight, row], sums)


def _four_rows(rows: list[ir.Value]) -> ir.Value:
    """The bytes of four rows, those of a column in one lane."""
    lanes = rows[0].type.shape[0]
    low, high = (vector.ShuffleOp(one, other, [row * lanes + lane for lane in range(lanes) for row in range(2)]).result
                 for one, other in (rows[:2], rows[2:]))
    order = [pair * 2 * lanes + 2 * lane + byte for lane in range(lanes) for pair in range(2) for byte in range(2)]
    return as_bits(vector.ShuffleOp(low, high, order).result, WORD_BITS)


def _unpacked(rows: list[ir.Value]) -> list[ir.Value]:
    """Likewise of four vectors of columns, out of order: each has a quarter of every 16 columns."""
    low, high = ([as_bits(one, 16) for one in _interleaved(*rows[at: at + 2])] for at in (0, 2))
    return [as_bits(one, WORD_BITS) for pair in zip(low, high) for one in _interleaved(*pair)]


def _interleaved(one: ir.Value, other: ir.Value) -> list[ir.Value]:
    """Two vectors' elements in turns: those of the lower, and those of the upper half of each 128 bits."""
    size = one.type.shape[0]
    block = 128 // one.type.element_type.width
    return [vector.ShuffleOp(one, other, [at + place + side for at in range(0, size, block) for place in range(half, half + block // 2)
                                          for side in (0, size)]).result for half in (0, block // 2)]
