"""Builds expressions of f32 or f64 on scalars and vectors of any rank, with the bit operations that elementary functions need."""
from collections.abc import Sequence

from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.markers import ESTIMATE

OEQ, OGT, OLT, ORD, UNO = 1, 2, 4, 7, 14
MANTISSA = {32: 23, 64: 52}    # bits of a float, by its width


class Builder:
    """Expressions over one type: f32, f64, or vectors of them. Every method builds at the insertion point and returns the value."""

    def __init__(self, type_: ir.Type):
        self.type = type_
        self.shape = list(type_.shape) if isinstance(type_, ir.VectorType) else None
        self.element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        self.width = 64 if isinstance(self.element, ir.F64Type) else 32
        self.word = ir.IntegerType.get_signless(self.width)
        self.integers = self.like(self.word)

    def like(self, element: ir.Type) -> ir.Type:
        """The type of the same shape with another element type."""
        return element if self.shape is None else ir.VectorType.get(self.shape, element)

    def constant(self, type_: ir.Type, attribute: ir.Attribute) -> ir.Value:
        """A constant of ``type_``; ``attribute`` is the scalar's."""
        if isinstance(type_, ir.VectorType):
            attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
        return arith.ConstantOp(type_, attribute).result

    def number(self, x: float) -> ir.Value:
        """A constant."""
        return self.constant(self.type, ir.FloatAttr.get(self.element, float(x)))

    def integer(self, x: int) -> ir.Value:
        """A constant of as many bits as a float has, given unsigned or signed."""
        return self.constant(self.integers, ir.IntegerAttr.get(self.word, x - (1 << self.width) if x >> (self.width - 1) > 0 else x))

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a * b + c, rounded once."""
        return math.FmaOp(a, b, c).result

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a * b."""
        return arith.MulFOp(a, b).result

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a + b."""
        return arith.AddFOp(a, b).result

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a - b."""
        return arith.SubFOp(a, b).result

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a / b."""
        return arith.DivFOp(a, b).result

    def estimated_reciprocal(self, a: ir.Value) -> ir.Value:
        """1 / a with a relative error of up to 2^-14, for normal numbers a; exact where the target has no faster estimate."""
        return marked(arith.DivFOp(self.number(1.0), a).result, ESTIMATE)

    def neg(self, a: ir.Value) -> ir.Value:
        """-a."""
        return arith.NegFOp(a).result

    def size(self, a: ir.Value) -> ir.Value:
        """|a|."""
        return math.AbsFOp(a).result

    def bits(self, a: ir.Value) -> ir.Value:
        """The bits of floats as integers."""
        return arith.BitcastOp(self.integers, a).result

    def from_bits(self, a: ir.Value) -> ir.Value:
        """The floats with these bits."""
        return arith.BitcastOp(self.type, a).result

    def iadd(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a + b of integers."""
        return arith.AddIOp(a, b).result

    def isub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a - b of integers."""
        return arith.SubIOp(a, b).result

    def iand(self, a: ir.Value, mask: int) -> ir.Value:
        """The bits of a in the mask."""
        return arith.AndIOp(a, self.integer(mask)).result

    def ior(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Bitwise or."""
        return arith.OrIOp(a, b).result

    def shl(self, a: ir.Value, count: int) -> ir.Value:
        """Shift left."""
        return arith.ShLIOp(a, self.integer(count)).result

    def sar(self, a: ir.Value, count: int) -> ir.Value:
        """Arithmetic shift right."""
        return arith.ShRSIOp(a, self.integer(count)).result

    def to_float(self, a: ir.Value) -> ir.Value:
        """Signed integers converted to floats."""
        return arith.SIToFPOp(self.type, a).result

    def compare(self, predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
        """Compares floats by one of arith's predicates."""
        return arith.CmpFOp(predicate, a, b).result

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a < b; false with a NaN."""
        return self.compare(OLT, a, b)

    def negative(self, a: ir.Value) -> ir.Value:
        """Whether the sign bit is set: also of -0 and of NaNs."""
        return arith.CmpIOp(arith.CmpIPredicate.slt, self.bits(a), self.integer(0)).result

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """a where the condition holds, else b."""
        return arith.SelectOp(condition, a, b).result

    def at_most(self, x: ir.Value, bound: float) -> ir.Value:
        """min(x, bound), one instruction; a NaN in x stays."""
        c = self.number(bound)
        return self.select(self.less(c, x), c, x)

    def at_least(self, x: ir.Value, bound: float) -> ir.Value:
        """max(x, bound), one instruction; a NaN in x stays."""
        c = self.number(bound)
        return self.select(self.less(x, c), c, x)

    def keep_sign(self, value: ir.Value, x: ir.Value) -> ir.Value:
        """``value``, which has x's sign except for a zero, with x's sign."""
        return self.from_bits(self.ior(self.bits(value), self.iand(self.bits(x), 1 << (self.width - 1))))

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """A polynomial by Horner's scheme; the coefficient of the highest power comes first."""
        result = self.number(coefficients[0])
        for c in coefficients[1:]:
            result = self.fma(result, x, self.number(c))
        return result

    def power(self, exponent: ir.Value) -> ir.Value:
        """2^exponent for exponents of normal numbers."""
        mantissa = MANTISSA[self.width]
        bias = (1 << (self.width - mantissa - 2)) - 1
        return self.from_bits(self.shl(self.iadd(exponent, self.integer(bias)), mantissa))
