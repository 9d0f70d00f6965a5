"""Elementwise ops of one operand, except activations."""
from legato.core.erfinv import PIECES
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.intrinsics import build as tir
from legato.targets.builders.element import Element, boolean
from legato.targets.builders.pointwise import pointwise
from legato.targets.builders.structured import elementwise
from legato.targets.rule import kernel

# float functions that are ops of math
_MATH = {
    "relax.exp": math.exp, "relax.log": math.log, "relax.sqrt": math.sqrt,
    "relax.sin": math.sin, "relax.cos": math.cos, "relax.tan": math.tan,
    "relax.asin": math.asin, "relax.acos": math.acos, "relax.atan": math.atan, "relax.sinh": math.sinh, "relax.cosh": math.cosh,
    "relax.tanh": math.tanh, "relax.asinh": math.asinh, "relax.acosh": math.acosh, "relax.atanh": math.atanh, "relax.erf": math.erf,
    "relax.log1p": math.log1p, "relax.expm1": math.expm1, "relax.erfc": math.erfc, "relax.log2": math.log2,
    "relax.log10": math.log10,
}  # fmt: skip


@kernel(*_MATH)
def math_function(k, x, out):
    """The op of math."""
    function = _MATH[k.name]
    return pointwise(k, out, [x], lambda e, x: function(x))


@kernel("relax.lgamma")
def lgamma(k, x, out):
    """The intrinsic op."""
    return pointwise(k, out, [x], lambda e, x: tir("lgamma", x))


@kernel("relax.erfinv")
def erfinv(k, x, out):
    """x times a polynomial."""
    return pointwise(k, out, [x], _erfinv)


def _erfinv(e: Element, x: ir.Value) -> ir.Value:
    one = e.const(1)
    w = e.neg(math.log(e.mul(e.sub(one, x), e.add(one, x))))
    root = math.sqrt(w)
    slopes = []
    for piece in PIECES[e.bits]:
        at, slope = e.sub(root if piece.of_root else w, e.const(piece.center)), e.const(piece.powers[0])
        for power in piece.powers[1:]:
            slope = e.add(e.mul(slope, at), e.const(power))
        slopes.append(slope)
    slope = slopes.pop()
    for piece in reversed(PIECES[e.bits][:-1]):
        slope = arith.select(e.compare("gt", w, e.const(piece.end)), slope, slopes.pop())
    slope = arith.select(e.compare("eq", e.abs(x), one), e.const(float("inf")), slope)
    return e.mul(x, slope)


@kernel("relax.rsqrt")
def rsqrt(k, x, out):
    """1 / sqrt(x)."""
    return pointwise(k, out, [x], lambda e, x: arith.divf(e.const(1), math.sqrt(x)))


@kernel("relax.reciprocal")
def reciprocal(k, x, out):
    """1 / x."""
    return pointwise(k, out, [x], lambda e, x: e.div(e.const(1), x))


@kernel("relax.abs")
def absolute(k, x, out):
    """|x|."""
    return pointwise(k, out, [x], lambda e, x: e.abs(x))


@kernel("relax.negative")
def negative(k, x, out):
    """-x."""
    return pointwise(k, out, [x], lambda e, x: e.neg(x))


@kernel("relax.square")
def square(k, x, out):
    """x * x."""
    return pointwise(k, out, [x], lambda e, x: e.mul(x, x))


def _sign(e: Element, x: ir.Value) -> ir.Value:
    zero = e.const(0)
    sign = arith.select(e.compare("gt", x, zero), e.const(1), zero)
    if not e.is_unsigned:
        sign = arith.select(e.compare("lt", x, zero), e.const(-1), sign)
    return arith.select(e.is_nan(x), x, sign) if e.is_float else sign


@kernel("relax.sign")
def sign(k, x, out):
    """-1, 0 or 1; NaN stays."""
    return pointwise(k, out, [x], _sign)


# no-ops on integers
_ROUNDING = {"relax.ceil": math.ceil, "relax.floor": math.floor, "relax.round": math.roundeven, "relax.trunc": math.trunc}


@kernel(*_ROUNDING)
def rounding(k, x, out):
    """Rounding to whole numbers."""
    function = _ROUNDING[k.name]
    return pointwise(k, out, [x], lambda e, x: function(x) if e.is_float else x)


@kernel("relax.isnan")
def isnan(k, x, out):
    """Whether x is NaN."""
    return pointwise(k, out, [x], lambda e, x: e.is_nan(x))


def _beside_infinity(predicate: str, e: Element, x: ir.Value) -> ir.Value:
    return e.compare(predicate, math.absf(x), e.const(float("inf")))


@kernel("relax.isinf")
def isinf(k, x, out):
    """Whether x is infinite."""
    return pointwise(k, out, [x], lambda e, x: _beside_infinity("eq", e, x) if e.is_float else boolean().const(False))


@kernel("relax.isfinite")
def isfinite(k, x, out):
    """Whether x is neither infinite nor NaN."""
    return pointwise(k, out, [x], lambda e, x: _beside_infinity("lt", e, x) if e.is_float else boolean().const(True))


@kernel("relax.logical_not", "relax.bitwise_not")
def invert(k, x, out):
    """All bits flipped."""
    return pointwise(k, out, [x], lambda e, x: arith.xori(x, e.const(-1)))


@kernel("relax.astype")
def astype(k, x, out):
    """Conversion to another element type."""
    to = Element(k.output_types[0].element_type)
    return pointwise(k, out, [x], lambda e, x: e.widened(x, to), contract=k.attrs["contract"])


@kernel("relax.bitcast")
def bitcast(k, x, out):
    """The same bits."""
    return elementwise(out, [x], lambda x: arith.bitcast(out.type.element_type, x))


RULES = (*math_function, erfinv, lgamma, rsqrt, reciprocal, absolute, negative, square, sign, *rounding, isnan, isinf, isfinite, *invert,
         astype, bitcast)
