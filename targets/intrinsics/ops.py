"""C's <math.h> and numpy's ufuncs: for each function the ops that compute it on floats, signed and unsigned integers.

``OPS`` is the list. An entry's ``build(e, *operands)`` builds the function at the insertion point, with ``e`` the arithmetic of its
operands (``Lanes``: scalars or vectors), and returns a value or several. Ops that a target does not support are legalized later.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import arith, ir, math
from legato.dialects.tir.intrinsics import build as tir
from legato.targets.intrinsics.lanes import Lanes

FLOAT, SIGNED, UNSIGNED = "float", "signed", "unsigned"
FLOATS, INTEGERS, NUMBERS = (FLOAT,), (SIGNED, UNSIGNED), (FLOAT, SIGNED, UNSIGNED)


@dataclass(frozen=True)
class Ufunc:
    """A function. ``name``: C's, or numpy's if C has none; ``aliases``: other names; ``kinds``: supported kinds of numbers;
    ``operands``: one letter each, ``x`` for a number, ``n`` for a 32-bit integer; ``results``: their number."""

    name: str
    build: Callable[..., Any]
    kinds: tuple[str, ...] = FLOATS
    operands: str = "x"
    aliases: tuple[str, ...] = ()
    results: int = 1


def _math(name: str, *aliases: str, op: str | None = None) -> Ufunc:
    function = getattr(math, op or name)
    return Ufunc(name, lambda e, x: function(x), aliases=aliases)


def _tir(name: str, operands: str = "x", aliases: tuple[str, ...] = (), results: int = 1) -> Ufunc:
    return Ufunc(name, lambda e, *xs: tir(name, *xs), operands=operands, aliases=aliases, results=results)


def _both(name: str, *aliases: str, method: str | None = None, kinds: tuple[str, ...] = NUMBERS) -> Ufunc:
    """A function of two numbers that is a method of the arithmetic."""
    return Ufunc(name, lambda e, x, y: getattr(e, method or name)(x, y), kinds, "xx", aliases)


def _compare(name: str, predicate: str, *aliases: str) -> Ufunc:
    return Ufunc(name, lambda e, x, y: e.compare(predicate, x, y), NUMBERS, "xx", aliases)


def _truth(e: Lanes, x: ir.Value) -> ir.Value:
    return e.compare("ne", x, e.const(0))


def _logical(name: str, function: Callable[..., ir.Value]) -> Ufunc:
    return Ufunc(name, lambda e, x, y: function(_truth(e, x), _truth(e, y)), NUMBERS, "xx")


def _sign(e: Lanes, x: ir.Value) -> ir.Value:
    value = e.select(e.compare("gt", x, e.const(0)), e.const(1), e.const(0))
    if not e.is_unsigned:
        value = e.select(e.compare("lt", x, e.const(0)), e.const(-1), value)
    return e.select(e.is_nan(x), x, value) if e.is_float else value


def _heaviside(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    value = e.select(e.compare("eq", x, e.const(0)), y, e.select(e.compare("gt", x, e.const(0)), e.const(1), e.const(0)))
    return e.select(e.is_nan(x), x, value)


def _spacing(e: Lanes, x: ir.Value) -> ir.Value:
    wide = math.absf(x)
    step = arith.subf(tir("nextafter", wide, e.const(float("inf"))), wide)
    return math.copysign(step, x)


def _shift(function: Callable[..., ir.Value], e: Lanes, x: ir.Value, y: ir.Value, beyond: Any) -> ir.Value:
    """A shift whose result is ``beyond`` for counts of at least the width, as in numpy; the machine's shift would be undefined."""
    unsigned = Lanes(ir.IntegerType.get_unsigned(e.bits), e.shape)
    inside = unsigned.compare("lt", y, unsigned.const(e.bits))
    return arith.select(inside, function(x, arith.select(inside, y, e.const(0))), beyond)


