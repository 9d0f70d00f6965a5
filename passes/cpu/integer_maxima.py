"""tir-integer-maxima: maxima of f16 and bf16 that loops carry, as those of whole numbers of 16 bits in the same order.

A vector of f32 has half as many lanes, and its maximum, NaN where an element is, takes a comparison beside the widening. All bits of a half
but the sign are inverted where that is set, and the number of -inf is subtracted: without a sign, NaNs are the greatest, and -inf is 0.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from legato.core.dtypes import array_of, numpy_dtype
from legato.core.halves import is_half
from legato.core.ir_helpers import body, copy, find, terminator
from legato.core.mlir import arith, func, ir, scf
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

BITS = 16


@dataclass(frozen=True)
class IntegerMaxima(ModulePass):
    """Rewrites loops that carry vectors of maxima of halves in f32, where the results are rounded to halves again."""

    name: ClassVar[str] = "tir-integer-maxima"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for function in module.functions():
                while maxima := _of_one_loop(function):     # a loop's copy has the maxima of another type, and those inside, as other ops
                    loop = maxima[0].loop
                    with loop.location, ir.InsertionPoint(loop):
                        rewrite(loop, maxima)


def _of_one_loop(function: func.FuncOp) -> list[Maxima]:
    """The maxima of the first loop of a function that has any, of one type."""
    found: list[Maxima] = []
    for op in find(function, "arith.truncf"):
        maxima = Maxima.of(op)
        if maxima is not None and (not found or (maxima.loop == found[0].loop and maxima.half == found[0].half)):
            found.append(maxima)
    return found


@dataclass(frozen=True)
class Half:
    """One of the types, and the numbers of its vectors."""

    type: ir.Type

    @classmethod
    def of(cls, type_: ir.Type) -> Half | None:
        """That of a vector's elements; None for others."""
        return cls(type_.element_type) if isinstance(type_, ir.VectorType) and is_half(type_) else None

    @property
    def lowest(self) -> int:
        """The number of -inf before it is subtracted, as bits without a sign."""
        return _inverted(np.array(-np.inf, numpy_dtype(self.type)).view(np.uint16)).item()

    def numbers(self, values: np.ndarray) -> np.ndarray | None:
        """Those of f32; None where one is no half."""
        with np.errstate(over="ignore"):
            halves = values.astype(numpy_dtype(self.type))
        if not np.array_equal(halves.astype(np.float32), values, equal_nan=True):
            return None
        return _inverted(halves.view(np.uint16)) - np.uint16(self.lowest)

    def ordered(self, value: ir.Value) -> ir.Value:
        """The numbers of a vector of halves."""
        bits = arith.bitcast(_integers(value.type), value)
        return arith.subi(_with_signs(bits), _splat(bits.type, self.lowest))

    def restored(self, numbers: ir.Value) -> ir.Value:
        """The vector of halves of these numbers."""
        type_ = ir.VectorType.get(numbers.type.shape, self.type)
        return arith.bitcast(type_, _with_signs(arith.addi(numbers, _splat(numbers.type, self.lowest))))


@dataclass
class Maxima:
    """Maxima that end in a rounding to halves: the values in f32 through which they pass, each of which has one use. ``carried``: the
    numbers of those that loops carry."""

    end: ir.Operation
    half: Half
    values: list[ir.Value] = field(default_factory=list)
    carried: dict[ir.Operation, int] = field(default_factory=dict)

    @classmethod
    def of(cls, end: ir.Operation) -> Maxima | None:
        """Those that a rounding of a loop's result ends; None for another one."""
        half, value = Half.of(end.results[0].type), end.operands[0]
        if half is None or isinstance(value.owner, ir.Block) or value.owner.name != "scf.for":
            return None
        if value.type.element_type != ir.F32Type.get():
            return None
        made = cls(end, half)
        return made if made._passes(value) else None

    @property
    def loop(self) -> ir.Operation:
        """The outermost loop."""
        return self.end.operands[0].owner

    def _passes(self, value: ir.Value) -> bool:
        """Whether a value has a number, or is computed from such by maxima and loops alone."""
        if isinstance(value.owner, ir.Block):
            return value in self.values
        op = value.owner
        if op.name == "arith.extf":
            return Half.of(op.operands[0].type) == self.half
        if op.name == "arith.constant":
            return self.half.numbers(array_of(op.attributes["value"])) is not None
        if len(list(value.uses)) != 1 or op in self.carried:
            return False
        self.values.append(value)
        if op.name == "arith.maximumf":
            return all(self._passes(operand) for operand in op.operands)
        if op.name != "scf.for":
            return False
        number = list(op.results).index(value)
        inner = op.opview.inner_iter_args[number]
        if len(list(inner.uses)) != 1 or not self._passes(op.opview.initArgs[number]):
            return False
        self.carried[op] = number
        self.values.append(inner)
        return self._passes(terminator(op.opview.body).operands[number])


