"""Rules that every target falls back to: intrinsics as expressions, elementary functions of f32 as polynomials."""
from collections.abc import Callable
from typing import Any

from legato.core.mlir import arith, ir, math
from legato.core.user_code import source_of
from legato.targets.intrinsics import expressions as x
from legato.targets.intrinsics import gamma, packed_bytes
from legato.targets.intrinsics import polynomials as f32
from legato.targets.intrinsics.builder import Builder
from legato.targets.intrinsics.lanes import Lanes
from legato.targets.intrinsics.trigonometry import sine
from legato.targets.rule import Rule

FLOATS = ("f32", "f64")
ALL_FLOATS = ("f16", "bf16", *FLOATS)


def _rule(op: str, function: Callable[..., Any], dtypes: tuple[str, ...], build: Callable[..., Any]) -> Rule:
    return Rule(op, "intrinsic", build, function.__name__.lstrip("_"), source_of(function), dtypes=dtypes)


def expression(op: str, function: Callable[..., Any], dtypes: tuple[str, ...] = FLOATS, unsigned: bool = False) -> Rule:
    """A rule that evaluates ``function(lanes, *operands)``."""
    return _rule(op, function, dtypes, lambda op, *operands: function(Lanes.of(operands[0].type, unsigned), *operands))


def polynomial(op: str, function: Callable[..., Any]) -> Rule:
    """A rule for f32 that evaluates ``function(builder, x)``."""
    return _rule(op, function, ("f32",), lambda op, v: function(Builder(v.type), v))


def sin(b: Builder, v: ir.Value) -> ir.Value:
    """Sine."""
    return sine(b, v, 0)


def cos(b: Builder, v: ir.Value) -> ir.Value:
    """Cosine."""
    return sine(b, v, 1)


def cbrt(e: Lanes, v: ir.Value) -> ir.Value:
    """Cube root: a guess with a third of the exponent, then Newton's method; 1 ulp in f32, 2 in f64."""
    ints = e.ints
    size = math.absf(v)
    small = e.compare("lt", size, e.const(2.0 ** (1 - e.bias)))
    lift = 3 * ((e.mantissa + 2) // 3)
    scaled = e.select(small, arith.mulf(size, e.const(2.0 ** lift)), size)
    third = arith.divui(e.to_bits(scaled), ints.const(3))
    guess = e.from_bits(arith.addi(third, ints.const(((2 * e.bias) << e.mantissa) // 3 - (1 << (e.mantissa - 5)))))
    for _ in range(4 if e.bits == 32 else 5):
        over = arith.divf(scaled, arith.mulf(guess, guess))
        guess = e.fma(arith.subf(over, guess), e.const(1 / 3), guess)
    guess = e.select(small, arith.mulf(guess, e.const(2.0 ** (-lift // 3))), guess)
    special = arith.ori(arith.ori(e.is_inf(v), e.is_nan(v)), e.compare("eq", v, e.const(0)))
    return e.select(special, v, math.copysign(guess, v))


RULES = (
    *(expression(f"tir.{function.__name__}", function) for function in (
        x.fdim, x.hypot, x.frexp, x.logb, x.ilogb, x.ldexp, x.modf, x.remainder, x.logaddexp, x.logaddexp2,
        gamma.lgamma, gamma.tgamma)),
    # f16 and bf16 are not promoted: the results depend on their own bits
    expression("tir.signbit", x.signbit, ALL_FLOATS),
    expression("tir.nextafter", x.nextafter, ALL_FLOATS),
    expression("math.isnormal", x.isnormal, ALL_FLOATS),
    expression("tir.gcd", x.gcd, dtypes=(), unsigned=True),
    expression("math.ipowi", x.ipowi, dtypes=()),
    *(expression(f"tir.{function.__name__}", function, ("i32",)) for function in (
        packed_bytes.dot4_u8s8, packed_bytes.dot4_s8s8, packed_bytes.dot4_u8u8, packed_bytes.dot2_s16s16,
        packed_bytes.dot2_bf16bf16)),
    *(expression(f"math.{function.__name__}", function) for function in (x.isinf, x.isfinite, cbrt)),
    expression("math.erfc", gamma.erfc, ("f32",)),
    *(polynomial(f"math.{function.__name__}", function) for function in (
        f32.exp, f32.expm1, f32.log, f32.log1p, f32.tanh, f32.erf, sin, cos)),
)