def _left(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return _shift(arith.shli, e, x, y, e.const(0))


def _right(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    if e.is_unsigned:
        return _shift(arith.shrui, e, x, y, e.const(0))
    return _shift(arith.shrsi, e, x, y, arith.shrsi(x, e.const(e.bits - 1)))


def _gcd(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return tir("gcd", e.abs(x), e.abs(y))


def _lcm(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    x, y = e.abs(x), e.abs(y)
    divisor = tir("gcd", x, y)
    nothing = e.compare("eq", divisor, e.const(0))
    return arith.muli(arith.select(nothing, e.const(0), arith.divui(x, arith.select(nothing, e.const(1), divisor))), y)


def _bit_count(e: Lanes, x: ir.Value) -> ir.Value:
    return math.ctpop(e.abs(x))  # numpy counts the bits of the absolute value


def _power(e: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return math.powf(x, y) if e.is_float else math.ipowi(x, y)


OPS: tuple[Ufunc, ...] = (
    # --- C's <math.h> ---
    _math("acos", "arccos"), _math("acosh", "arccosh"), _math("asin", "arcsin"), _math("asinh", "arcsinh"), _math("atan", "arctan"),
    _math("atanh", "arctanh"), _math("cbrt"), _math("ceil"), _math("cos"), _math("cosh"), _math("erf"), _math("erfc"), _math("exp"),
    _math("exp2"), _math("expm1"), _math("fabs", op="absf"), _math("floor"), _math("log"), _math("log10"), _math("log1p"), _math("log2"),
    _math("rint", "nearbyint", op="roundeven"), _math("round"), _math("sin"), _math("sinh"), _math("sqrt"), _math("tan"), _math("tanh"),
    _math("trunc"), _math("isfinite"), _math("isinf"), _math("isnormal"),
    Ufunc("isnan", lambda e, x: e.is_nan(x)),
    _tir("logb"), _tir("ilogb"), _tir("signbit"), _tir("tgamma"), _tir("lgamma"), _tir("frexp", results=2), _tir("modf", results=2),
    _tir("ldexp", "xn", ("scalbn",)), _tir("hypot", "xx"), _tir("fdim", "xx"), _tir("nextafter", "xx"), _tir("remainder", "xx"),
    Ufunc("atan2", lambda e, x, y: math.atan2(x, y), FLOATS, "xx", ("arctan2",)),
    Ufunc("copysign", lambda e, x, y: math.copysign(x, y), FLOATS, "xx"),
    Ufunc("fmax", lambda e, x, y: arith.maxnumf(x, y) if e.is_float else e.max(x, y), NUMBERS, "xx"),
    Ufunc("fmin", lambda e, x, y: arith.minnumf(x, y) if e.is_float else e.min(x, y), NUMBERS, "xx"),
    _both("fmod", method="rem"),
    Ufunc("pow", _power, NUMBERS, "xx", ("power", "float_power")),
    Ufunc("fma", lambda e, x, y, z: math.fma(x, y, z), FLOATS, "xxx"),
    # --- numpy's ufuncs ---
    _both("add"), _both("subtract", method="sub"), _both("multiply", method="mul"),
    _both("divide", "true_divide", method="div", kinds=FLOATS),
    _both("floor_divide", method="floor_div"), _both("mod", "numpy.remainder"),
    Ufunc("divmod", lambda e, x, y: [e.floor_div(x, y), e.mod(x, y)], NUMBERS, "xx", results=2),
    _both("maximum", method="max"), _both("minimum", method="min"),
    Ufunc("negative", lambda e, x: e.neg(x), NUMBERS), Ufunc("positive", lambda e, x: x, NUMBERS),
    Ufunc("absolute", lambda e, x: e.abs(x), INTEGERS, aliases=("abs",)),
    Ufunc("sign", _sign, NUMBERS), Ufunc("square", lambda e, x: e.mul(x, x), NUMBERS),
    Ufunc("reciprocal", lambda e, x: e.div(e.const(1), x), FLOATS),
    Ufunc("degrees", lambda e, x: arith.mulf(x, e.const(57.29577951308232)), FLOATS, aliases=("rad2deg",)),
    Ufunc("radians", lambda e, x: arith.mulf(x, e.const(0.017453292519943295)), FLOATS, aliases=("deg2rad",)),
    Ufunc("spacing", _spacing), Ufunc("heaviside", _heaviside, FLOATS, "xx"), _tir("logaddexp", "xx"), _tir("logaddexp2", "xx"),
    _compare("equal", "eq"), _compare("not_equal", "ne"), _compare("less", "lt", "isless"), _compare("less_equal", "le", "islessequal"),
    _compare("greater", "gt", "isgreater"), _compare("greater_equal", "ge", "isgreaterequal"),
    _logical("logical_and", arith.andi), _logical("logical_or", arith.ori), _logical("logical_xor", arith.xori),
    Ufunc("logical_not", lambda e, x: e.compare("eq", x, e.const(0)), NUMBERS),
    Ufunc("bitwise_and", lambda e, x, y: arith.andi(x, y), INTEGERS, "xx"),
    Ufunc("bitwise_or", lambda e, x, y: arith.ori(x, y), INTEGERS, "xx"),
    Ufunc("bitwise_xor", lambda e, x, y: arith.xori(x, y), INTEGERS, "xx"),
    Ufunc("invert", lambda e, x: arith.xori(x, e.const(-1)), INTEGERS),
    Ufunc("left_shift", _left, INTEGERS, "xx"), Ufunc("right_shift", _right, INTEGERS, "xx"), Ufunc("bitwise_count", _bit_count, INTEGERS),
    Ufunc("gcd", _gcd, INTEGERS, "xx"), Ufunc("lcm", _lcm, INTEGERS, "xx"),
)
