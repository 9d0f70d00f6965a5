"""The arithmetic of an attention's scores, maxima and weights in f32, at the insertion point."""
from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log2

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.markers import WEIGHS

LOG2_E = log2(e)
ENORMOUS = 1e37      # scores that are greater are not multiplied: their products may be infinite, and their differences are 0 or greater
TINY = 2.0**-60      # what their differences are multiplied by instead


@dataclass(frozen=True)
class ScoreNumbers:
    """How weights are computed from scores. ``element``: the type that the first product gives its sums in; ``scale``: what its sums are
    multiplied by; ``unit``: what scores are multiplied by for exponents of 2. ``by_powers_of_2``: exponentials are powers of 2, with one
    multiply-add in front; ``may_be_enormous``: scores may be the least numbers of f32, as masks are."""

    element: ir.Type
    scale: float
    unit: float
    by_powers_of_2: bool
    may_be_enormous: bool

    @property
    def f32(self) -> ir.Type:
        """The type of all numbers."""
        return ir.F32Type.get()

    def number(self, value: float) -> ir.Value:
        """A constant of f32."""
        return arith.ConstantOp(self.f32, ir.FloatAttr.get(self.f32, value)).result

    def wide(self, value: ir.Value) -> ir.Value:
        """A float as f32."""
        return value if value.type == self.f32 else arith.extf(self.f32, value)

    def rounded(self, value: ir.Value, element: ir.Type) -> ir.Value:
        """A value of f32 as one of another float type."""
        return value if element == self.f32 else arith.truncf(element, value)

    def scaled(self, value: ir.Value) -> ir.Value:
        """A sum of products of queries and keys, by the constants that these are multiplied by."""
        return value if self.scale == 1 else arith.mulf(value, self.number(self.scale))

    def narrow(self, value: ir.Value) -> ir.Value:
        """A score of f32 as the first product gives it."""
        return self.rounded(self.scaled(value), self.element)

    def weight(self, value: ir.Value, top: ir.Value) -> ir.Value:
        """The exponential of what a score is below the maximum. Threads of matrices multiply the maximum by log2 e once, and have one
        instruction in front of that for the power of 2."""
        if not self.by_powers_of_2:
            return marked(math.exp(arith.subf(value, self.shift(top))), WEIGHS)
        unit = self.unit_for(top)
        return marked(math.exp2(math.fma(value, unit, arith.negf(arith.mulf(self.shift(top), unit)))), WEIGHS)

    def factor(self, before: ir.Value, top: ir.Value) -> ir.Value:
        """What sums are multiplied by when the maximum ``before`` becomes ``top``: the exponential of their difference."""
        if not self.by_powers_of_2:
            return self.weight(before, top)
        below = arith.subf(before, self.shift(top))
        return marked(math.exp2(arith.mulf(below, self.unit_for(top))), WEIGHS)

    def unit_for(self, top: ir.Value) -> ir.Value:
        """What scores are multiplied by for exponents of 2, in a row with this maximum. Masks may be the least numbers of f32: of a row
        that has nothing else, all weights are equal."""
        if not self.may_be_enormous:
            return self.number(self.unit)
        enormous = arith.cmpf(arith.CmpFPredicate.OGT, math.absf(top), self.number(ENORMOUS))
        return arith.select(enormous, self.number(TINY), self.number(self.unit))

    def shift(self, top: ir.Value) -> ir.Value:
        """What is subtracted before exponentials: the maximum. With -inf it is 0: exponentials are then 0, and so is their sum, which
        makes a row of -inf alone NaN, as -inf - -inf would."""
        return arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, top, self.number(-inf)), self.number(0), top)
