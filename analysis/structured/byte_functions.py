"""Elementwise ops of one value that end in an integer of 8 bits: their results for all values that differ are a table.

A layer that is quantized, dequantized, clipped by an activation and quantized for the next layer is such a function of its first rounding.
Each op on the way never falls where its operand rises, so that the function is constant beyond the values at which it is that of an
infinity.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from legato.analysis.structured.float_bounds import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, ORDERED, predicate_of
from legato.core.ir_helpers import constant_number, defining_op, element_of, present
from legato.core.mlir import arith, ir

FARTHEST = 1 << 11      # whole floats up to here are tried
SIZE = 256              # numbers of a table
ROUNDING, PRODUCT, QUOTIENT, SUM, SELECTION = "math.roundeven", "arith.mulf", "arith.divf", "arith.addf", "arith.select"
BELOW, ABOVE = (LESS, LESS_EQUAL), (GREATER, GREATER_EQUAL)


@dataclass(frozen=True)
class ByteFunction:
    """The ops from a float that is rounded to an integer of 8 bits: ``ops``, the rounding first.

    ``low``, ``high``: the whole floats between which the result changes; ``table``: the results from ``low`` to ``high``, as bits.
    """

    ops: tuple[ir.Operation, ...]
    low: int
    high: int
    table: np.ndarray

    @property
    def rounded(self) -> ir.Value:
        """What is rounded."""
        return self.ops[0].operands[0]

    @property
    def scales(self) -> bool:
        """Whether more is done than clipping and adding."""
        return any(op.name in (PRODUCT, QUOTIENT) for op in self.ops)

    @property
    def only_saturates(self) -> bool:
        """Whether the result is the rounded float and a constant, clipped to the range of signed or unsigned bytes."""
        rises = np.diff(self.table.astype(np.int16 if self.table[0] == 0 else np.int8).astype(np.int32))
        return len(self.table) == SIZE and int(self.table[0]) in (0, SIZE // 2) and bool((rises == 1).all())

    @classmethod
    def of(cls, conversion: ir.Operation) -> ByteFunction | None:
        """The function that ends with a conversion of f32 to an integer of 8 bits, of as many ops as have a table; None if there is none.
        A NaN, where it has a result, has that of minus infinity."""
        bits = conversion.results[0].type.element_type.width
        low, high = (0, (1 << bits) - 1) if conversion.name == "arith.fptoui" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        best = None
        for ops, steps in chains(conversion):
            if (found := tabulated(steps, low, high)) is not None:
                best = cls(ops, *found)
        return best


@dataclass(frozen=True)
class ByteStep:
    """What an op does to the operand of f32 of which it is a function. ``place``: of that operand; ``number``: the constant beside it;
    ``predicate``: of the comparison that a selection follows."""

    name: str
    place: int
    number: float = 0.0
    predicate: int = 0    # arith.CmpFPredicate

    def of(self, values: np.ndarray) -> np.ndarray:
        """The results for numbers of f32."""
        other = np.float32(self.number)
        if self.name == ROUNDING:
            return np.rint(values)
        if self.name != SELECTION:
            return {PRODUCT: np.multiply, QUOTIENT: np.divide, SUM: np.add}[self.name](values, other)
        test = {LESS: np.less, LESS_EQUAL: np.less_equal, GREATER: np.greater, GREATER_EQUAL: np.greater_equal}
        holds = ~np.isnan(values) if self.predicate == ORDERED else test[arith.CmpFPredicate(self.predicate)](values, other)
        return np.where(holds == (self.place == 1), values, other)


@lru_cache(maxsize=1024)    # the rows of a register tile, and layers alike, end in the same steps
def tabulated(steps: tuple[ByteStep, ...], least_result: int, greatest_result: int) -> tuple[int, int, np.ndarray] | None:
    """``low``, ``high`` and ``table`` of a ``ByteFunction`` of these steps, whose results are in a range; None if it has no table."""
    numbers = np.arange(-FARTHEST, FARTHEST + 1, dtype=np.float64)
    found = results(steps, np.array([-np.inf, np.inf, np.nan, *numbers]))
    found = np.where((least_result <= found) & (found <= greatest_result), found, np.nan)
    (least, greatest, of_nan), found = found[:3], found[3:]
    if np.isnan(least) or np.isnan(greatest) or np.isnan(found).any() or not (np.isnan(of_nan) or of_nan == least):
        return None
    above, below = np.flatnonzero(found != least), np.flatnonzero(found != greatest)
    if not len(above) or above[0] == 0 or below[-1] == len(found) - 1:
        return None
    first, last = int(above[0]) - 1, int(below[-1]) + 1
    if last - first >= SIZE:
        return None
    table = found[first:last + 1].astype(np.int64).astype(np.uint8)
    table.setflags(write=False)
    return int(numbers[first]), int(numbers[last]), table


def chains(conversion: ir.Operation) -> Iterator[tuple[tuple[ir.Operation, ...], tuple[ByteStep, ...]]]:
    """The ops from a rounding to a conversion, and their steps without it, for each rounding on the way back, as far as every op has one
    operand that is no constant, and does not fall where that rises."""
    ops, steps, value = [conversion], [], conversion.operands[0]
    while (op := defining_op(value)) is not None and (step := step_of(op)) is not None:
        ops.insert(0, op)
        steps.insert(0, step)
        if op.name == ROUNDING:
            yield tuple(ops), tuple(steps)
        value = op.operands[step.place]


def step_of(op: ir.Operation) -> ByteStep | None:
    """What an op does to an operand of f32 of which it is a function that never falls; None for an op of another kind."""
    if not isinstance(element_of(op.results[0].type), ir.F32Type):
        return None
    if op.name == ROUNDING:
        return ByteStep(ROUNDING, 0)
    if op.name in (PRODUCT, QUOTIENT, SUM):
        numbers = [constant_number(operand) for operand in op.operands]
        if (numbers[0] is None) == (numbers[1] is None) or (op.name == QUOTIENT and numbers[1] is None):
            return None
        number = present(numbers[0] if numbers[1] is None else numbers[1])
        if not np.isfinite(number) or (op.name != SUM and number <= 0):
            return None
        return ByteStep(op.name, int(numbers[0] is not None), float(number))
    if op.name != SELECTION or (test := defining_op(op.operands[0])) is None or test.name != "arith.cmpf":
        return None
    return _clip(op, test)


def _clip(op: ir.Operation, test: ir.Operation) -> ByteStep | None:
    """The step of a selection that clips an operand, or tests it for NaN."""
    for place, other in ((1, 2), (2, 1)):
        value, number = op.operands[place], constant_number(op.operands[other])
        if number is None or not np.isfinite(number) or test.operands[0] != value or constant_number(value) is not None:
            continue
        predicate = predicate_of(test)
        if predicate == ORDERED:
            fits = place == 1 and test.operands[1] == value
        else:
            fits = predicate in (*BELOW, *ABOVE) and constant_number(test.operands[1]) == number
        return ByteStep(SELECTION, place, float(number), int(predicate)) if fits else None
    return None


def results(steps: tuple[ByteStep, ...], numbers: np.ndarray) -> np.ndarray:
    """What steps make of numbers, without their fractions, as floats of 64 bits."""
    values = numbers.astype(np.float32)
    with np.errstate(all="ignore"):
        for step in steps:
            values = step.of(values)
        return np.trunc(values.astype(np.float64))


def clipped_above(value: ir.Value, number: int) -> ir.Value:
    """The value of f32, or a number where that is less, at the insertion point. NaN stays."""
    most = ir.FloatAttr.get(element_of(value.type), float(number))
    bound = arith.ConstantOp(value.type, ir.DenseElementsAttr.get_splat(value.type, most)).result
    return arith.select(arith.cmpf(GREATER, value, bound), bound, value)
