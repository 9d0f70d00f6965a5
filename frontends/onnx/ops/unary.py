"""Elementwise ops of one input."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding


def named(op_type: str, versions: tuple[int, ...], builder: str, fold=None, domain: str = "") -> Entry:
    """The entry of an ONNX op that equals a relax op without attributes."""
    return Entry(op_type, versions, lambda node: getattr(relax, builder)(node.x()), fold, domain)


_NAMED = (
    named("Abs", (6, 13), "abs", folding.concrete(np.abs)),
    named("Acos", (7, 22), "acos"),
    named("Acosh", (9, 22), "acosh"),
    named("Asin", (7, 22), "asin"),
    named("Asinh", (9, 22), "asinh"),
    named("Atan", (7, 22), "atan"),
    named("Atanh", (9, 22), "atanh"),
    named("BitwiseNot", (18,), "bitwise_not"),
    named("Ceil", (6, 13), "ceil", folding.concrete(np.ceil)),
    named("Cos", (7, 22), "cos"),
    named("Cosh", (9, 22), "cosh"),
    named("Erf", (9, 13), "erf"),
    named("Exp", (6, 13), "exp"),
    named("Floor", (6, 13), "floor", folding.concrete(np.floor)),
    named("IsNaN", (9, 13, 20), "isnan"),
    named("Log", (6, 13), "log"),
    named("Neg", (6, 13), "negative", folding.elementwise(np.negative)),
    named("Not", (1,), "logical_not", folding.concrete(np.logical_not)),
    named("Reciprocal", (6, 13), "reciprocal", folding.concrete(np.reciprocal)),
    named("Round", (11, 22), "round"),
    named("Sign", (9, 13), "sign"),
    named("Sin", (7, 22), "sin"),
    named("Sinh", (9, 22), "sinh"),
    named("Sqrt", (6, 13), "sqrt", folding.concrete(np.sqrt)),
    named("Tan", (7, 22), "tan"),
    named("Tanh", (6, 13), "tanh"),
)


@op("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(node):
    """Identity."""
    return node.value(0)


@op("IsInf", 10, 20)
def isinf(node):
    """IsInf, of both signs or one."""
    negative, positive = node.flag("detect_negative", True), node.flag("detect_positive", True)
    x = node.x()
    infinite = relax.isinf(x)
    if negative and positive:
        return infinite
    zero = node.literal(0, node.dtype())
    if negative:
        return relax.logical_and(infinite, relax.less(x, zero))
    if positive:
        return relax.logical_and(infinite, relax.greater(x, zero))
    return relax.logical_and(infinite, node.literal(False))


ENTRIES = (*_NAMED, identity, isinf)
