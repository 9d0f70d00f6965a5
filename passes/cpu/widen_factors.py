"""tir-widen-factors: contractions of half floats get the factor that is read an element at a time as f32.

A register tile multiplies vectors of the weight by single elements of the other factor, and widens both to the type in which it adds.
A vector is widened by one instruction; the single elements by one each, as many as there are rows in the tile. So they are widened before,
once for all columns. ``tir-split-kernels`` makes that a kernel, and ``tir-fuse`` a part of the kernel that computes the factor.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.analysis.structured import CONTRACTION, ContractionForm, StructuredOp
from legato.analysis.structured.ops import DYNAMIC
from legato.core.elementwise import elementwise
from legato.core.halves import is_half
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import copy, defining_op, terminator
from legato.core.mlir import arith, ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.group_factors import convolves_groups, packs_pairs
from legato.passes.structured.pack_weights import calls_by_callee

REUSES = 4      # times that each element is multiplied, from which on widening it first is worth a pass over memory


@dataclass(frozen=True)
class WidenFactors(ModulePass):
    """Widens the factor of contractions of f16 or bf16 that is not read in vectors to f32, in an op of its own."""

    name: ClassVar[str] = "tir-widen-factors"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may multiply pairs of bf16")

    def run(self, module: Module, context: PassContext) -> None:
        machine, calls = context.cpu(self.target), calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = [op for op in context.kernels.of(kernel).structured if op.kind == CONTRACTION]
                if any([widen(op, calls.get(kernel.name.value, []), machine) for op in found]):
                    context.kernels.drop(kernel)


def widen(op: StructuredOp, calls: Sequence[ir.Operation], machine: CpuMachine) -> bool:
    """Widens the factor of one contraction. Returns whether there is one to widen."""
    column = op.out_loops[-1] if op.out_loops else None
    if column is None or len(op.inputs) != 2 or len(op.op.results) != 1:
        return False
    rows = [number for number in (0, 1) if column not in op.loops_of(number)]
    wide = op.outputs[0].type.element_type
    if len(rows) != 1 or not is_half(op.inputs[rows[0]].type.element_type) or not isinstance(wide, ir.F32Type):
        return False
    form = ContractionForm.of_op(op)
    if form is not None and (form.group is not None or any(takes(op, form, calls, machine) for takes in (packs_pairs, convolves_groups))):
        return False    # an instruction takes both factors as they are
    taps = prod(op.extents[loop] for loop in form.filters) if form is not None else 1
    if 0 <= op.extents[column] * taps < REUSES or (op.extents[column] == DYNAMIC and _is_row(op, rows[0])):
        return False
    with ir.InsertionPoint(op.op), op.op.location:
        _rebuild(op, rows[0], _widened(op.inputs[rows[0]], wide))
    return True


def _is_row(op: StructuredOp, operand: int) -> bool:
    """Whether a factor is one row."""
    return all(loop is None or op.iterator_types[loop] == "reduction" or op.extents[loop] == 1 for loop in op.loops_of(operand))


def _widened(value: ir.Value, wide: ir.Type) -> ir.Value:
    """The same numbers as f32, at the insertion point. What is padded is widened before it is padded."""
    pad = defining_op(value)
    if pad is not None and pad.name == "tensor.pad" and len(list(value.uses)) == 1:
        return _pad_widened(pad, wide)
    return elementwise(value, wide, lambda element: arith.ExtFOp(wide, element).result)


def _pad_widened(pad: ir.Operation, wide: ir.Type) -> ir.Value:
    """A ``tensor.pad`` of the widened source."""
    block = pad.regions[0].blocks[0]
    operands = [_widened(pad.operands[0], wide), *list(pad.operands)[1:]]
    attributes = {name: pad.attributes[name] for name in pad.attributes}
    type_ = ir.RankedTensorType.get(pad.results[0].type.shape, wide)
    made = ir.Operation.create("tensor.pad", [type_], operands, attributes, regions=1)
    body = made.regions[0].blocks.append(*[argument.type for argument in block.arguments])
    with ir.InsertionPoint(body):
        mapping: dict[ir.Value, ir.Value] = dict(zip(block.arguments, body.arguments))
        ops = [op.operation for op in block.operations][:-1]
        copied = copy(ops, mapping)
        filler = terminator(block).operands[0]
        tensor.YieldOp(arith.ExtFOp(wide, copied.get(filler, filler)).result)
    return made.results[0]


def _rebuild(op: StructuredOp, operand: int, value: ir.Value) -> None:
    """Replaces the op by one that reads ``value`` instead of an operand, without the casts of its elements."""
    old = op.op
    operands = list(old.operands)
    operands[operand] = value
    attributes = {name: old.attributes[name] for name in old.attributes}
    made = ir.Operation.create(old.name, [result.type for result in old.results], operands, attributes, regions=1)
    block = made.regions[0].blocks.append(*[one.type.element_type for one in operands])
    mapping: dict[ir.Value, ir.Value] = dict(zip(op.scalars, block.arguments))
    with ir.InsertionPoint(block):
        for one in op.body:
            if one.name == "arith.extf" and one.operands[0] == op.scalars[operand]:
                mapping[one.results[0]] = block.arguments[operand]
            else:
                mapping |= copy([one], mapping)
    for before, after in zip(old.results, made.results):
        before.replace_all_uses_with(after)
    old.erase()
