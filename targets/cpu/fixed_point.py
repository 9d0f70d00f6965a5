"""One row of floats as integers of 24 bits, for products with a weight of 4 bits by AVX2's ``vpmaddubsw``.

A block of the row, by which the weight has its scales, becomes integers of up to ``LARGEST`` times a factor, written as three signed bytes:
``a + 256 b + 65536 c``. The instruction multiplies 32 of these bytes by as many of the weight's nibbles, as they lie in memory: 18
instructions for 64 numbers. Floats take 25, as each instruction masks, converts or multiplies eight. All sums are exact. An element is off
by at most 2**-24 of the greatest of its block, as the greatest itself is in floats; a row to which that does harm is left to the floats
(``fits``).
"""
from __future__ import annotations

from collections.abc import Callable

from legato.core.mlir import arith, ir, math, memref, vector
from legato.core.vector_loops import Size, Vectors, least, loop, plus, read, scratch, times, value_of, write
from legato.dialects.relax.ops.quantized import WORD_BITS
from legato.targets.cpu.avx512 import call_intrinsic
from legato.targets.cpu.dot_products import PMADDWD, as_bits, splat_of
from legato.targets.cpu.integer_rows import BITS, HALF, LEAST, LOW, PARTS, PER, SIGNS, compare, is_normal, magnitudes, rounded, write_bytes
from legato.targets.cpu.machine import Machine

BYTES = 3           # of an integer of the row
LARGEST = 127 * (1 + 256 + 65536) - 1   # that they hold, less one that a rounded quotient may be above it
CHUNK = 4           # words whose products 16 bits hold: 4 words, 4 products of at most 15 * 128 in each lane
MOST = 128          # chunks whose sums 32 bits hold
SPREAD = 512        # times the mean of the others that the greatest element of a block may be


def takes(machine: Machine, bits: int, lanes: int, words: int) -> bool:
    """Whether products of one row with this weight are made so; with AVX-512 floats take a look-up instead of masks."""
    return bits == BITS and lanes == PER and machine.has("avx2") and not machine.has("avx512f") and words // _chunk(words) <= MOST


def _chunk(words: int) -> int:
    return next(size for size in (CHUNK, 2, 1) if words % size == 0)


