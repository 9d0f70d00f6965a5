"""Sums of two scaled integers that are scaled and rounded, as an addition of quantized values is, with fewer multiplications.

``round((a * p + b * q) * r)`` becomes ``round(fma(a, p * r, b * (q * r)))``, with factors that may be greater or less by a last bit,
where both are the same for all a and b, of which there are few: bytes less their zero points. All are tried.
"""
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import frexp

import numpy as np

from legato.analysis.structured.byte_functions import ByteFunction
from legato.analysis.structured.float_bounds import KnownBounds
from legato.core.ir_helpers import constant_number, defining_op
from legato.core.mlir import arith, ir, math

MOST = 1 << 17      # pairs that are tried
NEAR = 12           # the difference of the factors' exponents up to which floats of 64 bits hold the fused sum
LAST_BITS = sorted(product((0, -1, 1), repeat=2), key=lambda steps: sum(map(abs, steps)))


@dataclass(frozen=True)
class Term:
    """A whole number from ``low`` to ``high``, times a factor."""

    low: int
    high: int
    factor: float

    @property
    def numbers(self) -> np.ndarray:
        """All values of the number."""
        return np.arange(self.low, self.high + 1, dtype=np.float32)


def fused_sum(function: ByteFunction, known: KnownBounds) -> ir.Value | None:
    """What a function may round in place of a sum of two terms times a factor, at the insertion point; None where it rounds another
    value, or nothing of this form is the same."""
    outer = scaled(function.rounded)
    add = defining_op(outer[0]) if outer is not None else None
    if outer is None or add is None or add.name != "arith.addf":
        return None
    values, terms = [], []
    for operand in add.operands:
        inner = scaled(operand)
        bounds = known.of(inner[0]) if inner is not None else None
        if inner is None or bounds is None or not (bounds.finite and bounds.whole):
            return None
        values.append(inner[0])
        terms.append(Term(int(bounds.low), int(bounds.high), inner[1]))
    factors = fused_factors(*terms, outer[1], function.low, function.high)
    if factors is None:
        return None
    p, q = (splat(function.rounded.type, number) for number in factors)
    return math.fma(values[0], p, arith.mulf(values[1], q))


def scaled(value: ir.Value) -> tuple[ir.Value, float] | None:
    """A value and the constant that it is multiplied by; None where it is not."""
    op = defining_op(value)
    number = constant_number(op.operands[1]) if op is not None and op.name == "arith.mulf" else None
    return None if op is None or not number or not np.isfinite(number) else (op.operands[0], number)


@cache
def fused_factors(first: Term, second: Term, factor: float, low: int, high: int) -> tuple[float, float] | None:
    """The factors of two numbers whose fused sum rounds to the same number as ``(first + second) * factor``, up to a clip; None where
    there are none."""
    sizes = [term.high - term.low + 1 for term in (first, second)]
    if min(sizes) < 1 or sizes[0] * sizes[1] > MOST:
        return None
    a, b, scale = first.numbers[:, None], second.numbers[None, :], np.float32(factor)
    wanted = np.clip(np.rint((a * np.float32(first.factor) + b * np.float32(second.factor)) * scale), low, high)
    for steps in LAST_BITS:
        factors = [np.float32(term.factor) * scale for term in (first, second)]
        factors = [number if not step else np.nextafter(number, np.float32(step * np.inf)) for number, step in zip(factors, steps)]
        if not np.isfinite(factors).all() or 0 in factors or abs(frexp(factors[0])[1] - frexp(factors[1])[1]) > NEAR:
            return None
        found = (a.astype(np.float64) * factors[0] + (b * factors[1])).astype(np.float32)
        if np.array_equal(np.clip(np.rint(found), low, high), wanted):
            return float(factors[0]), float(factors[1])
    return None


def splat(type_: ir.VectorType, number: float) -> ir.Value:
    """A constant in all lanes, at the insertion point."""
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, number))).result
