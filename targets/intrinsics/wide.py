"""Functions of f32 computed in f64 by polynomials, for devices that have vectors of f64: within 0.51 ulp.

Functions take the f32 element (``Lanes``) and the operand. The polynomials are weighted minimax (Lawson's iteration).
"""
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.intrinsics import build as tir
from legato.targets.intrinsics.lanes import Lanes

LN2, LOG2_E, LOG10_2, LOG10_E = 0.6931471805599453, 1.4426950408889634, 0.3010299956639812, 0.4342944819032518
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, held in the low bits
SQRT_HALF = 0x3FE6A09E667F3BCD  # its bits
# (e^r - 1 - r) / r^2 for |r| <= ln(2)/2: relative error of e^r 2^-39.6
EXP = (2.488761660816925e-05, 0.00019909246498178942, 0.0013888796411740555, 0.008333281266655326, 0.04166666705426695, 0.1666666678664327,
       0.49999999999519434)
# (2 atanh s - 2 s) / s^3 of s^2 for |s| <= tan(pi/8)^2: relative error of atanh 2^-37.6
LOG = (0.2358356907506631, 0.2853723829748023, 0.400003362200016, 0.6666666564128866)
# (1 + 2 t) e^(t^2) erfc t of (t - 3) / (t + 3) for 0 <= t <= 10.3: relative error 2^-34.7
ERFC = (3.2962446235331334e-05, 0.00012627961143375747, -0.00012709100203670505, -0.0007898917745999597, 0.001894551933819105,
        0.002533591439305688, -0.0237711169157319, 0.0683073480383916, -0.11927364734613188, 0.12964520295475507, -0.04756229409155241,
        -0.13562110694109253, 1.2530080582675085)
ERFC_BOUND, ERFC_MIDDLE = 10.3, 3.0


def _widen(e: Lanes, x: ir.Value) -> tuple[Lanes, ir.Value]:
    """The f64 element of the same shape, and x as f64."""
    w = e.over(ir.F64Type.get())
    return w, arith.extf(w.type, x)


def _narrow(e: Lanes, x: ir.Value) -> ir.Value:
    return arith.truncf(e.type, x)


