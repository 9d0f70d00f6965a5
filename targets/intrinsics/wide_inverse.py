"""Inverse trigonometric functions of f32 computed in f64 by polynomials, for devices that have vectors of f64: within 0.51 ulp.

Functions take the f32 element (``Lanes``) and the operand. The polynomials are weighted minimax (Lawson's iteration).
"""
from math import pi

from legato.core.mlir import arith, ir, math
from legato.targets.intrinsics.lanes import Lanes

# (atan t - t) / t^3 of t^2 for |t| <= 1: relative error of atan 2^-36.5
ATAN = (0.0004406857184022783, -0.0033264427795578477, 0.011778526681142987, -0.026547605565677382, 0.04417893909987483,
        -0.06056946056764371, 0.07510507034818395, -0.09053628426551498, 0.11106143229218104, -0.1428532086530603, 0.19999984220782116,
        -0.33333333111087465)
# (asin t - t) / t^3 of t^2 for |t| <= 1/2: relative error of asin 2^-39.9
ASIN = (0.03289643625923233, 0.0019933980946329477, 0.020640982271351846, 0.021866768844848065, 0.03042641135881391, 0.0446407141310275,
        0.07500004965284923, 0.16666666627480092)


def atan(e: Lanes, x: ir.Value) -> ir.Value:
    """The inverse tangent of |x|, or beyond 1 pi/2 less that of 1 / |x|."""
    w = e.over(ir.F64Type.get())
    size, one = math.absf(arith.extf(w.type, x)), w.const(1)
    far = w.compare("gt", size, one)
    near = _odd(w, arith.divf(arith.select(far, one, size), arith.select(far, size, one)), ATAN)
    value = arith.select(far, arith.subf(w.const(pi / 2), near), near)
    return math.copysign(arith.truncf(e.type, value), x)


def asin(e: Lanes, x: ir.Value) -> ir.Value:
    """The inverse sine of |x|, or beyond 1/2 pi/2 less twice that of sqrt((1 - |x|) / 2); NaN beyond 1."""
    w, far, part = _sine_part(e, x)
    value = arith.select(far, arith.subf(w.const(pi / 2), arith.addf(part, part)), part)
    return math.copysign(arith.truncf(e.type, value), x)


def acos(e: Lanes, x: ir.Value) -> ir.Value:
    """pi/2 less the inverse sine of x, or beyond 1/2 twice that of sqrt((1 - |x|) / 2), of negative x pi less that; NaN beyond 1."""
    w, far, part = _sine_part(e, x)
    negative, twice = e.compare("lt", x, e.const(0)), arith.addf(part, part)
    outside = arith.select(negative, arith.subf(w.const(pi), twice), twice)
    inside = arith.subf(w.const(pi / 2), arith.select(negative, arith.negf(part), part))
    return arith.truncf(e.type, arith.select(far, outside, inside))


def _sine_part(e: Lanes, x: ir.Value) -> tuple[Lanes, ir.Value, ir.Value]:
    """The f64 element, whether |x| > 1/2, and the inverse sine of |x|, or of sqrt((1 - |x|) / 2) there."""
    w = e.over(ir.F64Type.get())
    size = math.absf(arith.extf(w.type, x))
    far = w.compare("gt", size, w.const(0.5))
    half = math.sqrt(arith.mulf(arith.subf(w.const(1), size), w.const(0.5)))
    return w, far, _odd(w, arith.select(far, half, size), ASIN)


def _odd(w: Lanes, t: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    """t + t^3 p(t^2)."""
    square = arith.mulf(t, t)
    return w.fma(arith.mulf(t, square), w.polynomial(square, coefficients), t)


MATH = (asin, acos, atan)
