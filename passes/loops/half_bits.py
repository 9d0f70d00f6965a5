"""Casts of half floats as arithmetic on their bits."""
from collections.abc import Callable

from legato.core.ir_helpers import element_of, with_element
from legato.core.mlir import arith, ir


class HalfBits:
    """Builds integer arithmetic on scalars or vectors of one shape at the insertion point. Operands may be Python ints."""

    def __init__(self, shape: ir.Type) -> None:
        """``shape``: a type with the common shape."""
        self.f32, self.i16, self.i32 = (with_element(shape, t) for t in (
            ir.F32Type.get(), ir.IntegerType.get_signless(16), ir.IntegerType.get_signless(32)))

    def constant(self, value: int, type_: ir.Type | None = None) -> ir.Value:
        """A number, or a vector of equal ones; negative where bit 31 is set."""
        type_ = type_ or self.i32
        attribute = ir.IntegerAttr.get(element_of(type_), value - (1 << 32) if value >> 31 else value)
        if isinstance(type_, ir.VectorType):
            attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
        return arith.ConstantOp(type_, attribute).result

    def binary(self, build: Callable[..., ir.OpView], a: ir.Value, b: ir.Value | int) -> ir.Value:
        """What ``build`` makes of two operands."""
        return build(a, self.constant(b) if isinstance(b, int) else b).result

    def add(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """a + b."""
        return self.binary(arith.AddIOp, a, b)

    def masked(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """The bits that both have."""
        return self.binary(arith.AndIOp, a, b)

    def joined(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """The bits that one has, or the other."""
        return self.binary(arith.OrIOp, a, b)

    def left(self, a: ir.Value, count: int) -> ir.Value:
        """The bits shifted to higher places."""
        return self.binary(arith.ShLIOp, a, count)

    def right(self, a: ir.Value, count: int) -> ir.Value:
        """The bits shifted to lower places; zeros follow."""
        return self.binary(arith.ShRUIOp, a, count)

    def below(self, a: ir.Value, b: int) -> ir.Value:
        """Unsigned a < b."""
        return arith.CmpIOp(arith.CmpIPredicate.ult, a, self.constant(b)).result

    def select(self, condition: ir.Value, a: ir.Value | int, b: ir.Value | int) -> ir.Value:
        """``a`` where the condition holds, else ``b``."""
        a, b = (self.constant(v) if isinstance(v, int) else v for v in (a, b))
        return arith.SelectOp(condition, a, b).result

    def as_float(self, a: ir.Value | int) -> ir.Value:
        """The f32 with these bits."""
        return arith.BitcastOp(self.f32, self.constant(a) if isinstance(a, int) else a).result

    def of(self, x: ir.Value, type_: ir.Type | None = None) -> ir.Value:
        """The bits of a value."""
        return arith.BitcastOp(type_ or self.i32, x).result


def from_bf16(bits: HalfBits, half: ir.Value) -> ir.Value:
    """f32 from bf16 bits in an i32: the bits are the upper half of the f32."""
    return bits.as_float(bits.left(half, 16))


def to_bf16(bits: HalfBits, x: ir.Value) -> ir.Value:
    """bf16 bits, in an i32, of an f32: rounded to nearest even; a NaN becomes a quiet NaN."""
    pattern = bits.of(x)
    odd = bits.masked(bits.right(pattern, 16), 1)
    rounded = bits.add(bits.add(pattern, 0x7FFF), odd)
    is_nan = arith.CmpFOp(arith.CmpFPredicate.UNO, x, x).result
    return bits.right(bits.select(is_nan, bits.joined(pattern, 0x00400000), rounded), 16)


def from_f16(bits: HalfBits, half: ir.Value) -> ir.Value:
    """f32 from f16 bits in an i32: exponent and fraction shifted, exponent rebiased; subnormals are normalized by a subtraction in
    f32."""
    magnitude = bits.left(bits.masked(half, 0x7FFF), 13)
    normal = bits.add(magnitude, (127 - 15) << 23)
    special = bits.add(normal, (128 - 16) << 23)  # infinities and NaN
    small = bits.of(arith.SubFOp(bits.as_float(bits.add(normal, 1 << 23)), bits.as_float(113 << 23)).result)
    finite = bits.select(bits.below(magnitude, 1 << 23), small, normal)
    found = bits.select(bits.below(magnitude, 0x7C00 << 13), finite, special)
    return bits.as_float(bits.joined(found, bits.left(bits.masked(half, 0x8000), 16)))


def to_f16(bits: HalfBits, x: ir.Value) -> ir.Value:
    """f16 bits, in an i32, of an f32: rounded to nearest even. Results that are subnormal are rounded by an addition in f32."""
    pattern = bits.of(x)
    sign = bits.masked(pattern, 0x80000000)
    magnitude = bits.binary(arith.XOrIOp, pattern, sign)
    odd = bits.masked(bits.right(magnitude, 13), 1)
    normal = bits.right(bits.add(bits.add(magnitude, (((15 - 127) << 23) + 0xFFF) & 0xFFFFFFFF), odd), 13)
    shift = ((127 - 15) + (23 - 10) + 1) << 23
    sum_ = arith.AddFOp(bits.as_float(magnitude), bits.as_float(shift)).result
    small = bits.add(bits.of(sum_), -shift & 0xFFFFFFFF)
    special = bits.select(bits.below(magnitude, (255 << 23) + 1), 0x7C00, 0x7E00)  # overflow to infinity, or NaN
    finite = bits.select(bits.below(magnitude, 113 << 23), small, normal)
    found = bits.select(bits.below(magnitude, (127 + 16) << 23), finite, special)
    return bits.joined(found, bits.right(sign, 16))
