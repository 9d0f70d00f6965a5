"""Elementwise ops of one value that end in an integer of 8 bits: their results for all values that differ are a table.

A layer that is quantized, dequantized, clipped by an activation and quantized for the next layer is such a function of its first rounding.
Each op on the way never falls where its operand rises, so that the function is constant beyond the values at which it is that of an
infinity.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from legato.analysis.structured.float_bounds import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, ORDERED, predicate_of
from legato.analysis.structured.ops import producer
from legato.core.ir_helpers import constant_number, element_of, present
from legato.core.mlir import arith, ir

FARTHEST = 1 << 11      # whole floats up to here are tried
SIZE = 256              # numbers of a table
ROUNDING = "math.roundeven"
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
    def multiplies(self) -> bool:
        """Whether more is done than clipping and adding."""
        return any(op.name == "arith.mulf" for op in self.ops)

    @property
    def only_saturates(self) -> bool:
        """Whether the result is the rounded float and a constant, clipped to the range of signed or unsigned bytes."""
        rises = np.diff(self.table.astype(np.int16 if self.table[0] == 0 else np.int8).astype(np.int32))
        return len(self.table) == SIZE and int(self.table[0]) in (0, SIZE // 2) and bool((rises == 1).all())

    @classmethod
    def of(cls, conversion: ir.Operation) -> ByteFunction | None:
        """The function that ends with a conversion of f32 to an integer of 8 bits, of as many ops as have a table; None if there is none.
        A NaN, where it has a result, has that of minus infinity."""
        best = None
        for ops in chains(conversion):
            best = cls._tabulated(ops) or best
        return best

    @classmethod
    def _tabulated(cls, ops: tuple[ir.Operation, ...]) -> ByteFunction | None:
        numbers = np.arange(-FARTHEST, FARTHEST + 1, dtype=np.float64)
        found = results(ops, np.array([-np.inf, np.inf, np.nan, *numbers]))
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
        return cls(ops, int(numbers[first]), int(numbers[last]), table)


def chains(conversion: ir.Operation) -> Iterator[tuple[ir.Operation, ...]]:
    """The ops from a rounding to a conversion, for each rounding on the way back, as far as every op has one operand that is no
    constant, and does not fall where that rises."""
    ops, value = [conversion], conversion.operands[0]
    while (op := producer(value)) is not None and (place := varying(op)) is not None:
        ops.insert(0, op)
        if op.name == ROUNDING:
            yield tuple(ops)
        value = op.operands[place]


def varying(op: ir.Operation) -> int | None:
    """The place of the operand of f32 of which an op is a function that never falls; None for an op of another kind."""
    if not isinstance(element_of(op.results[0].type), ir.F32Type):
        return None
    if op.name == ROUNDING:
        return 0
    if op.name in ("arith.mulf", "arith.addf"):
        numbers = [constant_number(operand) for operand in op.operands]
        if (numbers[0] is None) == (numbers[1] is None):
            return None
        number = present(numbers[0] if numbers[1] is None else numbers[1])
        return None if not np.isfinite(number) or (op.name == "arith.mulf" and number <= 0) else int(numbers[0] is not None)
    if op.name != "arith.select" or (test := producer(op.operands[0])) is None or test.name != "arith.cmpf":
        return None
    return _clipped(op, test)


def _clipped(op: ir.Operation, test: ir.Operation) -> int | None:
    """The place of the operand of a selection that is clipped, or tested for NaN."""
    for place, other in ((1, 2), (2, 1)):
        value, number = op.operands[place], constant_number(op.operands[other])
        if number is None or not np.isfinite(number) or test.operands[0] != value or constant_number(value) is not None:
            continue
        predicate = predicate_of(test)
        if predicate == ORDERED:
            return place if place == 1 and test.operands[1] == value else None
        return place if predicate in (*BELOW, *ABOVE) and constant_number(test.operands[1]) == number else None
    return None


def results(ops: tuple[ir.Operation, ...], numbers: np.ndarray) -> np.ndarray:
    """What ops make of numbers that the first of them gets, as floats of 64 bits; NaN where a conversion has no result."""
    values = numbers.astype(np.float32)
    with np.errstate(all="ignore"):
        for op in ops[:-1]:
            values = _result(op, values)
        rounded = np.trunc(values.astype(np.float64))
    bits = ops[-1].results[0].type.element_type.width
    low, high = (0, (1 << bits) - 1) if ops[-1].name == "arith.fptoui" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return np.where((low <= rounded) & (rounded <= high), rounded, np.nan)


def _result(op: ir.Operation, values: np.ndarray) -> np.ndarray:
    if op.name == ROUNDING:
        return np.rint(values)
    place = varying(op)
    other = np.float32(next(number for n, operand in enumerate(op.operands)
                            if n != place and (number := constant_number(operand)) is not None))
    if op.name != "arith.select":
        return values * other if op.name == "arith.mulf" else values + other
    predicate = predicate_of(present(producer(op.operands[0])))
    test = {LESS: np.less, LESS_EQUAL: np.less_equal, GREATER: np.greater, GREATER_EQUAL: np.greater_equal}
    holds = ~np.isnan(values) if predicate == ORDERED else test[predicate](values, other)
    return np.where(holds == (place == 1), values, other)


def clipped_above(value: ir.Value, number: int) -> ir.Value:
    """The value of f32, or a number where that is less, at the insertion point. NaN stays."""
    most = ir.FloatAttr.get(element_of(value.type), float(number))
    bound = arith.ConstantOp(value.type, ir.DenseElementsAttr.get_splat(value.type, most)).result
    return arith.select(arith.cmpf(GREATER, value, bound), bound, value)
