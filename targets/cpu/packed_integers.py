"""Integers of 2, 4 and 8 bits as vectors of floats, unpacked in registers from words of 32 bits."""
from legato.core.mlir import arith, ir
from legato.core.vector_loops import Vectors
from legato.dialects.relax.ops.quantized import WORD_BITS, rows_per_word
from legato.targets.cpu.avx512 import call_intrinsic
from legato.targets.cpu.machine import Machine


class PackedIntegers:
    """Unpacks signed integers: with AVX-512 by a look-up of 16 numbers, else by shifts, or in place by masks."""

    def __init__(self, bits: int, v: Vectors, machine: Machine) -> None:
        self.bits, self.v, self.per = bits, v, rows_per_word(bits)
        self.i32 = v.of(ir.IntegerType.get_signless(32))
        self.lookup = machine.has("avx512f") and v.lanes == 16 and bits < 8
        self.masked = bits < 8 and not self.lookup

    def floats(self, words: ir.Value) -> list[ir.Value]:
        """The integers of each part of the words, or of bytes."""
        if self.bits == 8:
            return [arith.sitofp(self.v.type, words)]
        return [self._looked_up(words, part) if self.lookup else self._shifted(words, part) for part in range(self.per)]

    def _looked_up(self, words: ir.Value, part: int) -> ir.Value:
        """One part of each word by ``vpermps``, which takes the lowest four bits of its indices."""
        half, every = 1 << (self.bits - 1), (1 << self.bits) - 1
        numbers = [float((i & every) - ((i & half) << 1)) for i in range(16)]
        table = arith.ConstantOp(self.v.type, ir.DenseElementsAttr.get([ir.FloatAttr.get(self.v.f32, n) for n in numbers], self.v.type))
        index = words if part == 0 else arith.shrui(words, self._splat(part * self.bits))
        return call_intrinsic("llvm.x86.avx512.permvar.sf.512", [table.result, index])

    def _shifted(self, words: ir.Value, part: int) -> ir.Value:
        up = WORD_BITS - self.bits * (part + 1)
        moved = arith.shli(words, self._splat(up)) if up else words
        return arith.sitofp(self.v.type, arith.shrsi(moved, self._splat(WORD_BITS - self.bits)))

    def in_place(self, words: ir.Value) -> list[ir.Value]:
        """The parts of each word as numbers of 0 or more, by half their range greater than the integers, times the power of two at whose
        bits they stand; the last part, at the sign, is shifted down."""
        every = (1 << self.bits) - 1
        signs = sum(1 << (self.bits * (part + 1) - 1) for part in range(self.per))
        words = arith.xori(words, self._splat(signs - (1 << WORD_BITS)))
        parts = [arith.andi(words, self._splat(every << (part * self.bits))) for part in range(self.per - 1)]
        parts.append(arith.shrui(words, self._splat(WORD_BITS - self.bits)))
        return [arith.sitofp(self.v.type, part) for part in parts]

    def _splat(self, number: int) -> ir.Value:
        element = ir.IntegerAttr.get(self.i32.element_type, number)
        return arith.ConstantOp(self.i32, ir.DenseElementsAttr.get_splat(self.i32, element)).result
