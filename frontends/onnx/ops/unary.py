"""Elementwise ops of one input."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding


def _unary(op_type: str, versions: tuple[int, ...], builder: str, fold=None) -> Entry:
    """The entry of an ONNX op that equals a relax op without attributes."""
    return Entry(op_type, versions, lambda node: getattr(relax, builder)(node.x()), fold)


_NAMED = (
    _unary("Abs", (6, 13), "abs", folding.concrete(np.abs)),
    _unary("Acos", (7, 22), "acos"),
    _unary("Acosh", (9, 22), "acosh"),
    _unary("Asin", (7, 22), "asin"),
    _unary("Asinh", (9, 22), "asinh"),
    _unary("Atan", (7, 22), "atan"),
    _unary("Atanh", (9, 22), "atanh"),
    _unary("BitwiseNot", (18,), "bitwise_not"),
    _unary("Ceil", (6, 13), "ceil", folding.concrete(np.ceil)),
    _unary("Cos", (7, 22), "cos"),
    _unary("Cosh", (9, 22), "cosh"),
    _unary("Erf", (9, 13), "erf"),
    _unary("Exp", (6, 13), "exp"),
    _unary("Floor", (6, 13), "floor", folding.concrete(np.floor)),
    _unary("IsNaN", (9, 13, 20), "isnan"),
    _unary("Log", (6, 13), "log"),
    _unary("Neg", (6, 13), "negative", folding.elementwise(np.negative)),
    _unary("Not", (1,), "logical_not", folding.concrete(np.logical_not)),
    _unary("Reciprocal", (6, 13), "reciprocal", folding.concrete(np.reciprocal)),
    _unary("Round", (11, 22), "round"),
    _unary("Sign", (9, 13), "sign"),
    _unary("Sin", (7, 22), "sin"),
    _unary("Sinh", (9, 22), "sinh"),
    _unary("Sqrt", (6, 13), "sqrt", folding.concrete(np.sqrt)),
    _unary("Tan", (7, 22), "tan"),
    _unary("Tanh", (6, 13), "tanh"),
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
