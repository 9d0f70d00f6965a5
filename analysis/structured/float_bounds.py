"""What is known of the numbers that a scalar in a body can be: their range, and whether they are whole, and numbers at all."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from legato.analysis.structured.ops import producer
from legato.core.mlir import arith, ir

ROUNDING: dict[str, Callable[[float], float]] = {"math.roundeven": round, "math.floor": math.floor, "math.ceil": math.ceil,
                                                 "math.trunc": math.trunc}
ARITHMETIC: dict[str, Callable[[float, float], float]] = {"arith.addf": lambda a, b: a + b, "arith.subf": lambda a, b: a - b,
                                                          "arith.mulf": lambda a, b: a * b}
INTEGER_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b}
RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
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
    """What is known of the scalars of a module that does not change meanwhile. ``arguments``: what is known of the elements of kernels'
    arguments."""

    def __init__(self, arguments: Mapping[ir.Value, FloatBounds] | None = None) -> None:
        self._arguments = arguments or {}
        self._known: dict[ir.Value, FloatBounds] = {}

    def of(self, value: ir.Value) -> FloatBounds:
        """What is known of a scalar, an integer being signed."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: ir.Value) -> FloatBounds:
        if isinstance(value.type, ir.IntegerType):
            return self._integer(value)
        op = producer(value)
        if op is None or not isinstance(value.type, ir.FloatType):
            return self._arguments.get(_tensor_of(value), FloatBounds())
        if op.name == "arith.constant":
            number = ir.FloatAttr(op.attributes["value"]).value
            whole = math.isfinite(number) and number == round(number)
            return FloatBounds() if math.isnan(number) else FloatBounds(number, number, True, whole)
        if op.name in ROUNDING:
            found = self.of(op.operands[0])
            low, high = (ROUNDING[op.name](bound) if math.isfinite(bound) else bound for bound in (found.low, found.high))
            return FloatBounds(low, high, found.some, True)
        if op.name == "arith.select":
            condition, *chosen = op.operands
            holds, fails = (self._under(condition, branch, outcome) for branch, outcome in zip(chosen, (True, False)))
            return holds.union(fails)
        if op.name in ("arith.sitofp", "arith.uitofp") and isinstance(value.type, ir.F32Type):
            whole = self.of(op.operands[0])
            found = whole if op.name == "arith.sitofp" or whole.low >= 0 else FloatBounds(0, 2.0 ** op.operands[0].type.width)
            return _outward(replace(found, some=True, whole=True))
        if op.name in ARITHMETIC and isinstance(value.type, ir.F32Type):
            a, b = map(self.of, op.operands)
            ends = [ARITHMETIC[op.name](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            if any(map(math.isnan, ends)):    # infinities that cancel, or times 0
                return FloatBounds()
            is_some = (a.finite and b.finite) or (op.name != "arith.mulf" and (a.finite or b.finite))    # no such infinities
            return _outward(FloatBounds(min(ends), max(ends), a.some and b.some and is_some))
        return FloatBounds()

    def _integer(self, value: ir.Value) -> FloatBounds:
        op, bits = producer(value), value.type.width
        every = FloatBounds(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1, True, True)
        found = every
        if op is None:
            return every
        if op.name == "arith.constant":
            number = ir.IntegerAttr(op.attributes["value"]).value
            found = FloatBounds(number, number, True, True)
        elif op.name in ("arith.fptosi", "arith.fptoui"):
            given = self.of(op.operands[0])      # of a float that the type holds
            found = FloatBounds(math.trunc(given.low), math.trunc(given.high), True, True) if given.finite else every
        elif op.name == "arith.extsi":
            found = self.of(op.operands[0])
        elif op.name in INTEGER_ARITHMETIC:
            a, b = map(self.of, op.operands)
            ends = [INTEGER_ARITHMETIC[op.name](x, y) for x in (int(a.low), int(a.high)) for y in (int(b.low), int(b.high))]
            found = FloatBounds(min(ends), max(ends), True, True)
        return found if every.low <= found.low and found.high <= every.high else every

    def _under(self, condition: ir.Value, value: ir.Value, outcome: bool) -> FloatBounds:
        """What is known of a value where a condition, that it is less or greater than another one, or not NaN, has this outcome."""
        found, op = self.of(value), producer(condition)
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
    while (op := producer(tensor)) is not None and op.name in RESHAPES:
        tensor = op.operands[0]
    return tensor


def predicate_of(op: ir.Operation) -> arith.CmpFPredicate:
    """The predicate of a comparison of floats."""
    return arith.CmpFPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)


def _outward(found: FloatBounds) -> FloatBounds:
    """The bounds of what is rounded to f32: what f32 has stays a bound."""
    with np.errstate(over="ignore"):
        low, high = (end if np.float32(end) == end else float(np.nextafter(np.float32(end), np.float32(far)))
                     for end, far in ((found.low, -np.inf), (found.high, np.inf)))
    return replace(found, low=low, high=high)
