"""Arithmetic on integers of 64 bits, and on vectors of them, as pairs of words of 32 bits."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from legato.core.halves import is_half
from legato.core.ir_helpers import element_of, index, with_element
from legato.core.mlir import arith, ir, math, scf, vector

WORD = 32       # bits
P = arith.CmpIPredicate
# of a comparison that is no (in)equality: that of the upper words, and that of the lower ones where the upper ones are equal
ORDERS = {P.slt: (P.slt, P.ult), P.sle: (P.slt, P.ule), P.sgt: (P.sgt, P.ugt), P.sge: (P.sgt, P.uge),
          P.ult: (P.ult, P.ult), P.ule: (P.ult, P.ule), P.ugt: (P.ugt, P.ugt), P.uge: (P.ugt, P.uge)}
BIAS, FRACTION = 127, 23    # of f32: of its exponent, and the bits behind it


@dataclass(frozen=True)
class Long:
    """An integer of 64 bits, or a vector of such: its two words, i32, or vectors of them."""

    low: ir.Value
    high: ir.Value


def word() -> ir.Type:
    """i32."""
    return ir.IntegerType.get_signless(WORD)


def number(type_: ir.Type, value: float) -> ir.Value:
    """A constant; a vector has it in all lanes."""
    element = element_of(type_)
    attribute = ir.FloatAttr.get(element, value) if isinstance(element, ir.F32Type | ir.F64Type) else ir.IntegerAttr.get(element, value)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, attribute) if isinstance(type_, ir.VectorType)
                            else attribute).result


def sign(x: ir.Value) -> ir.Value:
    """The upper word of a lower one that has a sign."""
    return arith.shrsi(x, number(x.type, WORD - 1))


def add(a: Long, b: Long) -> Long:
    """The sum."""
    low = arith.addi(a.low, b.low)
    carry = arith.extui(low.type, arith.cmpi(P.ult, low, a.low))
    return Long(low, arith.addi(arith.addi(a.high, b.high), carry))


def subtract(a: Long, b: Long) -> Long:
    """The difference."""
    borrow = arith.extui(a.low.type, arith.cmpi(P.ult, a.low, b.low))
    return Long(arith.subi(a.low, b.low), arith.subi(arith.subi(a.high, b.high), borrow))


def multiply(a: Long, b: Long) -> Long:
    """The product."""
    low, high = arith.MulUIExtendedOp(a.low, b.low).results
    crossed = arith.addi(arith.muli(a.high, b.low), arith.muli(a.low, b.high))
    return Long(low, arith.addi(high, crossed))


def negative(a: Long) -> Long:
    """The number with the other sign."""
    zero = number(a.low.type, 0)
    return subtract(Long(zero, zero), a)


def choose(condition: ir.Value, a: Long, b: Long) -> Long:
    """One of two numbers."""
    return Long(arith.select(condition, a.low, b.low), arith.select(condition, a.high, b.high))


def is_negative(a: Long) -> ir.Value:
    """Whether a number with a sign is less than 0."""
    return arith.cmpi(P.slt, a.high, number(a.high.type, 0))


def absolute(a: Long) -> Long:
    """The absolute value."""
    return choose(is_negative(a), negative(a), a)


def compare(predicate: int, a: Long, b: Long) -> ir.Value:
    """A comparison."""
    if predicate in (P.eq, P.ne):
        low, high = arith.cmpi(predicate, a.low, b.low), arith.cmpi(predicate, a.high, b.high)
        return arith.andi(low, high) if predicate == P.eq else arith.ori(low, high)
    upper, lower = ORDERS[P(predicate)]
    equal = arith.cmpi(P.eq, a.high, b.high)
    return arith.select(equal, arith.cmpi(lower, a.low, b.low), arith.cmpi(upper, a.high, b.high))


def extreme(predicate: int) -> Callable[[Long, Long], Long]:
    """The first of two numbers, if it compares so with the second; else that."""
    return lambda a, b: choose(compare(predicate, a, b), a, b)


def shift_left(a: Long, by: Long) -> Long:
    """Bits moved up, by 0 to 63."""
    few, rest, many = shift(by)
    low = arith.shli(a.low, few)
    # two steps: a shift by 32 is undefined
    high = arith.ori(arith.shli(a.high, few), arith.shrui(arith.shrui(a.low, number(few.type, 1)), rest))
    return choose(many, Long(number(few.type, 0), low), Long(low, high))


def shift_right(signed: bool) -> Callable[[Long, Long], Long]:
    """Bits moved down, by 0 to 63: with ``signed``, the sign comes after them."""
    def shifted(a: Long, by: Long) -> Long:
        few, rest, many = shift(by)
        high = (arith.shrsi if signed else arith.shrui)(a.high, few)
        low = arith.ori(arith.shrui(a.low, few), arith.shli(arith.shli(a.high, number(few.type, 1)), rest))
        return choose(many, Long(high, sign(a.high) if signed else number(few.type, 0)), Long(low, high))
    return shifted


def shift(by: Long) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Of a number of bits that of those inside a word, 31 less that, and whether a whole word is to be moved, too."""
    type_ = by.low.type
    few = arith.andi(by.low, number(type_, WORD - 1))
    return few, arith.xori(few, number(type_, WORD - 1)), arith.cmpi(P.uge, by.low, number(type_, WORD))


