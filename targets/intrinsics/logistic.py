"""The logistic function of f32 and activation functions like it, on scalars and vectors of any rank.

All are made of e^a = 2^n (1 + p) with a = -|x| and n whole; 2^(n + LIFT) is a normal number, so that only the last product rounds to a
denormal. With d = 1 + e^a and f near 1 / d, the logistic function is f (1 + s), where f d (1 + s) = 1, of other x, and
2^n f (1 + p) (1 + s) of negative x. Neither the rounding of d nor that of 1 + p adds to its error.
"""
from legato.core.mlir import ir
from legato.targets.intrinsics.builder import Builder
from legato.targets.intrinsics.polynomials import EXP_Q, LN2, LN2_HIGH, LN2_LOW, LOG2_E, MAGIC, reduce_exponent

LIFT = 40
# r between ln(3/4) and ln(3/2), so that p, from -1/4 to 1/2, is rounded to fewer places than 1 + p has
MIDDLE = 0.085
# e^r = 1 + r + r^2 q(r) there, by weighted minimax with coefficients rounded one by one: relative error 2^-28.3
LOGISTIC_Q = (0.0014639073051512241, 0.008360433392226696, 0.0416584312915802, 0.1666657030582428, 0.5000001788139343)
LEAST = -(127 + LIFT) * LN2  # the power of two becomes 0; before, products with numbers as great as x do


def sigmoid(b: Builder, x: ir.Value) -> ir.Value:
    """1 / (1 + e^-x), 0.99 ulp."""
    a = b.at_least(b.neg(b.size(x)), LEAST)
    shifted = b.add(b.fma(a, b.number(LOG2_E), b.number(-MIDDLE)), b.number(MAGIC))
    n = b.sub(shifted, b.number(MAGIC))
    r = b.fma(n, b.number(-LN2_LOW), b.fma(n, b.number(-LN2_HIGH), a))
    p = b.fma(b.mul(r, r), b.polynomial(r, LOGISTIC_Q), r)
    more, power = b.add(p, b.number(1.0)), _lifted_power(b, shifted)
    f = b.div(b.number(2.0 ** -LIFT), _divisor(b, b.mul(more, power)))
    scaled = b.mul(f, power)
    s = b.fma(b.neg(scaled), p, b.sub(b.fma(f, b.number(-(2.0 ** LIFT)), b.number(1.0)), scaled))
    negative = b.less(x, b.number(0.0))
    quotient = b.fma(f, b.select(negative, b.fma(more, s, p), s), f)
    return b.mul(quotient, b.select(negative, power, b.number(2.0 ** LIFT)))


def silu(b: Builder, x: ir.Value) -> ir.Value:
    """x / (1 + e^-x), as x e^x / (1 + e^x) for negative x, 3.4 ulp."""
    decay, negative = _lifted_decay(b, x), b.less(x, b.number(0.0))
    quotient = b.div(b.select(negative, b.mul(x, decay), x), _divisor(b, decay))
    return b.mul(quotient, b.select(negative, b.number(2.0 ** -LIFT), b.number(1.0)))


def mish(b: Builder, x: ir.Value) -> ir.Value:
    """x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2), both divided by e^2x for other than negative x, 4.7 ulp."""
    lifted, negative = _lifted_decay(b, x), b.less(x, b.number(0.0))
    decay, one, two = b.mul(lifted, b.number(2.0 ** -LIFT)), b.number(1.0), b.number(2.0)
    more, double = b.add(decay, two), b.add(decay, decay)
    n = b.add(double, one)  # of positive x; the divisor is made of its rounded value, so that their errors cancel
    divisor = b.fma(decay, b.select(negative, more, double), b.select(negative, two, n))
    quotient = b.div(b.mul(x, b.select(negative, b.mul(lifted, more), n)), divisor)
    return b.mul(quotient, b.select(negative, b.number(2.0 ** -LIFT), one))


def _lifted_decay(b: Builder, x: ir.Value) -> ir.Value:
    """2^LIFT e^-|x|."""
    shifted, r = reduce_exponent(b, b.at_least(b.neg(b.size(x)), LEAST))
    return b.mul(b.polynomial(r, (*EXP_Q, 1.0, 1.0)), _lifted_power(b, shifted))


def _lifted_power(b: Builder, shifted: ir.Value) -> ir.Value:
    """2^(n + LIFT) from n + MAGIC."""
    return b.power(b.iadd(b.bits(shifted), b.integer(LIFT)))


def _divisor(b: Builder, decay: ir.Value) -> ir.Value:
    """1 + e^a from 2^LIFT e^a."""
    return b.fma(decay, b.number(2.0 ** -LIFT), b.number(1.0))