def _exp_parts(w: Lanes, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """2^n and p with e^x = 2^n (1 + p), for |x| < 700."""
    shifted = w.fma(x, w.const(LOG2_E), w.const(MAGIC))
    r = w.fma(arith.subf(shifted, w.const(MAGIC)), w.const(-LN2), x)
    p = w.fma(arith.mulf(r, r), w.polynomial(r, EXP), r)
    exponent = arith.shli(w.to_bits(shifted), w.ints.const(52))
    return w.from_bits(arith.addi(exponent, w.ints.const(1023 << 52))), p


def _exp(w: Lanes, x: ir.Value) -> ir.Value:
    scale, p = _exp_parts(w, x)
    return w.fma(scale, p, scale)


def _log_parts(w: Lanes, y: ir.Value, less_one: ir.Value | None = None) -> tuple[ir.Value, ir.Value]:
    """e and log m with y = 2^e m, sqrt(1/2) <= m < sqrt(2), for normal y. ``less_one``: y - 1, where y itself is rounded."""
    ints = w.ints
    lifted = arith.shrui(arith.addi(w.to_bits(y), ints.const((1024 << 52) - SQRT_HALF)), ints.const(52))  # e + 1024
    back = w.from_bits(arith.shli(arith.subi(ints.const(2047), lifted), ints.const(52)))  # 2^-e
    exponent = arith.subf(w.from_bits(arith.ori(lifted, ints.const(0x433 << 52))), w.const(2.0 ** 52 + 1024))
    one = w.const(1)
    f = w.fma(y, back, w.const(-1)) if less_one is None else w.fma(less_one, back, arith.subf(back, one))
    s = arith.divf(f, arith.addf(f, w.const(2)))
    square = arith.mulf(s, s)
    return exponent, w.fma(arith.mulf(s, square), w.polynomial(square, LOG), arith.addf(s, s))


def _log1p(w: Lanes, u: ir.Value) -> ir.Value:
    """log(1 + u) for finite u >= 0."""
    exponent, log_m = _log_parts(w, arith.addf(u, w.const(1)), u)
    return w.fma(exponent, w.const(LN2), log_m)


def _logarithm(e: Lanes, x: ir.Value, of_two: float, of_e: float) -> ir.Value:
    w, wide = _widen(e, x)
    exponent, log_m = _log_parts(w, wide)
    value = _narrow(e, w.fma(exponent, w.const(of_two), arith.mulf(log_m, w.const(of_e))))
    value = e.select(e.compare("lt", x, e.const(float("inf"))), value, x)  # infinity and NaN stay
    value = e.select(e.compare("eq", x, e.const(0)), e.const(float("-inf")), value)
    return e.select(e.compare("lt", x, e.const(0)), e.const(float("nan")), value)


def log2(e: Lanes, x: ir.Value) -> ir.Value:
    """The logarithm to base 2."""
    return _logarithm(e, x, 1.0, LOG2_E)


def log10(e: Lanes, x: ir.Value) -> ir.Value:
    """The logarithm to base 10."""
    return _logarithm(e, x, LOG10_2, LOG10_E)


def exp2(e: Lanes, x: ir.Value) -> ir.Value:
    """2^x."""
    w, wide = _widen(e, e.at_least(e.at_most(x, 200), -200))
    return _narrow(e, _exp(w, arith.mulf(wide, w.const(LN2))))


def sinh(e: Lanes, x: ir.Value) -> ir.Value:
    """(m + m / (m + 1)) / 2 with m = e^|x| - 1."""
    w, wide = _widen(e, e.at_most(math.absf(x), 100))
    scale, p = _exp_parts(w, wide)
    one = w.const(1)
    m = w.fma(scale, p, arith.subf(scale, one))
    value = arith.mulf(arith.addf(m, arith.divf(m, arith.addf(m, one))), w.const(0.5))
    return math.copysign(_narrow(e, value), x)


def cosh(e: Lanes, x: ir.Value) -> ir.Value:
    """(e^|x| + e^-|x|) / 2."""
    w, wide = _widen(e, e.at_most(math.absf(x), 100))
    value = _exp(w, wide)
    return _narrow(e, arith.mulf(arith.addf(value, arith.divf(w.const(1), value)), w.const(0.5)))


def acosh(e: Lanes, x: ir.Value) -> ir.Value:
    """log1p(x - 1 + sqrt((x - 1) (x + 1)))."""
    w, wide = _widen(e, x)
    less = arith.subf(wide, w.const(1))
    value = _log1p(w, arith.addf(less, math.sqrt(arith.mulf(less, arith.addf(wide, w.const(1))))))
    value = e.select(e.compare("lt", x, e.const(float("inf"))), _narrow(e, value), x)
    return e.select(e.compare("lt", x, e.const(1)), e.const(float("nan")), value)


def asinh(e: Lanes, x: ir.Value) -> ir.Value:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1)))."""
    w, wide = _widen(e, math.absf(x))
    square, one = arith.mulf(wide, wide), w.const(1)
    more = arith.divf(square, arith.addf(one, math.sqrt(arith.addf(square, one))))
    value = math.copysign(_narrow(e, _log1p(w, arith.addf(wide, more))), x)
    return e.select(e.is_inf(x), x, value)


def atanh(e: Lanes, x: ir.Value) -> ir.Value:
    """log1p(2 |x| / (1 - |x|)) / 2."""
    size = math.absf(x)
    w, wide = _widen(e, size)
    more = arith.divf(arith.addf(wide, wide), arith.subf(w.const(1), wide))
    value = _narrow(e, arith.mulf(_log1p(w, more), w.const(0.5)))
    value = e.select(e.compare("eq", size, e.const(1)), e.const(float("inf")), value)
    return math.copysign(e.select(e.compare("gt", size, e.const(1)), e.const(float("nan")), value), x)


def erfc(e: Lanes, x: ir.Value) -> ir.Value:
    """e^(-t^2) g(t) / (1 + 2 t) with t = |x|; 2 minus that for negative x."""
    w, t = _widen(e, e.at_most(math.absf(x), ERFC_BOUND))
    middle = w.const(ERFC_MIDDLE)
    g = w.polynomial(arith.divf(arith.subf(t, middle), arith.addf(t, middle)), ERFC)
    decay = _exp(w, arith.mulf(arith.negf(t), t))
    value = arith.divf(arith.mulf(decay, g), w.fma(t, w.const(2), w.const(1)))
    value = arith.select(e.compare("lt", x, e.const(0)), arith.subf(w.const(2), value), value)
    return _narrow(e, value)


def _sum_of_powers(e: Lanes, x: ir.Value, y: ir.Value, log_of_base: float) -> ir.Value:
    """log(b^x + b^y) to the base b, as max + log(1 + b^-|x - y|)."""
    w, a = _widen(e, x)
    b = arith.extf(w.type, y)
    distance = w.at_most(math.absf(arith.subf(a, b)), 300)
    term = _log1p(w, _exp(w, arith.mulf(distance, w.const(-log_of_base))))
    value = w.fma(term, w.const(1 / log_of_base), arith.maximumf(a, b))
    same = arith.addf(a, w.const(LN2 / log_of_base))  # equal infinities have no distance
    return _narrow(e, arith.select(e.compare("eq", x, y), same, value))


def logaddexp(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """log(e^x + e^y)."""
    return _sum_of_powers(e, x, y, 1.0)


def logaddexp2(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """log2(2^x + 2^y)."""
    return _sum_of_powers(e, x, y, LN2)


def tgamma(e: Lanes, x: ir.Value) -> ir.Value:
    """The gamma function of f64."""
    _, wide = _widen(e, x)
    return _narrow(e, tir("tgamma", wide))


def lgamma(e: Lanes, x: ir.Value) -> ir.Value:
    """log |gamma(x)| of f64."""
    _, wide = _widen(e, x)
    return _narrow(e, tir("lgamma", wide))


MATH = (log2, log10, exp2, sinh, cosh, acosh, asinh, atanh, erfc)
TIR = (tgamma, lgamma, logaddexp, logaddexp2)