class FixedPointRow:
    """The first row of ``x`` [rows, blocks * words * 8], if it has any. ``signed``: the weight's zeros are 0.

    ``fits`` is whether all elements are finite and, block by block, none so much greater than the others that these lose bits that count.
    """

    def __init__(self, v: Vectors, x: ir.Value, rows: Size, blocks: int, words: int, signed: bool) -> None:
        self.v, self.x, self.words = v, x, words
        self.chunk = _chunk(words)
        self.i32 = ir.IntegerType.get_signless(WORD_BITS)
        self.factors = scratch(blocks)
        self.bytes = self._integers(blocks * words, BYTES, PARTS)
        self.starts = self._integers(blocks * words // self.chunk, BYTES) if signed else None
        true = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
        end = times(least(rows, 1), blocks)
        self.fits, = loop(0, end, 1, lambda b, fits: [arith.andi(fits, self._write_block(b))], [true])

    def _integers(self, *shape: int) -> ir.Value:
        return memref.AllocOp(ir.MemRefType.get(shape, self.i32), [], [], alignment=64).result

    # --- the row ---

    def _write_block(self, b: ir.Value) -> ir.Value:
        """Writes the bytes, the factor and the starts of a block; returns whether it fits."""
        zero, first = self.v.splat(0), times(b, self.words)
        largest, total = magnitudes(self.v, self.words, lambda w: self._floats(plus(first, w)), lambda size: size)
        bound = arith.maxnumf(largest, self.v.number(LEAST))
        write(arith.mulf(bound, self.v.number(1 / LARGEST)), self.factors, b)
        scale = self.v.spread(arith.divf(self.v.number(LARGEST), bound))
        limit = self.v.spread(largest)

        def chunk(c: ir.Value, others: ir.Value) -> list[ir.Value]:
            sums = [self._splat(0)] * BYTES
            for s in range(self.chunk):
                word = plus(plus(times(c, self.chunk), s), first)
                value = self._floats(word)
                size = math.absf(value)
                others = arith.addf(others, arith.select(compare("OLT", size, limit), size, zero))
                parts = self._write_word(word, rounded(self.v, value, scale))
                sums = [arith.addi(*pair) for pair in zip(sums, parts)]
            if self.starts is not None:
                for number, value in enumerate(sums):
                    write(self._start(value), self.starts, plus(times(b, self.words // self.chunk), c), number)
            return [others]

        others, = loop(0, self.words // self.chunk, 1, chunk, [zero])
        return self._fits(largest, total, self.v.reduce("add", others))

    def _fits(self, largest: ir.Value, total: ir.Value, others: ir.Value) -> ir.Value:
        is_finite = compare("OLT", total, self.v.number(float("inf")))
        mean = arith.mulf(others, self.v.number(SPREAD / max(self.words * PER - 1, 1)))
        is_even = arith.ori(compare("OLE", largest, mean), compare("OEQ", others, self.v.number(0)))
        return arith.andi(is_finite, arith.andi(is_normal(self.v, largest), is_even))

    def _floats(self, word: Size) -> ir.Value:
        """The eight elements of the row that are multiplied by a word."""
        return self.v.load(self.x, 0, times(word, PER))

    def _write_word(self, word: Size, integers: ir.Value) -> list[ir.Value]:
        """Writes the bytes of eight integers; returns them, each in 32 bits."""
        parts, eight, up = [], self._splat(8), self._splat(WORD_BITS - 8)
        for _ in range(BYTES):
            parts.append(arith.shrsi(arith.shli(integers, up), up))
            integers = arith.shrsi(arith.subi(integers, parts[-1]), eight)
        for number, part in enumerate(parts):
            write_bytes(self.v, part, self.bytes, word, number)
        return parts

    def _start(self, sums: ir.Value) -> ir.Value:
        """What is added to the products of a chunk, since ``HALF`` is added to the weight: for each of the two sums of 16 bits that a lane
        has, of the first four rows of its words and of the others."""
        four = ir.VectorType.get([PER // 2], self.i32)
        kind = ir.Attribute.parse("#vector.kind<add>")
        low, high = (vector.ReductionOp(self.i32, kind, vector.ExtractStridedSliceOp(four, sums, [at], [PER // 2], [1]).result).result
                     for at in (0, PER // 2))
        low, high = (arith.muli(one, self._number(-HALF)) for one in (low, high))
        return arith.ori(arith.andi(low, self._number(0xFFFF)), arith.shli(high, self._number(16)))

    # --- products ---

    def products(self, block: Size, word: Callable[[Size], ir.Value]) -> ir.Value:
        """The sums over a block of the row times a vector of columns of the weight, or times the weight + ``HALF`` unless it is signed.
        ``word(s)`` loads the words s of the block."""
        def chunk(c: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            found = self._starts(block, c)
            for s in range(self.chunk):
                at = plus(times(c, self.chunk), s)
                given = arith.xori(word(at), self._splat(SIGNS))
                for odd, nibbles in enumerate((given, arith.shrui(given, self._splat(BITS)))):
                    weight = as_bits(arith.andi(nibbles, self._splat(LOW)), 8)
                    for number in range(BYTES):
                        row = as_bits(self._spread(self.bytes, plus(times(block, self.words), at), number, odd), 8)
                        made = call_intrinsic("llvm.x86.avx2.pmadd.ub.sw", [weight, row], found[number].type)
                        found[number] = arith.addi(found[number], made)
            low, middle, high = found
            both = [self._pairs(low, 1), arith.addi(self._pairs(middle, 1), self._pairs(high, 256))]
            return [arith.addi(*pair) for pair in zip(sums, both)] if sums else both

        chunks = self.words // self.chunk
        sums = chunk(value_of(0)) if chunks == 1 else loop(0, chunks, 1, chunk, [self._splat(0)] * 2)
        low, high = (arith.sitofp(self.v.type, one) for one in sums)
        return arith.mulf(vector.FMAOp(high, self.v.splat(256), low).result, self.v.spread(read(self.factors, block)))

    def _starts(self, block: Size, chunk: Size) -> list[ir.Value]:
        if self.starts is None:
            return [as_bits(self._splat(0), 16)] * BYTES
        at = plus(times(block, self.words // self.chunk), chunk)
        return [as_bits(self._spread(self.starts, at, number), 16) for number in range(BYTES)]

    def _pairs(self, sums: ir.Value, factor: int) -> ir.Value:
        """The sums of neighbours times a factor."""
        return call_intrinsic(PMADDWD[self.v.lanes], [sums, splat_of(sums.type, factor)], self._words())

    # --- values ---

    def _words(self) -> ir.VectorType:
        return self.v.of(self.i32)

    def _spread(self, buffer: ir.Value, *at: Size) -> ir.Value:
        return self.v.spread(read(buffer, *at))

    def _number(self, number: int) -> ir.Value:
        return arith.ConstantOp(self.i32, ir.IntegerAttr.get(self.i32, number)).result

    def _splat(self, number: int) -> ir.Value:
        return splat_of(self._words(), number)
