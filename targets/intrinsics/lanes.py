"""Arithmetic on scalars or vectors, and access to their bits, for expressions of intrinsics."""
from dataclasses import dataclass
from functools import cached_property

from legato.core.mlir import arith, ir, math
from legato.targets.builders.element import Element

MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


@dataclass(frozen=True)
class Lanes(Element):
    """An ``Element`` with a vector's shape (None: scalars). Arguments and results of its methods have this shape."""

    shape: tuple[int, ...] | None = None

    @staticmethod
    def of(type_: ir.Type, unsigned: bool = False) -> "Lanes":
        """The Lanes of a value's type; signless integers count as unsigned if ``unsigned``."""
        shape = tuple(type_.shape) if isinstance(type_, ir.VectorType) else None
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        if unsigned and isinstance(element, ir.IntegerType) and element.width > 1:
            element = ir.IntegerType.get_unsigned(element.width)
        return Lanes(element, shape)

    @cached_property
    def type(self) -> ir.Type:
        element = Element(self.relax).type
        return element if self.shape is None else ir.VectorType.get(self.shape, element)

    @cached_property
    def wide(self) -> "Lanes":
        return Lanes(Element(self.relax).wide.relax, self.shape)

    def attribute(self, value: float | int | bool) -> ir.Attribute:
        element = Element(self.relax).attribute(value)
        return element if self.shape is None else ir.DenseElementsAttr.get_splat(self.type, element)

    def over(self, element: ir.Type) -> "Lanes":
        """The same shape with another element type (``ui8`` for unsigned)."""
        return Lanes(element, self.shape)

    # --- the bits of floats ---

    @cached_property
    def mantissa(self) -> int:
        """The number of explicit mantissa bits of the float."""
        return MANTISSA[str(self.relax)]

    @cached_property
    def bias(self) -> int:
        """The bias of the float's exponent."""
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @cached_property
    def ints(self) -> "Lanes":
        """Signed integers of the same width."""
        return self.over(ir.IntegerType.get_signless(self.bits))

    def to_bits(self, x: ir.Value) -> ir.Value:
        """The bits of floats as ``ints``."""
        return arith.BitcastOp(self.ints.type, x).result

    def from_bits(self, x: ir.Value) -> ir.Value:
        """The floats with these bits."""
        return arith.BitcastOp(self.type, x).result

    def power_of_two(self, exponent: ir.Value) -> ir.Value:
        """2^exponent, for ``ints`` that are exponents of normal numbers."""
        ints = self.ints
        return self.from_bits(arith.shli(arith.addi(exponent, ints.const(self.bias)), ints.const(self.mantissa)))

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a * b + c, rounded once."""
        return math.fma(a, b, c)

    def is_inf(self, x: ir.Value) -> ir.Value:
        """Whether x is infinite."""
        return self.compare("eq", math.absf(x), self.const(float("inf")))

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """a where the condition holds, else b."""
        return arith.select(condition, a, b)

    def polynomial(self, x: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
        """A polynomial by Horner's scheme; the coefficient of the highest power comes first."""
        result = self.const(coefficients[0])
        for c in coefficients[1:]:
            result = self.fma(result, x, self.const(c))
        return result
