"""What is known of the numbers that a scalar in a body, or a lane of a vector, can be: their range, and whether they are whole, and
numbers at all."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from legato.core.ir_helpers import constant_number, defining_op, element_of
from legato.core.mlir import arith, ir
from legato.dialects.tir.markers import MAGNITUDE

ROUNDING: dict[str, Callable[[float], float]] = {"math.roundeven": round, "math.floor": math.floor, "math.ceil": math.ceil,
                                                 "math.trunc": math.trunc}
ARITHMETIC: dict[str, Callable[[float, float], float]] = {"arith.addf": lambda a, b: a + b, "arith.subf": lambda a, b: a - b,
                                                          "arith.mulf": lambda a, b: a * b}
INTEGER_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b}
RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
VIEWS = ("memref.collapse_shape", "memref.expand_shape", "memref.subview", "memref.cast")
READS = ("vector.transfer_read", "vector.load")
SAME_NUMBERS = ("vector.broadcast", "vector.shape_cast", "vector.transpose", "vector.extract")
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, ORDERED = (arith.CmpFPredicate.OLT, arith.CmpFPredicate.OLE, arith.CmpFPredicate.OGT,
                                                     arith.CmpFPredicate.OGE, arith.CmpFPredicate.ORD)


@dataclass(frozen=True)
class FloatBounds:
    """The least and the greatest number that a value can be, if it is not NaN. ``some``: whether it is never NaN; ``whole``: whether it
    has no fraction, where it is finite."""

    low: float = -math.inf
    high: float = math.inf
    some: bool = False
    whole: bool = False

    @property
    def finite(self) -> bool:
        """Whether it is neither NaN nor infinite."""
        return self.some and math.isfinite(self.low) and math.isfinite(self.high)

    def union(self, other: FloatBounds) -> FloatBounds:
        """The numbers of both."""
        return FloatBounds(min(self.low, other.low), max(self.high, other.high), self.some and other.some, self.whole and other.whole)

    def below(self, bound: float) -> FloatBounds:
        """The numbers up to a bound."""
        return replace(self, high=min(self.high, bound))

    def above(self, bound: float) -> FloatBounds:
        """The numbers from a bound on."""
        return replace(self, low=max(self.low, bound))


class KnownBounds:
    """What is known of the scalars, or the lanes of vectors, of a module that does not change meanwhile. ``arguments``: what is known of
    the elements of kernels' arguments, which in buffers is said by an attribute."""

    def __init__(self, arguments: Mapping[ir.Value, FloatBounds] | None = None) -> None:
        self._arguments = arguments or {}
        self._known: dict[ir.Value, FloatBounds] = {}

    def of(self, value: ir.Value) -> FloatBounds:
        """What is known of a scalar or a lane, an integer being signed."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: ir.Value) -> FloatBounds:
        type_ = element_of(value.type)
        if isinstance(type_, ir.IntegerType):
            return self._integer(value)
        op = defining_op(value)
        if op is None or not isinstance(type_, ir.FloatType):
            return self._arguments.get(_tensor_of(value), FloatBounds())
        if op.name == "arith.constant":
            number = constant_number(value)
            whole = number is not None and math.isfinite(number) and number == round(number)
            return FloatBounds() if number is None or math.isnan(number) else FloatBounds(number, number, True, whole)
        if op.name in SAME_NUMBERS:
            return self.of(op.operands[0])
        if op.name in READS:
            return _read_bounds(op.operands[0])
        if op.name in ROUNDING:
            found = self.of(op.operands[0])
            low, high = (ROUNDING[op.name](bound) if math.isfinite(bound) else bound for bound in (found.low, found.high))
            return FloatBounds(low, high, found.some, True)
        if op.name == "arith.select":
            condition, *chosen = op.operands
            holds, fails = (self._under(condition, branch, outcome) for branch, outcome in zip(chosen, (True, False)))
            return holds.union(fails)
        if op.name in ("arith.sitofp", "arith.uitofp") and isinstance(type_, ir.F32Type):
            whole = self.of(op.operands[0])
            greatest = 2.0 ** element_of(op.operands[0].type).width - 1
            found = whole if op.name == "arith.sitofp" or whole.low >= 0 else FloatBounds(0, greatest)
            return _outward(replace(found, some=True, whole=True))
        if op.name in ARITHMETIC and isinstance(type_, ir.F32Type):
            a, b = map(self.of, op.operands)
            ends = [ARITHMETIC[op.name](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            if any(map(math.isnan, ends)):    # infinities that cancel, or times 0
                return FloatBounds()
            is_some = (a.finite and b.finite) or (op.name != "arith.mulf" and (a.finite or b.finite))    # no such infinities
            return _outward(FloatBounds(min(ends), max(ends), a.some and b.some and is_some))
        if op.name == "arith.divf" and isinstance(type_, ir.F32Type):
            return _quotient(*map(self.of, op.operands))
        return FloatBounds()

    def _integer(self, value: ir.Value) -> FloatBounds:
        op, bits = defining_op(value), element_of(value.type).width
        every = FloatBounds(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1, True, True)
        found = every
        if op is None:
            return every
        if op.name == "arith.constant" and (number := constant_number(value)) is not None:
            found = FloatBounds(number, number, True, True)
        elif op.name in ("arith.fptosi", "arith.fptoui"):
            given = self.of(op.operands[0])      # of a float that the type holds
            found = FloatBounds(math.trunc(given.low), math.trunc(given.high), True, True) if given.finite else every
        elif op.name == "arith.extsi":
            found = self.of(op.operands[0])
        elif op.name == "arith.extui":
            found = FloatBounds(0, 2.0 ** element_of(op.operands[0].type).width - 1, True, True)
        elif op.name in INTEGER_ARITHMETIC:
            a, b = map(self.of, op.operands)
            ends = [INTEGER_ARITHMETIC[op.name](x, y) for x in (int(a.low), int(a.high)) for y in (int(b.low), int(b.high))]
            found = FloatBounds(min(ends), max(ends), True, True)
        return found if every.low <= found.low and found.high <= every.high else every

    def _under(self, condition: ir.Value, value: ir.Value, outcome: bool) -> FloatBounds:
        """What is known of a value where a condition, that it is less or greater than another one, or not NaN, has this outcome."""
        found, op = self.of(value), defining_op(condition)
        if op is None or op.name != "arith.cmpf" or op.operands[0] != value:
            return found
        bound, predicate = self.of(op.operands[1]), predicate_of(op)
        if predicate == ORDERED and outcome:
            return replace(found, some=True)
        if not outcome and not bound.some:
            return found            # nothing is less or greater than NaN
        if outcome and predicate in (LESS, LESS_EQUAL, GREATER, GREATER_EQUAL):
            found = replace(found, some=True)
        if predicate in (LESS, LESS_EQUAL):
            return found.below(bound.high) if outcome else found.above(bound.low)
        if predicate in (GREATER, GREATER_EQUAL):
            return found.above(bound.low) if outcome else found.below(bound.high)
        return found


def _tensor_of(value: ir.Value) -> ir.Value | None:
    """The tensor, before reshapes, whose element is an argument of the body of a structured op; None for another value."""
    block = value.owner
    if not isinstance(block, ir.Block) or block.owner.name != "linalg.generic":
        return None
    tensor = block.owner.operands[ir.BlockArgument(value).arg_number]
    while (op := defining_op(tensor)) is not None and op.name in RESHAPES:
        tensor = op.operands[0]
    return tensor


def _read_bounds(buffer: ir.Value) -> FloatBounds:
    """The bounds of what is read from a buffer; padding is one of its numbers, or 0."""
    while (op := defining_op(buffer)) is not None and op.name in VIEWS:
        buffer = op.operands[0]
    kernel = buffer.owner.owner.operation if isinstance(buffer.owner, ir.Block) else None
    if kernel is None or kernel.name != "func.func" or "arg_attrs" not in kernel.attributes:
        return FloatBounds()
    known = ir.DictAttr(kernel.attributes["arg_attrs"][ir.BlockArgument(buffer).arg_number])
    if MAGNITUDE not in known:
        return FloatBounds()
    most = ir.FloatAttr(known[MAGNITUDE]).value
    return FloatBounds(-most, most, some=True)


def predicate_of(op: ir.Operation) -> arith.CmpFPredicate:
    """The predicate of a comparison of floats."""
    return arith.CmpFPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)


def _quotient(a: FloatBounds, b: FloatBounds) -> FloatBounds:
    """The bounds of what is divided by a finite number other than 0, which is NaN only where the dividend is."""
    if not b.finite or b.low <= 0 <= b.high:
        return FloatBounds()
    ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _outward(FloatBounds(min(ends), max(ends), a.some))


def _outward(found: FloatBounds) -> FloatBounds:
    """The bounds of what is rounded to f32: what f32 has stays a bound."""
    with np.errstate(over="ignore"):
        low, high = (end if float(np.float32(end)) == end else float(np.nextafter(np.float32(end), np.float32(far)))
                     for end, far in ((found.low, -np.inf), (found.high, np.inf)))
    return replace(found, low=low, high=high)