def rewrite(loop: ir.Operation, maxima: Sequence[Maxima]) -> None:
    """Replaces a loop by one that carries numbers."""
    made = _Loops(maxima)
    new = made.loop(loop, {})
    for one in maxima:
        with ir.InsertionPoint(one.end), one.end.location:
            one.end.results[0].replace_all_uses_with(one.half.restored(new.results[one.carried[loop]]))
        one.end.erase()
    for old, result in zip(loop.results, new.results, strict=True):
        if old.type == result.type:
            old.replace_all_uses_with(result)
    loop.erase()


class _Loops:
    """Builds loops anew; ``numbers``: of the old values that have any."""

    def __init__(self, maxima: Sequence[Maxima]) -> None:
        self.half, self.values = maxima[0].half, {value for one in maxima for value in one.values}
        self.carried: dict[ir.Operation, set[int]] = {}
        for one in maxima:
            for loop, number in one.carried.items():
                self.carried.setdefault(loop, set()).add(number)
        self.numbers: dict[ir.Value, ir.Value] = {}

    def loop(self, old: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> scf.ForOp:
        """A loop like ``old``, at the insertion point."""
        carried, inside = self.carried[old], old.opview
        lower, upper, step = (mapping.get(value, value) for value in list(old.operands)[:3])
        starts = [self.number(value, mapping) if i in carried else mapping.get(value, value) for i, value in enumerate(inside.initArgs)]
        made = scf.ForOp(lower, upper, step, starts)
        with ir.InsertionPoint(made.body):
            mapping = {**mapping, inside.induction_variable: made.induction_variable}
            for i, (given, new) in enumerate(zip(inside.inner_iter_args, made.inner_iter_args, strict=True)):
                (self.numbers if i in carried else mapping)[given] = new
            for op in body(inside.body):
                mapping = self._op(op, mapping)
            results = terminator(inside.body).operands
            scf.YieldOp([self.number(value, mapping) if i in carried else mapping.get(value, value) for i, value in enumerate(results)])
        return made

    def _op(self, op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> dict[ir.Value, ir.Value]:
        if op in self.carried:
            made = self.loop(op, mapping)
            for i, (old, new) in enumerate(zip(op.results, made.results, strict=True)):
                (self.numbers if i in self.carried[op] else mapping)[old] = new
        elif op.name == "arith.maximumf" and op.results[0] in self.values:
            self.numbers[op.results[0]] = arith.maxui(*(self.number(operand, mapping) for operand in op.operands))
        else:
            return copy([op], mapping)
        return mapping

    def number(self, value: ir.Value, mapping: dict[ir.Value, ir.Value]) -> ir.Value:
        """Those of an old value, at the insertion point."""
        if value in self.numbers:
            return self.numbers[value]
        op = value.owner
        if op.name == "arith.extf":
            return self.half.ordered(mapping.get(op.operands[0], op.operands[0]))
        numbers, type_ = self.half.numbers(array_of(op.attributes["value"])), _integers(value.type)
        assert numbers is not None
        return arith.ConstantOp(type_, ir.DenseElementsAttr.get(numbers, type=type_)).result


def _integers(type_: ir.Type) -> ir.VectorType:
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(BITS))


def _splat(type_: ir.Type, bits: int) -> ir.Value:
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, bits))).result


def _with_signs(bits: ir.Value) -> ir.Value:
    """With all bits but the sign inverted, where that is set: done twice, it changes nothing."""
    signs = arith.shrsi(bits, _splat(bits.type, BITS - 1))
    return arith.xori(bits, arith.andi(signs, _splat(bits.type, (1 << BITS - 1) - 1)))


def _inverted(bits: np.ndarray) -> np.ndarray:
    """The same of an array, as bits without a sign."""
    return np.where(bits >> BITS - 1, bits ^ 0x7FFF, bits).astype(np.uint16)
