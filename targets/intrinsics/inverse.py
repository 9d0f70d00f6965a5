"""Powers, inverse trigonometric and hyperbolic functions of f32 and f64 by the functions that every target has, for targets without a
library.

Relative errors of some 1e-6 or less in f32, and of some 1e-15 in f64; special values as in C. The polynomials of atan and asin are Cephes'
in f32, and near to minimax in f64.
"""
from math import inf, log, nan, pi

from legato.core.mlir import arith, ir, math
from legato.targets.intrinsics.builder import OEQ, Builder

# by the width of a float: (asin t - t) / t^3 of t^2 for t <= 1/2, and (atan t - t) / t^3 of t^2 for t <= tan(pi/8)
ASIN = {32: (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1),
        64: (0.030744526924322196, -0.024063914377949608, 0.0225861124015735, 0.0003664940923274731, 0.008799140451914983,
             0.008135014193193648, 0.009792863988301035, 0.011549075679439491, 0.013965010669331847, 0.017352757444179825,
             0.02237215928067093, 0.030381944441346388, 0.04464285714288356, 0.07499999999999991, 0.16666666666666666)}
ATAN = {32: (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1),
        64: (-0.013908703447288225, 0.030626287828475894, -0.04104029750501821, 0.04719294405473837, -0.052580257920073425,
             0.05881923626133301, -0.06666641908302051, 0.07692306730961795, -0.09090909066866446, 0.11111111110752325,
             -0.14285714285711498, 0.19999999999999993, -0.3333333333333333)}
ATAN_LOW, ATAN_HIGH = 0.4142135623730950, 2.414213562373095   # tan(pi/8), tan(3 pi/8)
FAR = 1e9   # beyond it, x^2 + 1 is x^2
GREAT = 80.0   # beyond it, e^x is squared of e^(x/2), so that the half of what overflows does not


