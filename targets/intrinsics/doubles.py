"""Elementary functions of f64 on scalars, by arithmetic alone, for devices whose instructions have none: errors of a few units in the last
place, and C's special values.

Nothing relies on a multiply-add that rounds once. The polynomials are near to minimax (Chebyshev's interpolation).
"""
from collections.abc import Callable
from math import inf, nan, pi
from typing import Any

from legato.core.mlir import ir, math
from legato.core.user_code import source_of
from legato.targets.intrinsics import inverse
from legato.targets.intrinsics.builder import OEQ, UNO, Builder
from legato.targets.intrinsics.double_sines import MAGIC, MAGIC_BITS, cos, sin
from legato.targets.intrinsics.pairs import Pair, times_pair, two_product, two_sum
from legato.targets.rule import Rule

LOG2_E, LN2, LN2_REST = 1.4426950408889634, 0.6931471805599453, 2.3190468138462996e-17
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10    # the first of 32 bits
LOG2_E_PAIR = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E_PAIR = (0.4342944819032518, 1.098319650216765e-17)
MOST, LEAST = 710.0, -746.0     # from which on e^x is infinite, and 0
SQRT_HALF = 0x3FE6A09E667F3BCD  # its bits
DENORMAL, LIFT = 2.0 ** -1022, 54
FAR_EXPONENT = 2.0 ** 70        # for which a power of any number but 1 is infinite or 0
# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; (2 atanh s - 2 s) / s^3 of s^2 for |s| <= (sqrt(2) - 1)^2
EXP = (2.09147553258932e-09, 2.5105312729622103e-08, 2.755727347871858e-07, 2.755725517000089e-06, 2.480158732567746e-05,
       0.0001984126987500228, 0.0013888888888883711, 0.008333333333326084, 0.04166666666666667, 0.1666666666666667, 0.5)
LOG = (0.13094416666525344, 0.1326802614042874, 0.15386267672882226, 0.18181795124476754, 0.22222222396552982, 0.2857142857078221,
       0.4000000000000091, 0.6666666666666666)
# erf x / x - 1 of x^2 for x <= 1
ERF = (-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06, -1.492473690741966e-05,
       0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225, -0.02686617064323777, 0.11283791670945006,
       -0.37612638903183543, 0.12837916709551256)
# (1 + 2 t) e^(t^2) erfc t of (t - 3) / (t + 3) for 0.49 <= t <= 27.5
ERFC = (-5.2819701668792644e-11, -3.224622062197975e-10, 3.775832128499114e-10, 2.6748419746263762e-09, -5.7644893745562334e-11,
        -1.3017887296151059e-08, -1.1755989018444054e-08, 4.8573528302227964e-08, 1.0043724311114312e-07, -1.481956420555338e-07,
        -6.158306542064512e-07, 3.611846926492983e-07, 3.472134317420878e-06, -7.334667259214861e-07, -2.0100523847030313e-05,
        4.950080341839743e-06, 0.00012509935679703323, -0.00010515991871260969, -0.000779832275556827, 0.0018886903738857812,
        0.002529391816718496, -0.023770514919670624, 0.06830802734392245, -0.11927366341527385, 0.12964515870276264,
        -0.04756229435345119, -0.1356211061245812, 1.2530080582697296)
ERFC_LEAST, ERFC_MOST, ERFC_MIDDLE = 0.5, 27.5, 3.0


# --- exponentials and logarithms ---

def exp(b: Builder, x: ir.Value, rest: ir.Value | None = None) -> ir.Value:
    """e^x; e^(x + rest) for a pair."""
    held = b.at_least(b.at_most(x, MOST), LEAST)
    shifted = b.add(b.mul(held, b.number(LOG2_E)), b.number(MAGIC))
    n = b.sub(shifted, b.number(MAGIC))
    low = b.mul(n, b.number(-LN2_LOW))
    if rest is not None:    # that of a number beyond the bounds may be great
        low = b.add(low, b.select(b.compare(OEQ, held, x), rest, b.number(0.0)))
    r, low = two_sum(b, b.sub(held, b.mul(n, b.number(LN2_HIGH))), low)
    value = b.add(b.number(1.0), b.add(r, b.add(b.mul(b.mul(r, r), b.polynomial(r, EXP)), low)))
    exponent = b.isub(b.bits(shifted), b.integer(MAGIC_BITS))
    half = b.sar(exponent, 1)   # twice, so that only the second product rounds to a denormal number, or overflows
    return b.mul(b.mul(value, b.power(half)), b.power(b.isub(exponent, half)))


