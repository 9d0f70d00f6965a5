"""Elementary functions of f32 as polynomials, on scalars and vectors of any rank.

Errors are maxima over every float in the range, in units in the last place of the exact result, denormals included. Infinities and NaNs
give the results of IEEE 754. The coefficients of tanh and erf are weighted minimax fits (Lawson's iteration on 1,500 Chebyshev nodes),
rounded to f32 one by one from the lowest power on, the others fitted again each time.
"""
from collections.abc import Callable

from legato.core.mlir import arith, ir
from legato.targets.intrinsics.builder import OEQ, Builder

Scale = Callable[[ir.Value, ir.Value], ir.Value]

LOG2_E, LN2 = 1.4426950408889634, 0.6931471805599453
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6
MAGIC = 12582912.0  # 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits
MAGIC_BITS = 0x4B400000
LEAST_NORMAL = -87.33654  # the logarithm of 2^-126
# e^r = 1 + r + r^2 q(r) for |r| <= ln(2)/2, by weighted least squares with coefficients rounded one by one: relative error 2^-28
EXP_Q = (0.0013819815358147025, 0.008368685841560364, 0.041668277233839035, 0.1666652113199234, 0.4999999403953552)
# e^r = 1 + r p(r) likewise: relative error 2^-23.4
WEIGHT_P = (0.008289217948913574, 0.041898176074028015, 0.16667653620243073, 0.4999914765357971, 0.9999997019767761)


def reduce_exponent(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x = n ln 2 + r. Returns n + MAGIC, whose low bits are the integer n, and r, |r| <= ln(2)/2."""
    shifted = b.fma(x, b.number(LOG2_E), b.number(MAGIC))
    n = b.sub(shifted, b.number(MAGIC))
    return shifted, b.fma(n, b.number(-LN2_LOW), b.fma(n, b.number(-LN2_HIGH), x))


def integer(b: Builder, shifted: ir.Value) -> ir.Value:
    """n from n + MAGIC."""
    return b.isub(b.bits(shifted), b.integer(MAGIC_BITS))


def exp(b: Builder, x: ir.Value, scale: Scale | None = None) -> ir.Value:
    """e^x, 0.9 ulp. ``scale(y, n)``: y * 2^n for whole numbers n as floats, rounded once over the whole range, if the device has it.

    Results that round to 0 are 0 before they are scaled: products that underflow take 25 times as long on many CPUs, and masks of softmax
    make exponentials of -10000 and -inf.
    """
    zero = b.less(x, b.number(-104.0))
    x = b.at_most(x if scale is not None else b.at_least(x, -104.0), 89.0)
    shifted, r = reduce_exponent(b, x)
    y = b.select(zero, b.number(0.0), b.polynomial(r, (*EXP_Q, 1.0, 1.0)))
    if scale is not None:
        return scale(y, b.sub(shifted, b.number(MAGIC)))
    n = integer(b, shifted)
    half = b.sar(n, 1)
    return b.mul(b.mul(y, b.power(half)), b.power(b.isub(n, half)))


def weight(b: Builder, x: ir.Value, scale: Scale | None = None) -> ir.Value:
    """e^x of no positive x, as softmaxes take it: 1.9 ulp near 0, and 1 more for each -25, since the multiple of ln 2 is not corrected.
    Denormal results, which masks of -100 make, are 0. ``scale``: as for ``exp``."""
    zero = b.less(x, b.number(LEAST_NORMAL))
    x = x if scale is not None else b.at_least(x, LEAST_NORMAL)
    shifted = b.fma(x, b.number(LOG2_E), b.number(MAGIC))
    n = b.sub(shifted, b.number(MAGIC))
    y = b.select(zero, b.number(0.0), b.polynomial(b.fma(n, b.number(-LN2), x), (*WEIGHT_P, 1.0)))
    return scale(y, n) if scale is not None else b.mul(y, b.power(b.bits(shifted)))


def expm1(b: Builder, x: ir.Value) -> ir.Value:
    """e^x - 1, 1.5 ulp."""
    x = b.at_most(b.at_least(x, -30.0), 89.0)
    shifted, r = reduce_exponent(b, x)
    p = b.fma(b.mul(r, r), b.polynomial(r, EXP_Q), r)
    half_scale = b.from_bits(b.shl(b.iadd(b.bits(shifted), b.integer(126)), 23))  # 2^(n-1), since 2^128 is not an f32
    y = b.fma(half_scale, p, b.sub(half_scale, b.number(0.5)))
    return b.keep_sign(b.add(y, y), x)


# tanh x = x + x^3 p(x^2) for |x| <= 1: relative error 2^-27.7
TANH_SPLIT, TANH_BOUND = 1.0, 9.1
TANH = (-0.0003585958620533347, 0.0023018845822662115, -0.007946845144033432, 0.021487176418304443, -0.0538799874484539,
        0.13332347571849823, -0.33333295583724976)
# e^2r = 1 + 2r + r^2 q(r) for |r| <= ln(2)/4: relative error 2^-28.2
EXP2_Q = (0.08923011273145676, 0.2677977383136749, 0.6666621565818787, 1.3333216905593872, 2.0)


def tanh(b: Builder, x: ir.Value) -> ir.Value:
    """A polynomial near 0, and 1 - 2 / (e^2x + 1) elsewhere, 0.95 ulp."""
    size = b.at_most(b.size(x), TANH_BOUND)
    shifted = b.fma(size, b.number(2 * LOG2_E), b.number(MAGIC))
    n = b.sub(shifted, b.number(MAGIC))
    r = b.fma(n, b.number(-0.5 * LN2), size)  # the error of ln 2 grows with n, but its weight falls with e^-2x
    p = b.fma(b.mul(r, r), b.polynomial(r, EXP2_Q), b.add(r, r))
    scale = b.power(b.bits(shifted))
    far = b.sub(b.number(1.0), b.div(b.number(2.0), b.fma(scale, p, b.add(scale, b.number(1.0)))))
    s = b.mul(size, size)
    near = b.fma(b.mul(s, b.polynomial(s, TANH)), size, size)
    return b.keep_sign(b.select(b.less(size, b.number(TANH_SPLIT)), near, far), x)


# erf x = x + x p(x^2 - 3/8) for |x| <= 9/8: relative error 2^-27.2
ERF_SPLIT, ERF_BOUND, ERF_CENTRE, ERF_MIDDLE = 1.125, 3.9375, 0.375, 1.5
ERF = (7.016889867372811e-05, -0.000616842124145478, 0.00385282258503139, -0.02011645957827568, 0.08660387992858887,
       -0.30180954933166504, 0.00188012036960572)
# erfc x = q(x - 3/2)^2 for 9/8 <= x <= 63/16: absolute error 2^-26.3, less at the end, where erf is 1
ERFC_ROOT = (-5.830279042129405e-05, 0.0006318490486592054, -0.0023759177420288324, 0.0016792027745395899, 0.012696237303316593,
             -0.0307562667876482, -0.02391831949353218, 0.2011636644601822, -0.322994589805603, 0.1841055303812027)


def erf(b: Builder, x: ir.Value) -> ir.Value:
    """A polynomial near 0, and 1 - erfc x by erfc's square root, 0.9 ulp."""
    size = b.at_most(b.size(x), ERF_BOUND)
    root = b.polynomial(b.sub(size, b.number(ERF_MIDDLE)), ERFC_ROOT)
    far = b.fma(b.neg(root), root, b.number(1.0))
    near = b.fma(b.polynomial(b.fma(x, x, b.number(-ERF_CENTRE)), ERF), size, size)
    return b.keep_sign(b.select(b.less(size, b.number(ERF_SPLIT)), near, far), x)


# P(X > y) = q(y)^2 of a standard normal variable X for 0 <= y <= 11/2: absolute error 2^-25.8
GELU_BOUND = 5.5
NORMAL_ROOT = (2.180331648560241e-08, -6.729381425429892e-07, 8.499824616592377e-06, -5.4072312195785344e-05, 0.0001592695916770026,
               -4.982505924999714e-05, -0.0004487386322580278, -0.002199900336563587, 0.0075872973538935184, 0.02457573264837265,
               -0.05627473071217537, -0.28209415078163147, 0.7071067690849304)


def gelu(b: Builder, x: ir.Value) -> ir.Value:
    """x P(X <= x) of a standard normal variable X, P(X <= x) being 1/2 and, with the sign of x, 1/2 - P(X > |x|). 1.9 units in the last
    place of x."""
    root = b.polynomial(b.at_most(b.size(x), GELU_BOUND), NORMAL_ROOT)
    share = b.keep_sign(b.fma(b.neg(root), root, b.number(0.5)), x)
    return b.mul(x, b.add(share, b.number(0.5)))


LOG_P = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
         -2.4999993993e-1, 3.3333331174e-1)


