"""Activation functions."""
from math import pi, sqrt

from legato.core.mlir import arith, ir, math
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import pointwise
from legato.targets.rule import kernel


def sigmoid_of(e: Element, x: ir.Value) -> ir.Value:
    """1 / (1 + exp(-x)); where exp overflows to infinity the result is 0, as it should be."""
    one = e.const(1)
    return arith.divf(one, arith.addf(one, math.exp(arith.negf(x))))


def softplus_of(e: Element, x: ir.Value) -> ir.Value:
    """log(1 + exp(x)), computed with exp(-|x|) so that nothing overflows."""
    return arith.addf(e.at_least(x, 0), math.log1p(math.exp(arith.negf(math.absf(x)))))


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
    return pointwise(k, out, [x], lambda e, x: arith.divf(x, arith.addf(e.const(1), math.exp(arith.negf(x)))))


@kernel("relax.gelu")
def gelu(k, x, out):
    """By erf, or by the tanh approximation."""
    def by_erf(e: Element, x: ir.Value) -> ir.Value:
        bent = math.erf(arith.mulf(x, e.const(1 / sqrt(2))))
        return arith.mulf(arith.mulf(e.const(0.5), x), arith.addf(e.const(1), bent))

    def by_tanh(e: Element, x: ir.Value) -> ir.Value:
        cubic = arith.mulf(arith.mulf(arith.mulf(x, x), x), e.const(0.044715))
        bent = math.tanh(arith.mulf(e.const(sqrt(2 / pi)), arith.addf(x, cubic)))
        return arith.mulf(arith.mulf(e.const(0.5), x), arith.addf(e.const(1), bent))

    return pointwise(k, out, [x], by_tanh if k.attrs["approximate"] == "tanh" else by_erf)


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
    return pointwise(k, out, [x], lambda e, x: arith.mulf(x, math.tanh(softplus_of(e, x))))


@kernel("relax.thresholded_relu")
def thresholded_relu(k, x, out):
    """x above alpha, else 0."""
    def expression(e: Element, x: ir.Value) -> ir.Value:
        return arith.select(e.compare("gt", x, e.const(k.attrs["alpha"])), x, e.const(0))

    return pointwise(k, out, [x], expression)


RULES = (relu, sigmoid, silu, gelu, leaky_relu, elu, selu, celu, softplus, softsign, hard_sigmoid, hard_swish, mish, thresholded_relu)