def expm1(b: Builder, x: ir.Value) -> ir.Value:
    """(u - 1) x / log u with u = e^x rounded (Kahan's)."""
    u, one = exp(b, x), b.number(1.0)
    less = b.sub(u, one)
    value = b.mul(less, b.div(x, log(b, u)))
    value = b.select(b.compare(OEQ, less, b.number(-1.0)), less, b.select(b.compare(OEQ, u, b.number(inf)), u, value))
    return b.select(b.compare(OEQ, u, one), x, value)


def exp2(b: Builder, x: ir.Value) -> ir.Value:
    """2^x."""
    held = b.at_least(b.at_most(x, 1100.0), -1100.0)
    product, rest = two_product(b, held, b.number(LN2))
    return exp(b, product, b.add(rest, b.mul(held, b.number(LN2_REST))))


def exponent_and_rest(b: Builder, x: ir.Value) -> Pair:
    """n and m - 1 with x = 2^n m, sqrt(1/2) <= m < sqrt(2), for positive finite x."""
    small = b.less(x, b.number(DENORMAL))
    bits = b.bits(b.select(small, b.mul(x, b.number(2.0 ** LIFT)), x))
    exponent = b.sar(b.isub(bits, b.integer(SQRT_HALF)), 52)
    n = b.sub(b.from_bits(b.iadd(exponent, b.integer(MAGIC_BITS))), b.number(MAGIC))
    m = b.from_bits(b.isub(bits, b.shl(exponent, 52)))
    return b.select(small, b.sub(n, b.number(LIFT)), n), b.sub(m, b.number(1.0))


def of_logarithm(b: Builder, x: ir.Value, value: ir.Value) -> ir.Value:
    """A logarithm's ``value`` of positive finite x, and its values of others."""
    value = b.select(b.less(x, b.number(inf)), value, x)     # infinity and NaN stay
    value = b.select(b.compare(OEQ, x, b.number(0.0)), b.number(-inf), value)
    return b.select(b.less(x, b.number(0.0)), b.number(nan), value)


def log(b: Builder, x: ir.Value) -> ir.Value:
    """n log 2 + f - (f^2 / 2 - s (f^2 / 2 + ...)) with x = 2^n (1 + f), s = f / (2 + f)."""
    n, f = exponent_and_rest(b, x)
    s = b.div(f, b.add(f, b.number(2.0)))
    square = b.mul(s, s)
    half = b.mul(b.mul(f, f), b.number(0.5))
    more = b.mul(s, b.add(half, b.mul(square, b.polynomial(square, LOG))))
    low = b.sub(b.sub(half, b.add(more, b.mul(n, b.number(LN2_LOW)))), f)
    return of_logarithm(b, x, b.sub(b.mul(n, b.number(LN2_HIGH)), low))


def log_pair(b: Builder, x: ir.Value) -> Pair:
    """log x of positive finite x, and what it lacks: relative error 2^-58."""
    n, f = exponent_and_rest(b, x)
    two = b.number(2.0)
    below = b.add(f, two)
    below_low = b.sub(f, b.sub(below, two))
    s = b.div(f, below)
    product, rest = two_product(b, s, below)
    s_low = b.div(b.sub(b.sub(b.sub(f, product), rest), b.mul(s, below_low)), below)
    square = b.mul(s, s)
    low = b.add(b.add(s_low, s_low), b.mul(b.mul(s, square), b.polynomial(square, LOG)))
    high, rest = two_sum(b, b.mul(n, b.number(LN2_HIGH)), b.add(s, s))
    return two_sum(b, high, b.add(rest, b.add(low, b.mul(n, b.number(LN2_LOW)))))


def log2(b: Builder, x: ir.Value) -> ir.Value:
    """The logarithm to base 2."""
    return of_logarithm(b, x, b.add(*times_pair(b, log_pair(b, x), LOG2_E_PAIR)))


def log10(b: Builder, x: ir.Value) -> ir.Value:
    """The logarithm to base 10."""
    return of_logarithm(b, x, b.add(*times_pair(b, log_pair(b, x), LOG10_E_PAIR)))


def log1p(b: Builder, x: ir.Value) -> ir.Value:
    """log u x / (u - 1) with u = 1 + x rounded (Kahan's)."""
    u, one = b.add(x, b.number(1.0)), b.number(1.0)
    value = b.mul(log(b, u), b.div(x, b.sub(u, one)))
    return b.select(b.compare(OEQ, u, one), x, b.select(b.compare(OEQ, u, b.number(inf)), u, value))