def power(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """e^(y ln |x|), with the sign and the special cases of C's pow; relative error 1e-5."""
    return with_special_cases(b, x, y, math.exp(b.mul(y, math.log(b.size(x)))))


def with_special_cases(b: Builder, x: ir.Value, y: ir.Value, value: ir.Value) -> ir.Value:
    """C's pow of x and y, where ``value`` is |x|^y of those that are neither 0, 1 nor infinite."""
    size, one, zero = b.size(x), b.number(1.0), b.number(0.0)
    value = b.select(b.compare(OEQ, size, one), one, value)   # also for y infinite
    value = b.select(b.compare(OEQ, y, one), size, value)     # e^(ln |x|) of the greatest numbers is infinite
    half = b.mul(y, b.number(0.5))
    whole, even = b.compare(OEQ, math.trunc(y), y), b.compare(OEQ, math.trunc(half), half)
    finite = arith.andi(b.less(size, b.number(inf)), b.less(zero, size))
    negative = b.less(b.number(0.0), b.keep_sign(one, x))   # false for -0, -1, ...
    signed = b.select(negative, value, b.select(even, value, b.select(whole, b.neg(value), b.select(finite, b.number(nan), value))))
    signed = b.select(b.compare(OEQ, x, x), b.select(b.compare(OEQ, y, y), signed, y), x)
    always = arith.ori(b.compare(OEQ, y, zero), b.compare(OEQ, x, one))
    return b.select(always, one, signed)


def tan(b: Builder, x: ir.Value) -> ir.Value:
    """The quotient of sine and cosine."""
    return b.div(math.sin(x), math.cos(x))


def asin(b: Builder, x: ir.Value) -> ir.Value:
    """A polynomial up to 1/2, pi/2 - 2 asin(sqrt((1 - x) / 2)) beyond."""
    size = b.size(x)
    half = math.sqrt(b.mul(b.sub(b.number(1.0), size), b.number(0.5)))
    near = b.less(size, b.number(0.5))
    s = _asin_near(b, b.select(near, size, half))
    return b.keep_sign(b.select(near, s, b.sub(b.number(pi / 2), b.add(s, s))), x)


def acos(b: Builder, x: ir.Value) -> ir.Value:
    """pi/2 - asin x up to 1/2; 2 asin(sqrt((1 - |x|) / 2)), or pi less that, beyond."""
    size = b.size(x)
    half = math.sqrt(b.mul(b.sub(b.number(1.0), size), b.number(0.5)))
    near = b.less(size, b.number(0.5))
    s = _asin_near(b, b.select(near, size, half))
    signed = b.keep_sign(s, x)
    twice = b.add(s, s)
    far = b.select(b.less(x, b.number(0.0)), b.sub(b.number(pi), twice), twice)
    return b.select(near, b.sub(b.number(pi / 2), signed), far)


def _asin_near(b: Builder, x: ir.Value) -> ir.Value:
    z = b.mul(x, x)
    return b.add(x, b.mul(b.mul(z, b.polynomial(z, ASIN[b.width])), x))


def atan(b: Builder, x: ir.Value) -> ir.Value:
    """A polynomial up to tan(pi/8), around pi/4 and pi/2 beyond."""
    size = b.size(x)
    far, middle = b.less(b.number(ATAN_HIGH), size), b.less(b.number(ATAN_LOW), size)
    one = b.number(1.0)
    top = b.select(far, b.number(-1.0), b.select(middle, b.sub(size, one), size))
    below = b.select(far, size, b.select(middle, b.add(size, one), one))
    r = b.select(b.less(size, b.number(inf)), b.div(top, below), b.select(b.less(b.number(1.0), size), b.number(0.0), size))
    start = b.select(far, b.number(pi / 2), b.select(middle, b.number(pi / 4), b.number(0.0)))
    z = b.mul(r, r)
    return b.keep_sign(b.add(start, b.add(r, b.mul(b.mul(b.polynomial(z, ATAN[b.width]), z), r))), x)


def sinh(b: Builder, x: ir.Value) -> ir.Value:
    """(e + e / (e + 1)) / 2 with e = e^x - 1."""
    size = b.size(x)
    e = math.expm1(b.at_most(size, GREAT))
    near = b.mul(b.add(e, b.div(e, b.add(e, b.number(1.0)))), b.number(0.5))
    return b.keep_sign(b.select(b.less(b.number(GREAT), size), _half_exp(b, size), near), x)


def cosh(b: Builder, x: ir.Value) -> ir.Value:
    """(e + 1 / e) / 2 with e = e^x."""
    size = b.size(x)
    e = math.exp(b.at_most(size, GREAT))
    near = b.mul(b.add(e, b.div(b.number(1.0), e)), b.number(0.5))
    return b.select(b.less(b.number(GREAT), size), _half_exp(b, size), near)


def _half_exp(b: Builder, x: ir.Value) -> ir.Value:
    """e^x / 2, finite where the half is."""
    root = math.exp(b.mul(x, b.number(0.5)))
    return b.mul(b.mul(root, b.number(0.5)), root)


def asinh(b: Builder, x: ir.Value) -> ir.Value:
    """log1p(x + x^2 / (1 + sqrt(x^2 + 1)))."""
    size = b.size(x)
    one = b.number(1.0)
    held = b.at_most(size, FAR)
    square = b.mul(held, held)
    near = math.log1p(b.add(held, b.div(square, b.add(one, math.sqrt(b.add(square, one))))))
    return b.keep_sign(b.select(b.less(b.number(FAR), size), b.add(math.log(size), b.number(log(2))), near), x)


def acosh(b: Builder, x: ir.Value) -> ir.Value:
    """log1p(t + sqrt(2 t + t^2)) with t = x - 1; NaN below 1."""
    one = b.number(1.0)
    t = b.sub(b.at_most(x, FAR), one)
    near = math.log1p(b.add(t, math.sqrt(b.add(b.add(t, t), b.mul(t, t)))))
    value = b.select(b.less(b.number(FAR), x), b.add(math.log(x), b.number(log(2))), near)
    return b.select(b.less(x, one), b.number(nan), value)


def atanh(b: Builder, x: ir.Value) -> ir.Value:
    """log1p(2 x / (1 - x)) / 2."""
    size = b.size(x)
    quotient = b.div(b.add(size, size), b.sub(b.number(1.0), size))
    return b.keep_sign(b.mul(math.log1p(quotient), b.number(0.5)), x)
