"""The gamma functions and erfc as expressions, for devices whose libraries lack them."""
from legato.core.mlir import arith, ir, math
from legato.targets.intrinsics.lanes import Lanes

# Lanczos' approximation with g = 5 and 7 terms (Lanczos 1964): relative error 2e-10
LANCZOS_G = 5.0
LANCZOS = (1.000000000190015, 76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 1.208650973866179e-3,
           -5.395239384953e-6)
HALF_LOG_2_PI, PI = 0.9189385332046727, 3.141592653589793


def _log_gamma(e: Lanes, x: ir.Value) -> ir.Value:
    """log gamma(x) for x >= 1/2: absolute error 1e-6 in f32, 1e-9 in f64, relative to max(1, |log gamma(x)|)."""
    y = arith.subf(x, e.const(1))
    total = e.const(LANCZOS[0])
    for i, c in enumerate(LANCZOS[1:], 1):
        total = arith.addf(total, arith.divf(e.const(c), arith.addf(y, e.const(i))))
    t = arith.addf(y, e.const(LANCZOS_G + 0.5))
    power = arith.mulf(arith.addf(y, e.const(0.5)), arith.subf(math.log(t), e.const(1)))
    return arith.addf(arith.addf(power, e.const(HALF_LOG_2_PI - LANCZOS_G)), math.log(total))


def _sine_of_pi(e: Lanes, x: ir.Value) -> ir.Value:
    """sin(pi x), from the distance to the nearest integer."""
    near = math.roundeven(x)
    odd = e.compare("ne", arith.mulf(math.floor(arith.mulf(near, e.const(0.5))), e.const(2)), near)
    value = math.sin(arith.mulf(arith.subf(x, near), e.const(PI)))
    return e.select(odd, arith.negf(value), value)


def lgamma(e: Lanes, x: ir.Value) -> ir.Value:
    """log |gamma(x)| by Lanczos' series, and by reflection below 1/2."""
    low = e.compare("lt", x, e.const(0.5))
    value = _log_gamma(e, e.select(low, arith.subf(e.const(1), x), x))
    sine = math.absf(_sine_of_pi(e, x))
    reflected = arith.subf(math.log(arith.divf(e.const(PI), sine)), value)
    value = e.select(low, reflected, value)
    pole = arith.andi(e.compare("le", x, e.const(0)), e.compare("eq", x, math.floor(x)))
    value = e.select(arith.ori(pole, e.is_inf(x)), e.const(float("inf")), value)
    return e.select(e.is_nan(x), x, value)


def tgamma(e: Lanes, x: ir.Value) -> ir.Value:
    """exp(lgamma), with the sign of sin(pi x) below 0: relative error up to about 1e-5 in f32 for large results."""
    size = math.exp(lgamma(e, x))
    signed = e.select(arith.andi(e.compare("lt", x, e.const(0)), e.compare("lt", _sine_of_pi(e, x), e.const(0))), arith.negf(size), size)
    pole = arith.andi(e.compare("lt", x, e.const(0)), e.compare("eq", x, math.floor(x)))
    signed = e.select(pole, e.const(float("nan")), signed)
    return e.select(e.compare("eq", x, e.const(0)), arith.divf(e.const(1), x), signed)


def erfc(e: Lanes, x: ir.Value) -> ir.Value:
    """t exp(-x^2 + p(t)) with t = 1 / (1 + |x| / 2) (Numerical Recipes): relative error 1.2e-7, plus rounding."""
    p = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223)
    z = math.absf(x)
    t = arith.divf(e.const(1), e.fma(z, e.const(0.5), e.const(1)))
    value = arith.mulf(t, math.exp(e.fma(arith.negf(z), z, e.polynomial(t, p))))
    return e.select(e.compare("lt", x, e.const(0)), arith.subf(e.const(2), value), value)