def powf(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """e^(y log |x|), with C's special cases; relative error 2e-15."""
    high, low = log_pair(b, b.size(x))
    held = b.at_least(b.at_most(y, FAR_EXPONENT), -FAR_EXPONENT)
    product, rest = two_product(b, held, high)
    value = exp(b, product, b.add(rest, b.mul(held, low)))
    size, zero, infinite = b.size(x), b.number(0.0), b.number(inf)
    up = b.less(zero, y)    # of 0 and infinity there is no logarithm
    value = b.select(b.compare(OEQ, size, zero), b.select(up, zero, infinite), value)
    value = b.select(b.compare(OEQ, size, infinite), b.select(up, infinite, zero), value)
    return inverse.with_special_cases(b, x, y, value)


def tanh(b: Builder, x: ir.Value) -> ir.Value:
    """e / (e + 2) with e = e^2|x| - 1."""
    size = b.size(x)
    e = expm1(b, b.at_most(b.add(size, size), 40.0))
    return b.keep_sign(b.div(e, b.add(e, b.number(2.0))), x)


# --- the error function ---

def erfc_of_size(b: Builder, size: ir.Value) -> ir.Value:
    """erfc of a number that is at least 1/2."""
    t = b.at_most(b.at_least(size, ERFC_LEAST), ERFC_MOST)
    u = b.div(b.sub(t, b.number(ERFC_MIDDLE)), b.add(t, b.number(ERFC_MIDDLE)))
    square, rest = two_product(b, t, t)
    return b.mul(exp(b, b.neg(square), b.neg(rest)), b.div(b.polynomial(u, ERFC), b.add(b.add(t, t), b.number(1.0))))


def erf(b: Builder, x: ir.Value) -> ir.Value:
    """A polynomial up to 1, 1 - erfc beyond."""
    size, one = b.size(x), b.number(1.0)
    held = b.at_most(x, 1.0)
    near = b.add(x, b.mul(x, b.polynomial(b.mul(held, held), ERF)))
    far = b.keep_sign(b.sub(one, erfc_of_size(b, size)), x)
    return b.select(b.less(one, size), far, near)


def erfc(b: Builder, x: ir.Value) -> ir.Value:
    """1 - erf x up to 1/2; 2 - erfc |x| of negative x."""
    size, one = b.size(x), b.number(1.0)
    far = erfc_of_size(b, size)
    far = b.select(b.less(x, b.number(0.0)), b.sub(b.number(2.0), far), far)
    near = b.sub(one, b.add(x, b.mul(x, b.polynomial(b.mul(x, x), ERF))))
    return b.select(b.compare(UNO, x, x), x, b.select(b.less(size, b.number(ERFC_LEAST)), near, far))


def atan2(b: Builder, y: ir.Value, x: ir.Value) -> ir.Value:
    """The angle of (x, y), from the quotient of the smaller and the greater size."""
    height, width = b.size(y), b.size(x)
    steep = b.less(width, height)
    top, below = b.select(steep, width, height), b.select(steep, height, width)
    quotient = b.select(b.compare(OEQ, top, below), b.number(1.0), b.div(top, below))
    angle = inverse.atan(b, b.select(b.compare(OEQ, top, b.number(0.0)), top, quotient))
    angle = b.select(steep, b.sub(b.number(pi / 2), angle), angle)
    angle = b.keep_sign(b.select(b.negative(x), b.sub(b.number(2 * pi / 2), angle), angle), y)
    return b.select(b.compare(UNO, x, y), b.add(x, y), angle)


def rsqrt(b: Builder, x: ir.Value) -> ir.Value:
    """1 / sqrt(x)."""
    return b.div(b.number(1.0), math.sqrt(x))


def rule(function: Callable[..., ir.Value]) -> Rule:
    """The rule for f64 of the op of the function's name: ``function(builder, *operands)`` of each element."""
    def each(op: Any, *operands: ir.Value) -> ir.Value:
        return op.each(lambda *scalars: function(Builder(scalars[0].type), *scalars))

    return Rule(f"math.{function.__name__}", "intrinsic", each, function.__name__, source_of(function), priority=1, moment="lower",
                dtypes=("f64",))


RULES = tuple(map(rule, (
    exp, exp2, expm1, log, log2, log10, log1p, powf, tanh, erf, erfc, sin, cos, atan2, rsqrt, inverse.tan, inverse.asin, inverse.acos,
    inverse.atan, inverse.sinh, inverse.cosh, inverse.asinh, inverse.acosh, inverse.atanh)))
