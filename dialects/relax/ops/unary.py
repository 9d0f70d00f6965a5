"""Elementwise ops of one operand."""

import math

import numpy as np

from legato.core.erfinv import PIECES
from legato.dialects.relax.attributes import Float, Str
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import BOOL, FLOAT, INTEGER, NUMBER, Operand
from legato.dialects.relax.types import TensorType

_ELEMENT = {FLOAT: "f32", NUMBER: "f32", INTEGER: "i32", BOOL: "i1"}
_erf, _erfc = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, element by element (numpy has none)."""
    return np.asarray(_erf(np.asarray(x, np.float64)), np.float64).astype(x.dtype)


def erfc(x: np.ndarray) -> np.ndarray:
    """``1 - erf(x)``, element by element, exact where erf is near 1."""
    return np.asarray(_erfc(np.asarray(x, np.float64)), np.float64).astype(x.dtype)


def lgamma(x: np.ndarray) -> np.ndarray:
    """The logarithm of the gamma function's absolute value, element by element: infinite at the poles 0, -1, ..."""
    return np.asarray(_lgamma(np.asarray(x, np.float64)), np.float64).astype(x.dtype)


def _finite_lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):     # Python's of poles and of what no double can hold
        return math.inf


_lgamma = np.frompyfunc(_finite_lgamma, 1, 1)


