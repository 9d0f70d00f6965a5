"""tir-simplify-conversions: conversions of floats to integers lose tests that bounds decide, and detours by narrow types.

What is clipped to the range of a type is converted to that type by tests of the same range: ``QuantizeLinear`` clips, and its conversion
saturates. Comparisons that never hold become false. An integer that a conversion makes, and that is widened, is made as wide at once: the
conversion is of no float that the narrow type does not hold.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

ROUNDING: dict[str, Callable[[float], float]] = {"math.roundeven": round, "math.floor": math.floor, "math.ceil": math.ceil,
                                                 "math.trunc": math.trunc}
WIDENING = {"arith.extsi": "arith.fptosi", "arith.extui": "arith.fptoui"}
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = (arith.CmpFPredicate.OLT, arith.CmpFPredicate.OLE, arith.CmpFPredicate.OGT,
                                            arith.CmpFPredicate.OGE)


@dataclass(frozen=True)
class FloatBounds:
    """The least and the greatest number that a float can be, if it is not NaN."""

    low: float = -math.inf
    high: float = math.inf

    def union(self, other: FloatBounds) -> FloatBounds:
        """The numbers of both."""
        return FloatBounds(min(self.low, other.low), max(self.high, other.high))

    def below(self, bound: float) -> FloatBounds:
        """The numbers up to a bound."""
        return FloatBounds(self.low, min(self.high, bound))

    def above(self, bound: float) -> FloatBounds:
        """The numbers from a bound on."""
        return FloatBounds(max(self.low, bound), self.high)


@dataclass(frozen=True)
class SimplifyConversions(ModulePass):
    """Comparisons of clipped floats that cannot hold become false; widened conversions to integers become conversions to wider ones."""

    name: ClassVar[str] = "tir-simplify-conversions"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.schedulable(module.module):
                known: dict[ir.Value, FloatBounds] = {}
                tests, casts = find(kernel.operation, "arith.cmpf"), find(kernel.operation, *WIDENING)
                if any([*(fold(op, known) for op in tests), *(widen(op) for op in casts)]):
                    context.kernels.drop(kernel)


def fold(op: ir.Operation, known: dict[ir.Value, FloatBounds]) -> bool:
    """Replaces one comparison by false, if it never holds. Returns whether it did."""
    a, b = (bounds_of(operand, known) for operand in op.operands)
    never = {LESS: a.low >= b.high, LESS_EQUAL: a.low > b.high, GREATER: a.high <= b.low, GREATER_EQUAL: a.high < b.low}
    if not never.get(_predicate(op), False):
        return False
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(arith.ConstantOp(op.results[0].type, ir.BoolAttr.get(False)).result)
    op.erase()
    return True


def widen(op: ir.Operation) -> bool:
    """Replaces the extension of a converted float by a conversion to the wide type. Returns whether it did."""
    made = op.operands[0].owner
    if isinstance(made, ir.Block) or made.name != WIDENING[op.name]:
        return False
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(ir.Operation.create(made.name, [op.results[0].type], list(made.operands)).results[0])
    op.erase()
    return True


def bounds_of(value: ir.Value, known: dict[ir.Value, FloatBounds]) -> FloatBounds:
    """What is known of a scalar float."""
    if value not in known:
        known[value] = _computed(value, known)
    return known[value]


def _computed(value: ir.Value, known: dict[ir.Value, FloatBounds]) -> FloatBounds:
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or not isinstance(value.type, ir.FloatType):
        return FloatBounds()
    if op.name == "arith.constant":
        number = ir.FloatAttr(op.attributes["value"]).value
        return FloatBounds() if math.isnan(number) else FloatBounds(number, number)
    if op.name in ROUNDING:
        found = bounds_of(op.operands[0], known)
        low, high = (ROUNDING[op.name](bound) if math.isfinite(bound) else bound for bound in (found.low, found.high))
        return FloatBounds(low, high)
    if op.name == "arith.select":
        condition, *chosen = op.operands
        holds, fails = (_under(condition, branch, outcome, known) for branch, outcome in zip(chosen, (True, False)))
        return holds.union(fails)
    return FloatBounds()


def _under(condition: ir.Value, value: ir.Value, outcome: bool, known: dict[ir.Value, FloatBounds]) -> FloatBounds:
    """What is known of a value where a condition, that it is less or greater than another one, has this outcome."""
    found = bounds_of(value, known)
    op = None if isinstance(condition.owner, ir.Block) else condition.owner.operation
    if op is None or op.name != "arith.cmpf" or op.operands[0] != value:
        return found
    bound, predicate = bounds_of(op.operands[1], known), _predicate(op)
    if predicate in (LESS, LESS_EQUAL):
        return found.below(bound.high) if outcome else found.above(bound.low)
    if predicate in (GREATER, GREATER_EQUAL):
        return found.above(bound.low) if outcome else found.below(bound.high)
    return found


def _predicate(op: ir.Operation) -> arith.CmpFPredicate:
    return arith.CmpFPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
