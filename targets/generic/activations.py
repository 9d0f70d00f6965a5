"""Activation functions."""
from math import pi, sqrt

from legato.core.mlir import arith, ir, math
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import pointwise
from legato.targets.rule import kernel


def _weighted(e: Element, x: ir.Value, weight: ir.Value) -> ir.Value:
    """``weight`` times sigmoid x, as w e^x / (1 + e^x) for negative x and w / (1 + e^-x) for others, so that nothing overflows or cancels.
    NaN stays."""
    decay = math.exp(arith.negf(math.absf(x)))
    numerator = arith.select(e.compare("lt", x, e.const(0)), arith.mulf(weight, decay), weight)
    return arith.divf(numerator, arith.addf(e.const(1), decay))


def sigmoid_of(e: Element, x: ir.Value) -> ir.Value:
    """1 / (1 + exp(-x)), as exp(x) / (1 + exp(x)) for negative x, so that nothing overflows. Two thirds of what rounding left of the
    numerator are divided again, by a denominator between 1 and 2."""
    decay = math.exp(arith.negf(math.absf(x)))
    numerator = arith.select(e.compare("lt", x, e.const(0)), decay, e.const(1))
    value = arith.divf(numerator, arith.addf(e.const(1), decay))
    left = math.fma(arith.negf(decay), value, arith.subf(numerator, value))
    return math.fma(left, e.const(2 / 3), value)


def softplus_of(e: Element, x: ir.Value) -> ir.Value:
    """log(1 + exp(x)), computed with exp(-|x|) so that nothing overflows."""
    return arith.addf(e.at_least(x, 0), math.log1p(math.exp(arith.negf(math.absf(x)))))


def silu_of(e: Element, x: ir.Value) -> ir.Value:
    """x / (1 + exp(-x))."""
    return _weighted(e, x, x)


def gelu_of(e: Element, x: ir.Value) -> ir.Value:
    """x (1 + erf(x / sqrt(2))) / 2."""
    bent = math.erf(arith.mulf(x, e.const(1 / sqrt(2))))
    return arith.mulf(arith.mulf(e.const(0.5), x), arith.addf(e.const(1), bent))


def tanh_gelu_of(e: Element, x: ir.Value) -> ir.Value:
    """x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as x times the sigmoid of 2 u, which does not cancel."""
    return _weighted(e, twice_tanh_argument(e, x), x)


def twice_tanh_argument(e: Element, x: ir.Value) -> ir.Value:
    """2 sqrt(2 / pi) (x + 0.044715 x^3)."""
    scale = 2 * sqrt(2 / pi)
    slope = math.fma(arith.mulf(x, x), e.const(0.044715 * scale), e.const(scale))
    return arith.mulf(x, slope)


def mish_of(e: Element, x: ir.Value) -> ir.Value:
    """x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2), divided by e^2x for positive x, so that nothing overflows."""
    decay = math.exp(arith.negf(math.absf(x)))
    negative = e.compare("lt", x, e.const(0))
    double, square = arith.addf(decay, decay), arith.mulf(decay, decay)
    n = arith.select(negative, arith.addf(square, double), arith.addf(double, e.const(1)))
    rest = arith.select(negative, e.const(2), arith.addf(square, square))
    return arith.divf(arith.mulf(x, n), arith.addf(n, rest))


def positive_or(e: Element, x: ir.Value, otherwise: ir.Value) -> ir.Value:
    """x where x > 0 or NaN, else ``otherwise``."""
    return arith.select(e.compare("le", x, e.const(0)), otherwise, x)


@kernel("relax.relu")
def relu(k, x, out):
    """max(x, 0)."""
    return pointwise(k, out, [x], lambda e, x: e.at_least(x, 0))


@kernel("relax.sigmoid")
def sigmoid(k, x, out):
    """1 / (1 + exp(-x))."""
    return pointwise(k, out, [x], sigmoid_of)


@kernel("relax.silu")
def silu(k, x, out):
    """x / (1 + exp(-x))."""
    return pointwise(k, out, [x], silu_of)


@kernel("relax.gelu")
def gelu(k, x, out):
    """By erf, or by the tanh approximation."""
    return pointwise(k, out, [x], tanh_gelu_of if k.attrs["approximate"] == "tanh" else gelu_of)


@kernel("relax.leaky_relu")
def leaky_relu(k, x, out):
    """x, or alpha x below 0."""
    return pointwise(k, out, [x], lambda e, x: positive_or(e, x, arith.mulf(x, e.const(k.attrs["alpha"]))))


@kernel("relax.elu")
def elu(k, x, out):
    """x, or alpha expm1(x) below 0."""
    return pointwise(k, out, [x], lambda e, x: positive_or(e, x, arith.mulf(math.expm1(x), e.const(k.attrs["alpha"]))))


@kernel("relax.selu")
def selu(k, x, out):
    """gamma times elu."""
    alpha, gamma = k.attrs["alpha"], k.attrs["gamma"]
    return pointwise(k, out, [x], lambda e, x: arith.mulf(positive_or(e, x, arith.mulf(math.expm1(x), e.const(alpha))), e.const(gamma)))


@kernel("relax.celu")
def celu(k, x, out):
    """x, or alpha expm1(x / alpha) below 0."""
    alpha = k.attrs["alpha"]

    def expression(e: Element, x: ir.Value) -> ir.Value:
        return positive_or(e, x, arith.mulf(math.expm1(arith.divf(x, e.const(alpha))), e.const(alpha)))

    return pointwise(k, out, [x], expression)


@kernel("relax.softplus")
def softplus(k, x, out):
    """log(1 + exp(x))."""
    return pointwise(k, out, [x], softplus_of)


@kernel("relax.softsign")
def softsign(k, x, out):
    """x / (1 + |x|)."""
    return pointwise(k, out, [x], lambda e, x: arith.divf(x, arith.addf(e.const(1), math.absf(x))))


def _hard_sigmoid(e: Element, x: ir.Value, alpha: float, beta: float) -> ir.Value:
    return e.at_most(e.at_least(arith.addf(arith.mulf(x, e.const(alpha)), e.const(beta)), 0), 1)


@kernel("relax.hard_sigmoid")
def hard_sigmoid(k, x, out):
    """alpha x + beta, clipped to 0 ... 1."""
    return pointwise(k, out, [x], lambda e, x: _hard_sigmoid(e, x, k.attrs["alpha"], k.attrs["beta"]))


@kernel("relax.hard_swish")
def hard_swish(k, x, out):
    """x times the hard sigmoid with 1/6 and 1/2."""
    return pointwise(k, out, [x], lambda e, x: arith.mulf(x, _hard_sigmoid(e, x, 1 / 6, 0.5)))


@kernel("relax.mish")
def mish(k, x, out):
    """x tanh(softplus(x))."""
    return pointwise(k, out, [x], mish_of)


@kernel("relax.thresholded_relu")
def thresholded_relu(k, x, out):
    """x above alpha, else 0."""
    def expression(e: Element, x: ir.Value) -> ir.Value:
        return arith.select(e.compare("gt", x, e.const(k.attrs["alpha"])), x, e.const(0))

    return pointwise(k, out, [x], expression)


RULES = (relu, sigmoid, silu, gelu, leaky_relu, elu, selu, celu, softplus, softsign, hard_sigmoid, hard_swish, mish, thresholded_relu)