def erfinv(x: np.ndarray) -> np.ndarray:
    """The inverse of ``erf``: infinite at -1 and 1, NaN beyond."""
    wide = x.astype(np.float64)
    w = -np.log((1 - wide) * (1 + wide))
    root, slope, begin = np.sqrt(w), np.full_like(w, np.nan), -np.inf
    for piece in PIECES[64]:
        slope = np.where((w > begin) & (w <= piece.end), np.polyval(piece.powers, (root if piece.of_root else w) - piece.center), slope)
        begin = piece.end
    return np.where(np.abs(wide) == 1, wide * np.inf, wide * slope).astype(x.dtype)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``, which stays finite for every x."""
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def softplus(x: np.ndarray) -> np.ndarray:
    """``log(1 + exp(x))`` without overflow."""
    return np.logaddexp(x, x.dtype.type(0))


def _gelu(x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x / x.dtype.type(math.sqrt(2))))


def _unary(name, summary, compute, kinds=FLOAT, attributes_text="", result=None, **attributes):
    def result_type(x: TensorType, **_) -> TensorType:
        return x if result is None else x.with_dtype(result)

    element = _ELEMENT[kinds]
    text = example(name, "%x", attributes_text, f"tensor<2x3x{element}>", f"tensor<2x3x{'i1' if result else element}>")
    return define(name, summary, {"x": Operand(kinds)}, compute, result_type, text, elementwise=True, **attributes)


_unary("exp", "e to the power x.", np.exp)
_unary("log", "Natural logarithm: NaN below zero, -inf at zero.", np.log)
_unary("log2", "Logarithm to the base 2: NaN below zero, -inf at zero.", np.log2)
_unary("log10", "Logarithm to the base 10: NaN below zero, -inf at zero.", np.log10)
_unary("log1p", "log(1 + x), exact near zero.", np.log1p)
_unary("expm1", "exp(x) - 1, exact near zero.", np.expm1)
_unary("sqrt", "Square root: NaN below zero.", np.sqrt)
_unary("rsqrt", "1 / sqrt(x).", lambda x: 1 / np.sqrt(x))
_unary("reciprocal", "1 / x.", lambda x: 1 / x)
_unary("sin", "Sine, in radians.", np.sin)
_unary("cos", "Cosine, in radians.", np.cos)
_unary("tan", "Tangent, in radians.", np.tan)
_unary("asin", "Inverse sine.", np.arcsin)
_unary("acos", "Inverse cosine.", np.arccos)
_unary("atan", "Inverse tangent.", np.arctan)
_unary("sinh", "Hyperbolic sine.", np.sinh)
_unary("cosh", "Hyperbolic cosine.", np.cosh)
_unary("tanh", "Hyperbolic tangent.", np.tanh)
_unary("asinh", "Inverse hyperbolic sine.", np.arcsinh)
_unary("acosh", "Inverse hyperbolic cosine.", np.arccosh)
_unary("atanh", "Inverse hyperbolic tangent.", np.arctanh)
_unary("erf", "Gauss's error function.", erf)
_unary("erfc", "1 - erf(x), exact where erf is near 1.", erfc)
_unary("erfinv", "The inverse of erf: inf at 1, -inf at -1, NaN beyond.", erfinv)
_unary("lgamma", "The logarithm of the gamma function's absolute value: inf at the poles 0, -1, ...", lgamma)

_unary("sigmoid", "1 / (1 + exp(-x)).", sigmoid)
_unary("relu", "max(x, 0); of -0.0 it is -0.0.", lambda x: np.where(x < 0, x.dtype.type(0), x), NUMBER)
_unary("silu", "x * sigmoid(x), also called swish.", lambda x: x * sigmoid(x))
_unary(
    "gelu",
    'x * Phi(x), Phi being the normal distribution: by erf, or by its tanh approximation (`approximate = "tanh"`).',
    _gelu,
    attributes_text='approximate = "tanh"',
    approximate=Str("none", ("none", "tanh")),
)
_unary(
    "leaky_relu",
    "x where it is at least 0, alpha * x below.",
    lambda x, alpha: np.where(x >= 0, x, x.dtype.type(alpha) * x),
    attributes_text="alpha = 0.1 : f64",
    alpha=Float(0.01),
)
_unary(
    "elu",
    "x above 0, alpha * (exp(x) - 1) below.",
    lambda x, alpha: np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(x)),
    attributes_text="alpha = 0.5 : f64",
    alpha=Float(1.0),
)
_unary(
    "selu",
    "gamma * x above 0, gamma * alpha * (exp(x) - 1) below.",
    lambda x, alpha, gamma: x.dtype.type(gamma) * np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(x)),
    attributes_text="gamma = 1.5 : f64",
    alpha=Float(1.67326319217681884765625),
    gamma=Float(1.05070102214813232421875),
)
_unary(
    "celu",
    "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
    lambda x, alpha: np.maximum(x, x.dtype.type(0)) + np.minimum(x.dtype.type(0), x.dtype.type(alpha) * np.expm1(x / x.dtype.type(alpha))),
    attributes_text="alpha = 2.0 : f64",
    alpha=Float(1.0),
)
_unary("softplus", "log(1 + exp(x)), without overflow.", softplus)
_unary("softsign", "x / (1 + |x|).", lambda x: x / (1 + np.abs(x)))
_unary(
    "hard_sigmoid",
    "alpha * x + beta, kept between 0 and 1.",
    lambda x, alpha, beta: np.clip(x.dtype.type(alpha) * x + x.dtype.type(beta), 0, 1),
    attributes_text="alpha = 0.25 : f64",
    alpha=Float(0.2),
    beta=Float(0.5),
)
_unary("hard_swish", "x * (x / 6 + 0.5, kept between 0 and 1).", lambda x: x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1))
_unary("mish", "x * tanh(log(1 + exp(x))).", lambda x: x * np.tanh(softplus(x)))
_unary(
    "thresholded_relu",
    "x above alpha, 0 elsewhere.",
    lambda x, alpha: np.where(x > x.dtype.type(alpha), x, x.dtype.type(0)),
    attributes_text="alpha = 0.5 : f64",
    alpha=Float(1.0),
)

_unary("abs", "Absolute value; the smallest signed integer stays as it is.", np.abs, NUMBER)
_unary("negative", "-x; integers wrap around.", np.negative, NUMBER)
_unary("sign", "-1, 0 or 1; NaN stays.", np.sign, NUMBER)
_unary("square", "x * x.", np.square, NUMBER)
_unary("ceil", "x rounded up.", np.ceil)
_unary("floor", "x rounded down.", np.floor)
_unary("round", "The nearest whole number; halves go to the even one.", np.rint)
_unary("trunc", "x rounded towards zero.", np.trunc)
_unary("isnan", "Whether x is not a number.", np.isnan, result=np.bool_)
_unary("isinf", "Whether x is infinite, of either sign.", np.isinf, result=np.bool_)
_unary("isfinite", "Whether x is neither infinite nor NaN.", np.isfinite, result=np.bool_)
_unary("logical_not", "Logical negation.", np.logical_not, BOOL)
_unary("bitwise_not", "All bits flipped.", np.bitwise_not, INTEGER)
