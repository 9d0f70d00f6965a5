"""Elementwise ops of two or more operands, with numpy's broadcasting."""
from math import ceil, floor, isinf

from legato.core.mlir import arith, ir, math, scf
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import pointwise
from legato.targets.builders.structured import scalar_constant
from legato.targets.rule import kernel

_ARITHMETIC = {
    "relax.add": Element.add, "relax.subtract": Element.sub, "relax.multiply": Element.mul, "relax.divide": Element.div,
    "relax.floor_divide": Element.floor_div, "relax.maximum": Element.max, "relax.minimum": Element.min,
}  # fmt: skip
_COMPARISONS = {"relax.equal": "eq", "relax.not_equal": "ne", "relax.less": "lt", "relax.less_equal": "le", "relax.greater": "gt",
                "relax.greater_equal": "ge"}
_BITS = {"relax.logical_and": arith.andi, "relax.logical_or": arith.ori, "relax.logical_xor": arith.xori,
         "relax.bitwise_and": arith.andi, "relax.bitwise_or": arith.ori, "relax.bitwise_xor": arith.xori}


@kernel(*_ARITHMETIC)
def arithmetic(k, a, b, out):
    """Sums, products, quotients, extremes."""
    operation = _ARITHMETIC[k.name]
    return pointwise(k, out, [a, b], operation, contract=k.attrs.get("contract", False))


@kernel(*_COMPARISONS)
def comparison(k, a, b, out):
    """Comparisons; the result is boolean."""
    predicate = _COMPARISONS[k.name]
    return pointwise(k, out, [a, b], lambda e, a, b: e.compare(predicate, a, b))


@kernel(*_BITS)
def bits(k, a, b, out):
    """Logical and bitwise ops."""
    operation = _BITS[k.name]
    return pointwise(k, out, [a, b], lambda e, a, b: operation(a, b))


@kernel("relax.mod")
def mod(k, a, b, out):
    """The remainder with the sign of the divisor, or for fmod of the dividend."""
    return pointwise(k, out, [a, b], Element.rem if k.attrs["fmod"] else Element.mod)


def _shift(e: Element, a: ir.Value, b: ir.Value, left: bool) -> ir.Value:
    """A shift by at least the width shifts all bits out; the machine would use the count modulo the width."""
    unsigned = Element(ir.IntegerType.get_unsigned(e.bits))
    if left or e.is_unsigned:
        shifted = (arith.shli if left else arith.shrui)(a, b)
        return arith.select(unsigned.compare("lt", b, e.const(e.bits)), shifted, e.const(0))
    return arith.shrsi(a, unsigned.min(b, e.const(e.bits - 1)))


@kernel("relax.left_shift")
def left_shift(k, a, b, out):
    """a * 2^b."""
    return pointwise(k, out, [a, b], lambda e, a, b: _shift(e, a, b, left=True))


@kernel("relax.right_shift")
def right_shift(k, a, b, out):
    """a / 2^b; arithmetic for signed integers."""
    return pointwise(k, out, [a, b], lambda e, a, b: _shift(e, a, b, left=False))


def _integer_power(e: Element, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """Repeated squaring, with wrap-around. A negative exponent gives the truncated result: 0, 1 or -1."""
    zero, one = e.const(0), e.const(1)

    def step(result: ir.Value, power: ir.Value, left: ir.Value):
        odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(left, one), zero)
        return arith.select(odd, arith.muli(result, power), result), arith.muli(power, power), arith.shrui(left, one)

    loop = scf.WhileOp([e.type] * 3, [one, base, exponent])
    before = loop.before.blocks.append(e.type, e.type, e.type)
    with ir.InsertionPoint(before):
        scf.ConditionOp(arith.cmpi(arith.CmpIPredicate.ne, before.arguments[2], zero), list(before.arguments))
    after = loop.after.blocks.append(e.type, e.type, e.type)
    with ir.InsertionPoint(after):
        scf.YieldOp(list(step(*after.arguments)))
    result = loop.results[0]
    if e.is_unsigned:
        return result
    odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(exponent, one), zero)
    minus_one = arith.select(odd, base, one)
    tiny = arith.select(e.compare("eq", base, e.const(-1)), minus_one, arith.select(e.compare("eq", base, one), one, zero))
    return arith.select(e.compare("lt", exponent, zero), tiny, result)


@kernel("relax.power")
def power(k, a, b, out):
    """pow; products for the constant exponents 1, 2 and 3."""
    exponent = scalar_constant(b)

    def expression(e: Element, x: ir.Value, y: ir.Value) -> ir.Value:
        if exponent == 1:
            return x
        if exponent == 2:
            return e.mul(x, x)
        if exponent == 3:
            return e.mul(e.mul(x, x), x)
        return math.powf(x, y) if e.is_float else _integer_power(e, x, y)

    return pointwise(k, out, [a, b], expression)


@kernel("relax.prelu")
def prelu(k, x, slope, out):
    """x, or slope x below 0."""
    return pointwise(k, out, [x, slope], lambda e, x, slope: arith.select(e.compare("lt", x, e.const(0)), e.mul(x, slope), x))


@kernel("relax.where")
def where(k, condition, a, b, out):
    """Selection by a condition."""
    return pointwise(k, out, [condition, a, b], lambda e, condition, a, b: arith.select(condition, a, b))


@kernel("relax.clip")
def clip(k, x, out):
    """max(x, min), then the minimum with max."""
    low, high = k.attrs["min"], k.attrs["max"]

    def expression(e: Element, x: ir.Value) -> ir.Value:
        if low is not None:
            x = e.at_least(x, _bound(e, low, ceil))
        return x if high is None else e.at_most(x, _bound(e, high, floor))

    return pointwise(k, out, [x], expression)


def _bound(e: Element, value: float, rounding) -> float | int:
    """A bound as an element; for integers the nearest with the same effect."""
    if e.is_float:
        return value
    if isinf(value):
        return e.highest if value > 0 else e.lowest
    return min(max(rounding(value), e.lowest), e.highest)


RULES = (*arithmetic, *comparison, *bits, mod, left_shift, right_shift, power, prelu, where, clip)