def divide(signed: bool, remainder: bool) -> Callable[[Long, Long], Long]:
    """A quotient, rounded towards zero, or the remainder of it, lane by lane."""
    def divided(a: Long, b: Long) -> Long:
        return lanes(one, a, b)

    def one(a: Long, b: Long) -> Long:
        if not signed:
            return divide_naturals(a, b)[remainder]
        found = divide_naturals(absolute(a), absolute(b))[remainder]
        flips = is_negative(a) if remainder else arith.xori(is_negative(a), is_negative(b))
        return choose(flips, negative(found), found)
    return divided


def divide_naturals(a: Long, b: Long) -> tuple[Long, Long]:
    """Quotient and remainder of two numbers without sign: bit by bit, unless both are less than 2^32."""
    zero, one = number(word(), 0), number(word(), 1)
    short = arith.cmpi(P.eq, arith.ori(a.high, b.high), zero)
    branch = scf.IfOp(short, [word()] * 4, has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([arith.divui(a.low, b.low), zero, arith.remui(a.low, b.low), zero])
    with ir.InsertionPoint(branch.else_block):
        loop = scf.ForOp(index(0), index(2 * WORD), index(1), [a.low, a.high, zero, zero])
        with ir.InsertionPoint(loop.body):
            low, high, *rest = loop.inner_iter_args
            quotient, before, by_one = Long(low, high), Long(*rest), Long(one, zero)
            top = arith.shrui(quotient.high, number(word(), WORD - 1))
            after = shift_left(before, by_one)
            after = Long(arith.ori(after.low, top), after.high)
            fits = arith.ori(is_negative(before), compare(P.uge, after, b))     # the bit that is shifted out counts
            left, quotient = choose(fits, subtract(after, b), after), shift_left(quotient, by_one)
            scf.YieldOp([arith.ori(quotient.low, arith.extui(word(), fits)), quotient.high, left.low, left.high])
        scf.YieldOp(list(loop.results))
    found = list(branch.results)
    return Long(*found[:2]), Long(*found[2:])


def lanes(function: Callable[..., Long], *given: Long) -> Long:
    """A function of numbers on each lane of vectors, or on numbers themselves."""
    type_ = given[0].low.type
    if not isinstance(type_, ir.VectorType):
        return function(*given)
    found = [function(*(Long(lane(one.low, place), lane(one.high, place)) for one in given)) for place in range(type_.shape[0])]
    return Long(vector.from_elements(type_, [one.low for one in found]), vector.from_elements(type_, [one.high for one in found]))


def lane(value: ir.Value, place: int) -> ir.Value:
    """One lane of a vector."""
    return vector.extract(value, dynamic_position=[], static_position=[place])


def from_bits(x: ir.Value) -> Long:
    """The bits of an f64, or of each of a vector of them."""
    if isinstance(x.type, ir.VectorType):
        found = [from_bits(lane(x, place)) for place in range(x.type.shape[0])]
        type_ = with_element(x.type, word())
        return Long(vector.from_elements(type_, [one.low for one in found]), vector.from_elements(type_, [one.high for one in found]))
    pair = vector.bitcast(ir.VectorType.get([2], word()), vector.from_elements(ir.VectorType.get([1], x.type), [x]))
    return Long(lane(pair, 0), lane(pair, 1))


def to_bits(a: Long, type_: ir.Type) -> ir.Value:
    """The f64 of these bits, or a vector of them."""
    if isinstance(type_, ir.VectorType):
        parts = [Long(lane(a.low, place), lane(a.high, place)) for place in range(type_.shape[0])]
        return vector.from_elements(type_, [to_bits(one, type_.element_type) for one in parts])
    pair = vector.from_elements(ir.VectorType.get([2], word()), [a.low, a.high])
    return lane(vector.bitcast(ir.VectorType.get([1], type_), pair), 0)


def to_float(signed: bool) -> Callable[[Long, ir.Type], ir.Value]:
    """A number as a float, rounded to nearest even, once."""
    def rounded(a: Long, type_: ir.Type) -> ir.Value:
        element = element_of(type_)
        natural = to_f64 if isinstance(element, ir.F64Type) else to_f32 if isinstance(element, ir.F32Type) else to_half
        if not signed:
            return natural(a, type_)
        found = natural(absolute(a), type_)
        return arith.select(is_negative(a), arith.negf(found), found)
    return rounded


def to_f64(a: Long, type_: ir.Type) -> ir.Value:
    """A number without sign as f64: both words are exact in it, and so is the upper one at its place."""
    high = arith.mulf(arith.uitofp(type_, a.high), number(type_, 2.0 ** WORD))
    return arith.addf(high, arith.uitofp(type_, a.low))


def to_f32(a: Long, type_: ir.Type) -> ir.Value:
    """A number without sign as f32: its first 32 bits, which are rounded, at their place."""
    top, exponent = first_bits(a)
    return arith.mulf(arith.uitofp(type_, top), power(exponent, type_))


def to_half(a: Long, type_: ir.Type) -> ir.Value:
    """A number without sign as f16 or bf16: its first 24 bits, which f32 holds, at their place, are rounded."""
    f32 = with_element(type_, ir.F32Type.get())
    top, exponent = first_bits(a)
    bits, few = top.type, WORD - FRACTION - 1
    rest = arith.cmpi(P.ne, arith.andi(top, number(bits, (1 << few) - 1)), number(bits, 0))
    is_long = arith.cmpi(P.uge, top, number(bits, 1 << (FRACTION + 1)))
    top = arith.select(is_long, arith.ori(arith.shrui(top, number(bits, few)), arith.extui(bits, rest)), top)
    exponent = arith.addi(exponent, arith.select(is_long, number(bits, few), number(bits, 0)))
    return arith.truncf(type_, arith.mulf(arith.uitofp(f32, top), power(exponent, f32)))


def first_bits(a: Long) -> tuple[ir.Value, ir.Value]:
    """Of a number without sign 32 bits from the first one on, of which the last one is 1 if one behind it is, too, and how many are behind;
    or the lower word and 0, if it is all."""
    bits = a.low.type
    zeros = math.ctlz(a.high)
    few = arith.andi(zeros, number(bits, WORD - 1))
    rest = arith.xori(few, number(bits, WORD - 1))
    top = arith.ori(arith.shli(a.high, few), arith.shrui(arith.shrui(a.low, number(bits, 1)), rest))
    left = arith.cmpi(P.ne, arith.shli(a.low, few), number(bits, 0))
    is_short = arith.cmpi(P.eq, a.high, number(bits, 0))
    return arith.select(is_short, a.low, arith.ori(top, arith.extui(bits, left))), arith.subi(number(bits, WORD), zeros)


def power(exponent: ir.Value, type_: ir.Type) -> ir.Value:
    """2 to this power, which is no denormal number, in f32."""
    return arith.bitcast(type_, arith.shli(arith.addi(exponent, number(exponent.type, BIAS)), number(exponent.type, FRACTION)))


def from_float(signed: bool) -> Callable[[ir.Value], Long]:
    """A float, rounded towards zero; undefined beyond 64 bits, as upstream's."""
    def rounded(x: ir.Value) -> Long:
        if is_half(x.type):
            x = arith.extf(with_element(x.type, ir.F32Type.get()), x)
        bits = with_element(x.type, word())
        size = math.absf(x) if signed else x
        high = arith.fptoui(bits, arith.mulf(size, number(x.type, 2.0 ** -WORD)))
        low = arith.fptoui(bits, arith.subf(size, arith.mulf(arith.uitofp(x.type, high), number(x.type, 2.0 ** WORD))))     # exact
        if not signed:
            return Long(low, high)
        return choose(arith.cmpf(arith.CmpFPredicate.OLT, x, number(x.type, 0.0)), negative(Long(low, high)), Long(low, high))
    return rounded
