"""tir-round-factors: contractions in f32 read their factors rounded to bf16, where the CPU multiplies those faster.

Weights are rounded here, once. The other factor is rounded by an op in front of the contraction, which ``tir-split-kernels`` makes a
kernel of, and ``tir-fuse`` a part of the kernel that computes the factor. The products, which are exact in f32, are added up in f32 as
before. Of few rows that no instruction multiplies in pairs (of one row with AMX), by a weight that comes from memory, only the weight is
rounded, which halves what is read: the product is in f32.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured import CONTRACTION, ContractionForm, StructuredOp
from legato.analysis.structured.contraction import VIEWS
from legato.analysis.structured.ops import PARALLEL
from legato.core.elementwise import elementwise
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import copy, defining_op, present
from legato.core.mlir import arith, func, ir, linalg
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant, fits_pairs
from legato.passes.structured.pack_weights import calls_by_callee

BF16 = np.dtype(ml_dtypes.bfloat16)
FEW_ROWS = 8        # below, a product that is not one of pairs takes as long as its weight takes to be read
LARGE = 1 << 18     # elements of a weight that is not found in the second cache


@dataclass(frozen=True)
class RoundFactors(ModulePass):
    """Rounds the factors of contractions in f32 by constant weights to bf16, where the CPU multiplies pairs of bf16; of rows too few for
    matrix registers (AMX), and of columns that fill no vector, only the weight, if it is large."""

    name: ClassVar[str] = "tir-round-factors"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-8)   # of bf16
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may multiply bf16 faster")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.multiplies_pairs:
            return
        calls, constants = calls_by_callee(module), Constants(module)
        rounded: dict[str, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                sites = calls.get(kernel.name.value, [])
                found = [op for op in context.kernels.of(kernel).structured if op.kind == CONTRACTION]
                if any([round_factors(op, kernel, sites, constants, rounded, machine) for op in found]):
                    context.kernels.drop(kernel)


def round_factors(op: StructuredOp, kernel: func.FuncOp, calls: Sequence[ir.Operation], constants: Constants,
                  rounded: dict[str, str], machine: CpuMachine) -> bool:
    """Rounds the factors of one contraction. Returns whether it is one that is faster for it. ``rounded``: keys of weights, and those of
    their rounded values."""
    form = ContractionForm.of_op(op)
    if form is None or op.summed_product is None:
        return False
    pairs = fits_pairs(op, form, ir.F32Type, machine)
    if not pairs and not reads_much(op, form):
        return False
    argument = _argument(op.inputs[form.weight])
    if argument is None or not are_constant(argument, calls):
        return False
    bf16 = ir.BF16Type.get()
    _retype(op.inputs[form.weight], bf16)
    tir.set_signature(kernel, len(kernel.body.blocks[0].arguments) - tir.out_count(kernel))
    with ir.InsertionPoint(op.op), op.op.location:
        inputs = list(op.inputs)
        if pairs:
            inputs[1 - form.weight] = elementwise(inputs[1 - form.weight], bf16, lambda element: arith.TruncFOp(bf16, element).result)
        _rebuild(op, inputs)
    for call in calls:
        _round_constant(call, argument.arg_number, constants, rounded)
    return True


def reads_much(op: StructuredOp, form: ContractionForm) -> bool:
    """Whether a contraction in f32 of few rows reads a weight that is not in a cache."""
    types, weight = [value.type.element_type for value in op.op.operands], op.inputs[form.weight].type
    rows = 1 if form.row is None else form.extents[form.row]
    if form.is_window or any(type_ != ir.F32Type.get() for type_ in types) or rows is None or not 0 < rows < FEW_ROWS:
        return False
    return weight.has_static_shape and prod(weight.shape) >= LARGE


def _argument(weight: ir.Value) -> ir.BlockArgument | None:
    """The argument behind a factor, which nothing else reads."""
    while len(list(weight.uses)) == 1:
        op = defining_op(weight)
        if op is None:
            return ir.BlockArgument(weight)
        if op.name not in VIEWS:
            return None
        weight = op.operands[0]
    return None


def _retype(value: ir.Value, element: ir.Type) -> None:
    """Changes the element type of an argument and of the views of it."""
    value.set_type(ir.RankedTensorType.get(value.type.shape, element))
    op = defining_op(value)
    if op is not None:
        _retype(op.operands[0], element)


def _rebuild(op: StructuredOp, inputs: Sequence[ir.Value]) -> None:
    """Replaces a contraction by one of other inputs, whose elements are widened."""
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{'parallel' if kind == PARALLEL else 'reduction'}>") for kind in op.iterator_types]
    maps = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in op.maps])
    made = linalg.GenericOp([result.type for result in op.op.results], inputs, op.outputs, maps, ir.ArrayAttr.get(kinds))
    block = made.regions[0].blocks.append(*[value.type.element_type for value in (*inputs, *op.outputs)])
    with ir.InsertionPoint(block):
        wide = [argument if argument.type == ir.F32Type.get() else arith.ExtFOp(ir.F32Type.get(), argument).result
                for argument in list(block.arguments)[:len(inputs)]]
        copy(op.body, dict(zip(op.scalars, [*wide, *list(block.arguments)[len(inputs):]])))
    op.op.results[0].replace_all_uses_with(made.results[0])
    op.op.erase()


def _round_constant(call: ir.Operation, number: int, constants: Constants, rounded: dict[str, str]) -> None:
    """Gives a call the rounded constant."""
    value = call.operands[number]
    constant = present(defining_op(value))
    key = constant.attributes["weight"].value if "weight" in constant.attributes else ""
    with ir.InsertionPoint(constant), constant.location:
        if key in rounded:
            made = relax.weight(rounded[key], BF16, list(value.type.shape))
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                array = present(constants.array(value)).astype(BF16)
            made = constants.build(array, f"{constants.name_of(value)}.bf16")
            op = present(defining_op(made))
            if key and "weight" in op.attributes:
                rounded[key] = op.attributes["weight"].value
    call.operands[number] = made
    constants.erase_unused([value])
