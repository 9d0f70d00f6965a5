"""Scalar arithmetic by relax's element types: floats, signed and unsigned integers, booleans.

MLIR's integers inside kernels are signless, so signedness is known from the relax type only. An ``Element`` has that type; its methods
build ops at the insertion point.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.halves import rounded_to_odd
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.narrow import decode, encode

_FLOAT = {"eq": "OEQ", "ne": "UNE", "lt": "OLT", "le": "OLE", "gt": "OGT", "ge": "OGE"}
_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
SIGNIFICAND = {32: 24, 64: 53}     # bits, the hidden one included, by the width of a float


@dataclass(frozen=True)
class Element:
    """A scalar type as in relax: ``relax`` may be unsigned (``ui8``); ``i1`` is a boolean, other signless integers are signed."""

    relax: ir.Type

    @cached_property
    def is_float(self) -> bool:
        """Whether it is a float that is computed in."""
        return isinstance(self.relax, ir.FloatType) and not self.is_narrow

    @cached_property
    def is_narrow(self) -> bool:
        """Whether it is stored as a byte, and converted to be computed in."""
        if isinstance(self.relax, ir.IntegerType):
            return 1 < self.relax.width < 8
        return isinstance(self.relax, ir.FloatType) and self.relax.width <= 8

    @cached_property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer or a boolean."""
        return isinstance(self.relax, ir.IntegerType) and (self.relax.is_unsigned or self.relax.width == 1)

    @cached_property
    def is_bool(self) -> bool:
        """Whether it is a boolean."""
        return isinstance(self.relax, ir.IntegerType) and self.relax.width == 1

    @cached_property
    def is_index(self) -> bool:
        """Whether it is ``index``."""
        return isinstance(self.relax, ir.IndexType)

    @cached_property
    def bits(self) -> int:
        """The number of bits in memory; 64 for ``index``, 1 for a boolean."""
        return 64 if self.is_index else 8 if self.is_narrow else self.relax.width

    @cached_property
    def type(self) -> ir.Type:
        """The type of its values in kernels: signless."""
        if self.is_narrow:
            return ir.IntegerType.get_signless(8)
        if isinstance(self.relax, ir.IntegerType) and not self.relax.is_signless:
            return ir.IntegerType.get_signless(self.relax.width)
        return self.relax

    @cached_property
    def wide(self) -> "Element":
        """The element to compute in: f32 for f16, bf16 and narrow floats, i32 for narrow integers, else itself."""
        if self.is_narrow:
            return Element(ir.IntegerType.get_signless(32) if isinstance(self.relax, ir.IntegerType) else ir.F32Type.get())
        return Element(ir.F32Type.get()) if self.is_float and self.bits < 32 else self

    @property
    def lowest(self) -> float | int:
        """The neutral element of maximum: -inf, or the least integer."""
        if self.is_float:
            return float("-inf")
        return 0 if self.is_unsigned else -(1 << self.bits - 1)

    @property
    def highest(self) -> float | int:
        """The neutral element of minimum: inf, or the greatest integer."""
        if self.is_float:
            return float("inf")
        return (1 << self.bits) - 1 if self.is_unsigned else (1 << self.bits - 1) - 1

    def const(self, value: float | int | bool) -> ir.Value:
        """``arith.constant``; integers wrap."""
        return arith.ConstantOp(self.type, self.attribute(value)).result

    def attribute(self, value: float | int | bool) -> ir.Attribute:
        """The constant as an attribute; integers wrap."""
        if self.is_narrow:
            value = int(np.array(value).astype(numpy_dtype(self.relax)).view(np.int8))
        if self.is_float:
            return ir.FloatAttr.get(self.type, float(value))
        value = int(value) & (1 << self.bits) - 1
        if value >> self.bits - 1 and not self.is_bool:
            value -= 1 << self.bits
        return ir.IntegerAttr.get(self.type, value)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a + b; integers wrap."""
        return arith.addf(a, b) if self.is_float else arith.addi(a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a - b; integers wrap."""
        return arith.subf(a, b) if self.is_float else arith.subi(a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a * b; integers wrap."""
        return arith.mulf(a, b) if self.is_float else arith.muli(a, b)

    def neg(self, a: ir.Value) -> ir.Value:
        """-a; integers wrap."""
        return arith.negf(a) if self.is_float else arith.subi(self.const(0), a)

    def abs(self, a: ir.Value) -> ir.Value:
        """``|a|``; the least signed integer is unchanged, as in numpy."""
        if self.is_float:
            return math.absf(a)
        if self.is_unsigned:
            return a
        return arith.select(self.compare("lt", a, self.const(0)), self.neg(a), a)

    def max(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The maximum; NaN if one is NaN."""
        if self.is_float:
            return arith.maximumf(a, b)
        return arith.maxui(a, b) if self.is_unsigned else arith.maxsi(a, b)

    def min(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The minimum; NaN if one is NaN."""
        if self.is_float:
            return arith.minimumf(a, b)
        return arith.minui(a, b) if self.is_unsigned else arith.minsi(a, b)

    def at_least(self, a: ir.Value, bound: float | int) -> ir.Value:
        """max(a, constant); NaN stays. One instruction, while ``arith.maximumf`` needs several."""
        bound = self.const(bound)
        return arith.select(self.compare("lt", a, bound), bound, a)

    def at_most(self, a: ir.Value, bound: float | int) -> ir.Value:
        """min(a, constant); NaN stays."""
        bound = self.const(bound)
        return arith.select(self.compare("gt", a, bound), bound, a)

    def compare(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Compares by eq, ne, lt, le, gt or ge. Returns an i1. With a NaN only ``ne`` holds."""
        if self.is_float:
            return arith.cmpf(arith.CmpFPredicate[_FLOAT[predicate]], a, b)
        table = _UNSIGNED if self.is_unsigned else _SIGNED
        return arith.cmpi(arith.CmpIPredicate[table[predicate]], a, b)

    def is_nan(self, a: ir.Value) -> ir.Value:
        """Whether a is NaN, as an i1."""
        if not self.is_float:
            return boolean().const(False)
        return arith.cmpf(arith.CmpFPredicate.UNO, a, a)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a / b; integers truncate. As in numpy, division by zero gives 0, and the least integer divided by -1 wraps; the machine's
        would trap."""
        if self.is_float:
            return arith.divf(a, b)
        return self._guarded(a, b, arith.divui if self.is_unsigned else arith.divsi, self.neg)

    def rem(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """C's remainder, with the sign of the dividend; 0 for an integer divided by zero."""
        if self.is_float:
            return arith.remf(a, b)
        return self._guarded(a, b, arith.remui if self.is_unsigned else arith.remsi, lambda _: self.const(0))

    def _guarded(self, a: ir.Value, b: ir.Value, operation, by_minus_one) -> ir.Value:
        zero, one = self.const(0), self.const(1)
        is_zero = self.compare("eq", b, zero)
        if self.is_unsigned:
            return arith.select(is_zero, zero, operation(a, arith.select(is_zero, one, b)))
        is_minus_one = self.compare("eq", b, self.const(-1))
        safe = arith.select(arith.ori(is_zero, is_minus_one), one, b)
        result = arith.select(is_minus_one, by_minus_one(a), operation(a, safe))
        return arith.select(is_zero, zero, result)

    def floor_div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a / b rounded down. Floats as in numpy: rounding a / b first could give the next whole number."""
        if self.is_float and self.bits == 16:   # in f32, which rounds none of the steps by as much
            a, b = (arith.extf(self.wide.type, x) for x in (a, b))
            return arith.truncf(self.type, self.wide._floor_div_float(a, b))
        if self.is_float:
            return self._floor_div_float(a, b)
        if self.is_unsigned:
            return self.div(a, b)
        quotient, rest = self.div(a, b), self.rem(a, b)
        return arith.select(self._signs_differ(rest, b), arith.subi(quotient, self.const(1)), quotient)

    def _floor_div_float(self, a: ir.Value, b: ir.Value) -> ir.Value:
        zero, one = self.const(0), self.const(1)
        plain, rest = arith.divf(a, b), self.rem(a, b)
        whole = arith.divf(arith.subf(a, rest), b)  # whole except for rounding
        whole = arith.select(self._signs_differ(rest, b), arith.subf(whole, one), whole)
        below = math.floor(whole)
        nearest = arith.select(self.compare("gt", arith.subf(whole, below), self.const(0.5)), arith.addf(below, one), below)
        signed = arith.select(self.compare("eq", whole, zero), math.copysign(zero, plain), nearest)
        return arith.select(self.compare("eq", b, zero), plain, signed)

    def mod(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The remainder with the sign of the divisor, like Python's ``%``."""
        rest = self.rem(a, b)
        if self.is_unsigned:
            return rest
        result = arith.select(self._signs_differ(rest, b), self.add(rest, b), rest)
        if not self.is_float:
            return result
        # a zero has the divisor's sign, as in numpy
        return arith.select(self.compare("eq", rest, self.const(0)), math.copysign(self.const(0), b), result)

    def _signs_differ(self, rest: ir.Value, b: ir.Value) -> ir.Value:
        """Whether rest is nonzero and its sign differs from b's."""
        zero = self.const(0)
        negative = arith.xori(self.compare("lt", rest, zero), self.compare("lt", b, zero))
        return arith.andi(self.compare("ne", rest, zero), negative)

    def cast(self, a: ir.Value, to: "Element") -> ir.Value:
        """``a`` converted to ``to``: floats to integers truncate and saturate, NaN gives 0; to bool is ``!= 0``; integers wrap."""
        if self.relax == to.relax:
            return a
        if self.is_narrow:
            return self.wide.cast(decode(a, self.relax), to)
        if to.is_narrow:
            return encode(self.cast(a, to.wide), to.relax)
        if self.type == to.type and self.is_unsigned == to.is_unsigned:
            return a
        if to.is_bool:
            return self.compare("ne", a, self.const(0))
        if self.is_index or to.is_index:
            return arith.index_castui(to.type, a) if self.is_unsigned else arith.index_cast(to.type, a)
        if self.is_float:
            return self._float_to_float(a, to) if to.is_float else self._saturate(a, to)
        if not to.is_float:
            if self.bits == to.bits:
                return a
            if self.bits > to.bits:
                return arith.trunci(to.type, a)
            return arith.extui(to.type, a) if self.is_unsigned else arith.extsi(to.type, a)
        convert = arith.uitofp if self.is_unsigned else arith.sitofp
        return to.wide._float_to_float(convert(to.wide.type, a), to)

    def widened(self, a: ir.Value, to: "Element") -> ir.Value:
        """``a`` converted to what ``to`` is computed in, for a result of type ``to``: an f64 is rounded once to f16, as by numpy; to bf16
        twice, as by ml_dtypes and torch."""
        return rounded_to_odd(a) if isinstance(self.relax, ir.F64Type) and isinstance(to.relax, ir.F16Type) else self.cast(a, to.wide)

    def contracted(self, a: ir.Value, to: "Element") -> ir.Value:
        """``cast`` between f16 or bf16 and f32 that says ``contract``: a pair of them that rounds a value in between is dropped by
        ``canonicalize``."""
        if not (self.is_float and to.is_float and {self.bits, to.bits} == {16, 32}):
            return self.cast(a, to)
        return (arith.truncf if to.bits < self.bits else arith.extf)(to.type, a, fastmath=arith.FastMathFlags.contract)

    def _float_to_float(self, a: ir.Value, to: "Element") -> ir.Value:
        if self.type == to.type:
            return a
        if self.bits < 32:
            return self.wide._float_to_float(arith.extf(self.wide.type, a), to)
        if to.bits < 32 and self.bits == 64:  # no library converts f64 to bf16 directly
            return arith.truncf(to.type, self.widened(a, to))
        return arith.truncf(to.type, a) if to.bits < self.bits else arith.extf(to.type, a)

    def _saturate(self, a: ir.Value, to: "Element") -> ir.Value:
        if self.bits < 32:
            return self.wide._saturate(arith.extf(self.wide.type, a), to)
        convert = arith.fptoui if to.is_unsigned else arith.fptosi
        if to.bits < SIGNIFICAND[self.bits]:    # the bounds are floats: no selects in narrow integers, which vectors are slow at
            ordered = arith.cmpf(arith.CmpFPredicate.ORD, a, a)
            low, high = self.const(float(to.lowest)), self.const(float(to.highest))
            a = arith.select(ordered, a, self.const(0))
            a = arith.select(self.compare("lt", a, low), low, a)
            return convert(to.type, arith.select(self.compare("gt", a, high), high, a))
        above = self.compare("ge", a, self.const(float(to.highest + 1)))
        below = self.compare("lt", a, self.const(float(to.lowest)))
        # out of range, the conversion is poison; the selects do not use it then
        low = arith.select(below, to.const(to.lowest), convert(to.type, a))
        result = arith.select(above, to.const(to.highest), low)
        ordered = arith.cmpf(arith.CmpFPredicate.ORD, a, a)
        return arith.select(ordered, result, to.const(0))


def boolean() -> Element:
    """The boolean element, in the current context."""
    return Element(ir.IntegerType.get_signless(1))


def index() -> Element:
    """The element of index values, in the current context."""
    return Element(ir.IndexType.get())
