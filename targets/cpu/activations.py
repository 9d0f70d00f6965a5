"""Activation functions computed in f32 without the rounded exponential, which is inexact where it is denormal."""
from legato.core.mlir import ir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import pointwise
from legato.targets.generic.activations import twice_tanh_argument
from legato.targets.intrinsics import logistic, polynomials
from legato.targets.intrinsics.builder import Builder
from legato.targets.predicates import dtype
from legato.targets.rule import kernel

computed_in_f32 = dtype("f16", "bf16", "f32")


def sigmoid_of(e: Element, x: ir.Value) -> ir.Value:
    """1 / (1 + exp(-x)), 1 ulp."""
    return logistic.sigmoid(Builder(x.type), x)


def silu_of(e: Element, x: ir.Value) -> ir.Value:
    """x / (1 + exp(-x)), 1.8 ulp."""
    return logistic.silu(Builder(x.type), x)


def mish_of(e: Element, x: ir.Value) -> ir.Value:
    """x tanh(softplus(x)), 4.7 ulp."""
    return logistic.mish(Builder(x.type), x)


def gelu_of(e: Element, x: ir.Value) -> ir.Value:
    """x (1 + erf(x / sqrt(2))) / 2, with half as many instructions as by erf."""
    return polynomials.gelu(Builder(x.type), x)


def tanh_gelu_of(e: Element, x: ir.Value) -> ir.Value:
    """x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3)."""
    return logistic.weighted(Builder(x.type), twice_tanh_argument(e, x), x)


@kernel("relax.sigmoid", when=computed_in_f32)
def sigmoid(k, x, out):
    """1 / (1 + exp(-x))."""
    return pointwise(k, out, [x], sigmoid_of)


@kernel("relax.silu", when=computed_in_f32)
def silu(k, x, out):
    """x / (1 + exp(-x))."""
    return pointwise(k, out, [x], silu_of)


@kernel("relax.mish", when=computed_in_f32)
def mish(k, x, out):
    """x tanh(softplus(x))."""
    return pointwise(k, out, [x], mish_of)


@kernel("relax.gelu", when=computed_in_f32)
def gelu(k, x, out):
    """By the normal distribution, or by the tanh approximation."""
    return pointwise(k, out, [x], tanh_gelu_of if k.attrs["approximate"] == "tanh" else gelu_of)


RULES = (sigmoid, silu, mish, gelu)