def log(b: Builder, x: ir.Value) -> ir.Value:
    """ln x, 0.85 ulp (the polynomial is Cephes'). -inf at 0, NaN below."""
    tiny = b.less(x, b.number(2.0 ** -126))
    scaled = b.select(tiny, b.mul(x, b.number(2.0 ** 23)), x)
    bits = b.isub(b.bits(scaled), b.integer(0x3F3504F3))  # the bits of sqrt(1/2): makes the mantissa one in [sqrt(1/2), sqrt(2))
    e = b.to_float(b.sar(bits, 23))
    e = b.select(tiny, b.sub(e, b.number(23.0)), e)
    m = b.sub(b.from_bits(b.iadd(b.iand(bits, 0x007FFFFF), b.integer(0x3F3504F3))), b.number(1.0))
    square = b.mul(m, m)
    y = b.mul(b.mul(b.polynomial(m, LOG_P), square), m)
    y = b.fma(e, b.number(-2.12194440e-4), y)
    y = b.fma(square, b.number(-0.5), y)
    y = b.fma(e, b.number(0.693359375), b.add(m, y))
    finite = b.less(x, b.number(float("inf")))
    y = b.select(finite, y, x)  # inf and NaN stay
    y = b.select(b.compare(OEQ, x, b.number(0.0)), b.number(float("-inf")), y)
    return b.select(b.less(x, b.number(0.0)), b.number(float("nan")), y)


def log1p(b: Builder, x: ir.Value) -> ir.Value:
    """ln(1 + x), 1.7 ulp: the logarithm of the rounded sum, plus a correction for the rounding."""
    one = b.number(1.0)
    u = b.add(x, one)
    lost = b.div(b.sub(x, b.sub(u, one)), u)
    usable = arith.AndIOp(b.less(b.number(0.0), u), b.less(u, b.number(float("inf")))).result
    y = b.add(log(b, u), b.select(usable, lost, b.number(0.0)))
    return b.select(b.compare(OEQ, x, b.number(0.0)), x, y)  # keeps -0
