"""The greatest magnitude of numbers of f32, which tells whether products may be computed in parts of bf16."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from legato.core.mlir import arith, ir
from legato.core.vector_loops import Vectors
from legato.passes.cpu.matrices.number_parts import bits_of

# products of parts of smaller numbers are finite: infinite ones of two signs would add up to NaN where the number is infinite
LARGEST = 2.0 ** 63
LEAST = 2.0 ** -50      # of the greatest number: products of parts with those of a factor that is as small are not denormal
MAGNITUDE = 0x7FFFFFFF  # all bits but the sign


class Magnitudes:
    """Builds the greatest magnitude of vectors, as bits: those of infinities and NaNs are greater than all others."""

    def __init__(self, vectors: Vectors):
        self.vectors, self.bits = vectors, ir.IntegerType.get_signless(32)

    @property
    def none(self) -> ir.Value:
        """That of no numbers, in each lane."""
        return self.vectors.zeros(self.bits)

    def greatest(self, so_far: ir.Value, numbers: Sequence[ir.Value]) -> ir.Value:
        """The greatest in each lane of vectors and those so far."""
        for value in numbers:
            so_far = arith.maxui(so_far, arith.andi(bits_of(self.vectors, value), self.vectors.constant(MAGNITUDE, self.bits)))
        return so_far

    def of_all(self, greatest: ir.Value) -> ir.Value:
        """The greatest of all lanes."""
        return self.vectors.reduce("maxui", greatest)

    def need_f32(self, greatest: ir.Value) -> ir.Value:
        """Whether numbers, of which this is the greatest, are no sums of parts, or all so small that products would be lost."""
        least, most = (int(np.float32(number).view(np.int32)) for number in (LEAST, LARGEST))
        start, extent, zero = (arith.ConstantOp(self.bits, number).result for number in (least, most - least, 0))
        outside = arith.cmpi(arith.CmpIPredicate.uge, arith.subi(greatest, start), extent)
        return arith.andi(outside, arith.cmpi(arith.CmpIPredicate.ne, greatest, zero))
