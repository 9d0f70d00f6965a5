"""Whole floats that are clipped, as ``QuantizeLinear`` makes them in front of a conversion to an integer."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.structured.float_bounds import GREATER, LESS, ORDERED, predicate_of
from legato.core.ir_helpers import constant_number, defining_op, element_of
from legato.core.mlir import arith, ir

EXACT = 1 << 23     # up to here, f32 has all integers, and sums of two


@dataclass(frozen=True)
class ClippedSum:
    """``clip(x + term)`` of scalars or vectors of f32: ``steps`` are its selections, the innermost first, each with its comparison and the
    constant that takes the value's place where the comparison holds: where it is less, or greater, than the constant, and where it is NaN
    (``ORDERED``). ``at_least``: whether the first step keeps what is greater than its constant, so that NaN becomes the constant."""

    x: ir.Value
    term: int
    steps: Sequence[tuple[arith.CmpFPredicate, int]]
    at_least: bool = False

    @classmethod
    def of(cls, value: ir.Value) -> ClippedSum | None:
        """What makes a value of f32; None where it is not made so, or other ops read what comes before it. There may be no steps, and no
        term."""
        steps: list[tuple[arith.CmpFPredicate, int]] = []
        at_least, op = False, defining_op(value)
        while op is not None and op.name == "arith.select" and not at_least:
            test, constants = defining_op(op.operands[0]), [whole_constant(operand) for operand in op.operands[1:]]
            if test is None or test.name != "arith.cmpf":
                return None
            predicate = predicate_of(test)
            at_least = predicate == GREATER and constants[1] is not None
            inner, constant = (op.operands[1], constants[1]) if predicate == ORDERED or at_least else (op.operands[2], constants[0])
            if predicate not in (ORDERED, LESS, GREATER) or constant is None or test.operands[0] != inner:
                return None
            if whole_constant(test.operands[1]) != constant if predicate != ORDERED else test.operands[1] != inner:
                return None
            if not {use.owner.operation for use in inner.uses} <= {op, test}:
                return None
            steps.insert(0, (LESS if at_least else predicate, constant))
            value, op = inner, defining_op(inner)
        if not isinstance(element_of(value.type), ir.F32Type):
            return None
        term = whole_constant(op.operands[1]) if op is not None and op.name == "arith.addf" else None
        return cls(value, 0, steps, at_least) if op is None or term is None else cls(op.operands[0], term, steps, at_least)

    def clipped(self, value: ir.Value, more: int = 0) -> ir.Value:
        """A value after the steps, whose constants are greater by ``more``, at the insertion point."""
        for number, (predicate, constant) in enumerate(self.steps):
            other = splat(value.type, constant + more)
            if predicate == ORDERED:
                value = arith.select(arith.cmpf(predicate, value, value), value, other)
            elif number == 0 and self.at_least:
                value = arith.select(arith.cmpf(GREATER, value, other), value, other)
            else:
                value = arith.select(arith.cmpf(predicate, value, other), other, value)
        return value

    def shifted(self, more: int) -> ir.Value:
        """The sum and ``more``, at the insertion point."""
        term = self.term + more
        return self.clipped(arith.addf(self.x, splat(self.x.type, term)) if term else self.x, more)


def whole_constant(value: ir.Value) -> int | None:
    """A constant that is a whole number, in all lanes, of which f32 has all near ones."""
    number = constant_number(value) if isinstance(element_of(value.type), (ir.F32Type, ir.IntegerType)) else None
    return int(number) if number is not None and abs(number) <= EXACT and number == int(number) else None


def splat(type_: ir.Type, number: int) -> ir.Value:
    """A constant of f32, in all lanes of a vector, at the insertion point."""
    attribute = ir.FloatAttr.get(element_of(type_), float(number))
    is_vector = isinstance(type_, ir.VectorType)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, attribute) if is_vector else attribute).result
