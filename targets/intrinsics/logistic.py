"""The logistic function of f32 and activation functions like it, on scalars and vectors of any rank.

All are made of e^|x| = 2^n e^r = 2^n (1 + p) with n whole. 2^-n is lifted by LIFT, so that only the last product rounds to a denormal. The
logistic function is 1 / (1 + e^|x|) of negative x, and 1 minus that of others, where 1 / (1 + e^|x|) = 2^-n / m, m = 1 + p + 2^-n. It takes
an estimate y of 1 / m with few digits, so that 1 - y is exact, and corrects y by 1 - y m = 1 - y - y p - y 2^-n. Neither the rounding of m
nor that of 1 + p adds to its error.
"""
from legato.core.mlir import ir
from legato.targets.intrinsics.builder import Builder
from legato.targets.intrinsics.polynomials import EXP_Q, LN2, LN2_HIGH, LN2_LOW, LOG2_E, MAGIC

LIFT = 40
LOWERED = 2.0 ** -LIFT
SHIFT = MAGIC + 127 + LIFT  # SHIFT - n has 127 + LIFT - n in its low bits: the exponent of 2^(LIFT - n)
MOST = (127 + LIFT) * LN2  # the power of two becomes 0; before, products with numbers as great as x do
GREATEST = 3.4028234663852886e38
DIGITS = 0xFFFFFFF8  # of an estimate y >= 1/4: 1 - y is exact


def sigmoid(b: Builder, x: ir.Value) -> ir.Value:
    """1 / (1 + e^-x), 0.98 ulp."""
    power, r = _reduce(b, x)
    p = b.fma(b.mul(r, r), b.polynomial(r, EXP_Q), r)
    y = _estimate(b, b.add(b.fma(power, b.number(LOWERED), b.number(1.0)), p))
    lifted = b.mul(y, power)
    rest = b.fma(lifted, b.number(-LOWERED), b.fma(b.neg(y), p, b.sub(b.number(1.0), y)))
    value = b.mul(b.fma(lifted, rest, lifted), b.number(LOWERED))
    return b.select(b.negative(x), value, b.sub(b.number(1.0), value))


def silu(b: Builder, x: ir.Value) -> ir.Value:
    """x / (1 + e^-x), 1.8 ulp."""
    return weighted(b, x, x)


def weighted(b: Builder, x: ir.Value, weight: ir.Value) -> ir.Value:
    """weight / (1 + e^-x) with p + 2^-n rounded. NaN for a weight of -inf where the other factor is 0."""
    power, r = _reduce(b, x)
    p = b.fma(b.mul(r, r), b.polynomial(r, EXP_Q), r)
    more = b.fma(power, b.number(LOWERED), p)
    y = _estimate(b, b.add(more, b.number(1.0)))
    lifted = b.mul(y, power)
    lifted = b.fma(lifted, b.fma(b.neg(y), more, b.sub(b.number(1.0), y)), lifted)
    finite = b.at_most(weight, GREATEST)  # its product with 0 is no NaN
    value = b.mul(b.mul(lifted, finite), b.number(LOWERED))
    return b.select(b.negative(x), value, b.sub(weight, value))


def mish(b: Builder, x: ir.Value) -> ir.Value:
    """x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2), both divided by e^2x for other than negative x, 4.7 ulp."""
    power, r = _reduce(b, x)
    lifted, negative = b.mul(b.polynomial(b.neg(r), (*EXP_Q, 1.0, 1.0)), power), b.negative(x)
    decay, one, two = b.mul(lifted, b.number(LOWERED)), b.number(1.0), b.number(2.0)
    more, double = b.add(decay, two), b.add(decay, decay)
    n = b.add(double, one)  # of positive x; the divisor is made of its rounded value, so that their errors cancel
    divisor = b.fma(decay, b.select(negative, more, double), b.select(negative, two, n))
    quotient = b.div(b.mul(x, b.select(negative, b.mul(lifted, more), n)), divisor)
    return b.mul(quotient, b.select(negative, b.number(LOWERED), one))


def _reduce(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """2^(LIFT - n) and r with |x| = n ln 2 + r, |r| <= ln(2)/2; 0 and some r from MOST on."""
    size = b.at_most(b.size(x), MOST)
    shifted = b.fma(size, b.number(-LOG2_E), b.number(SHIFT))
    minus_n = b.sub(shifted, b.number(SHIFT))
    r = b.fma(minus_n, b.number(LN2_LOW), b.fma(minus_n, b.number(LN2_HIGH), size))
    return b.from_bits(b.shl(b.bits(shifted), 23)), r


def _estimate(b: Builder, m: ir.Value) -> ir.Value:
    """1 / m with few digits, for m <= 4."""
    return b.from_bits(b.iand(b.bits(b.estimated_reciprocal(m)), DIGITS))
