"""Arithmetic that drivers of Vulkan, or upstream's conversion to SPIR-V, compute otherwise than IEEE 754 and two's complement define it.

Seen in Mesa's driver for CPUs, which folds x * 0 and 0 / x to 0, leaves x / 0 undefined, and does not round all f64; the specification
allows most of it to any driver that does not offer SignedZeroInfNanPreserve.
"""
from collections.abc import Callable
from math import copysign
from typing import Any

from legato.core.errors import Refusal
from legato.core.ir_helpers import constant_number, with_element
from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import repeated
from legato.targets.intrinsics.lanes import Lanes
from legato.targets.rule import intrinsic

INFINITY = float("inf")
WIDE = ("f32", "f64")
WORD = 32       # bits


@intrinsic("arith.remsi", moment="lower", dtypes=("i8", "i16", "i32", "i64"))
def signed_remainder(op: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    """``x - x / y * y``. Vulkan leaves OpSRem of negative numbers undefined, and upstream's replacement, by the remainder of the absolute
    values, has the wrong sign for the least integer."""
    return arith.subi(x, arith.muli(arith.divsi(x, y), y))


@intrinsic("arith.mulf", moment="lower", dtypes=WIDE)
def times_zero(op: Any, x: ir.Value, y: ir.Value) -> ir.Value | Refusal:
    """A product with a constant 0: NaN of infinities and NaNs, else a zero of the product's sign."""
    if is_zero(x):
        x, y = y, x
    if not is_zero(y):
        return Refusal("no factor is a constant 0")
    e = Lanes.of(x.type)
    return e.select(e.compare("lt", math.absf(x), e.const(INFINITY)), with_sign(e, 0.0, x, y), e.const(float("nan")))


@intrinsic("arith.divf", moment="lower", dtypes=WIDE)
def zero_in_division(op: Any, x: ir.Value, y: ir.Value) -> ir.Value | Refusal:
    """A constant 0 over x, or x over one: NaN for zeros and NaNs, else a zero, or an infinity, of the quotient's sign."""
    if not is_zero(x) and not is_zero(y):
        return Refusal("neither operand is a constant 0")
    given, zero, size = (y, x, 0.0) if is_zero(x) else (x, y, INFINITY)
    e = Lanes.of(x.type)
    return e.select(e.compare("gt", math.absf(given), e.const(0)), with_sign(e, size, given, zero), e.const(float("nan")))


@intrinsic("math.trunc", moment="lower", dtypes=("f64",), priority=1)
def whole_part(op: Any, x: ir.Value) -> ir.Value:
    """By floor and ceil: Mesa's Trunc of f64 is right below 2**24 only."""
    e = Lanes.of(x.type)
    return arith.select(e.compare("lt", x, e.const(0)), math.ceil(x), math.floor(x))


@intrinsic("math.roundeven", moment="lower", dtypes=("f64",), priority=1)
def round_to_even(op: Any, x: ir.Value) -> ir.Value:
    """The nearest integer by an addition: Mesa's driver for CPUs rounds halves of f64 up where the CPU has no AVX-512. Neither the compiler
    nor a driver may take back the addition (``tir-forbid-contraction``)."""
    e = Lanes.of(x.type)
    size, whole = math.absf(x), e.const(2.0 ** 52)     # from which on all numbers are integers
    near = arith.select(e.compare("lt", size, whole), arith.subf(arith.addf(size, whole), whole), size)
    near = arith.select(e.compare("lt", x, e.const(0)), arith.negf(near), near)
    return arith.select(e.compare("eq", x, e.const(0)), x, near)     # keeps -0


@intrinsic("math.copysign", moment="lower", dtypes=("f64",), priority=1)
def with_the_sign_of(op: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    """By the bits: upstream has no conversion for f64."""
    e = Lanes.of(x.type)
    size = math.absf(x)
    return e.select(e.ints.compare("lt", e.to_bits(y), e.ints.const(0)), arith.negf(size), size)


@intrinsic("math.ctlz", moment="lower", dtypes=("i8", "i16", "i64"))
def leading_zeros(op: Any, x: ir.Value) -> ir.Value:
    """Of 32 bits, in which SPIR-V finds the most significant one: of the halves of 64, and of shorter integers behind further zeros."""
    e = Lanes.of(x.type)
    if e.bits < WORD:
        return arith.subi(in_words(math.ctlz, x), e.const(WORD - e.bits))
    return op.each(wide_leading_zeros)


def wide_leading_zeros(x: ir.Value) -> ir.Value:
    """The zeros before the first one of 64 bits, of a scalar."""
    low, high = halves(x)
    e = Lanes.of(low.type)
    found = arith.select(e.compare("eq", high, e.const(0)), arith.addi(math.ctlz(low), e.const(WORD)), math.ctlz(high))
    return arith.extui(x.type, found)


@intrinsic("math.ctpop", moment="lower", dtypes=("i8", "i16", "i64"))
def ones(op: Any, x: ir.Value) -> ir.Value:
    """Of 32 bits, for which alone Vulkan has OpBitCount."""
    if Lanes.of(x.type).bits < WORD:
        return in_words(math.ctpop, x)
    low, high = halves(x)
    return arith.extui(x.type, arith.addi(math.ctpop(low), math.ctpop(high)))


@intrinsic("math.cttz", moment="lower", dtypes=("i8", "i16", "i32", "i64"))
def trailing_zeros(op: Any, x: ir.Value) -> ir.Value:
    """The ones below the last one, all of 0: upstream has no conversion."""
    e = Lanes.of(x.type)
    return math.ctpop(arith.andi(arith.subi(x, e.const(1)), arith.xori(x, e.const(-1))))


def in_words(function: Callable[[ir.Value], ir.Value], x: ir.Value) -> ir.Value:
    """A function of 32 bits of a shorter integer."""
    return arith.trunci(x.type, function(arith.extui(with_element(x.type, ir.IntegerType.get_signless(WORD)), x)))


def halves(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower and the upper 32 bits of 64."""
    word = with_element(x.type, ir.IntegerType.get_signless(WORD))
    return arith.trunci(word, x), arith.trunci(word, arith.shrui(x, Lanes.of(x.type).const(WORD)))


@intrinsic("arith.remf", moment="lower", dtypes=WIDE)
def exact_remainder(op: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    """C's fmod, digit by digit: SPIR-V's FRem is x - y trunc(x / y). All products and differences are exact."""
    return op.each(float_remainder)


def float_remainder(x: ir.Value, y: ir.Value) -> ir.Value:
    """The remainder of scalars: multiples of |y| by powers of two are taken off |x|, the greatest first."""
    e = Lanes.of(x.type)
    size, unit, half = math.absf(x), math.absf(y), e.const(0.5)
    is_number = arith.andi(e.compare("lt", size, e.const(INFINITY)), e.compare("gt", unit, e.const(0)))     # else NaN
    wanted = arith.andi(is_number, e.compare("lt", unit, e.const(INFINITY)))
    least = arith.select(wanted, unit, e.const(INFINITY))    # of which no multiple is taken off
    (greatest,) = repeated([least], lambda by: arith.andi(wanted, e.compare("le", by, arith.mulf(size, half))),
                       lambda by: [arith.addf(by, by)])

    def taken(left: ir.Value, by: ir.Value) -> list[ir.Value]:
        return [arith.select(e.compare("ge", left, by), arith.subf(left, by), left), arith.mulf(by, half)]

    left, _ = repeated([size, greatest], lambda left, by: arith.andi(wanted, e.compare("ge", by, least)), taken)
    signed = arith.select(e.ints.compare("lt", e.to_bits(x), e.ints.const(0)), arith.negf(left), left)
    return arith.select(is_number, signed, e.const(float("nan")))


def is_zero(value: ir.Value) -> bool:
    """Whether a value is 0 or -0 in all lanes, by a constant."""
    number = constant_number(value)
    return number is not None and number == 0


def with_sign(e: Lanes, size: float, x: ir.Value, zero: ir.Value) -> ir.Value:
    """``size`` with the sign of a product, or a quotient, of x and a constant zero."""
    number = constant_number(zero)
    assert number is not None
    flipped = copysign(1.0, number) < 0
    negative = e.ints.compare("lt", e.to_bits(x), e.ints.const(0))
    return e.select(negative, e.const(size if flipped else -size), e.const(-size if flipped else size))


RULES = (signed_remainder, times_zero, zero_in_division, whole_part, round_to_even, with_the_sign_of, leading_zeros, ones, trailing_zeros,
          exact_remainder)
