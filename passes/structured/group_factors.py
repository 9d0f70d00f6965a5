"""tir-group-factors: contractions of bf16 read their factors in pairs, which one instruction of the CPU multiplies and adds.

The reduction is split in two, by views: ``sum over k of A[m, k] * W[k, n]`` becomes ``sum over k, q of A[m, k, q] * W[k, q, n]`` with
q < 2. Products of bytes are written in groups of four by their rules.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import CONTRACTION, ContractionForm, StructuredOp
from legato.analysis.structured.contraction import VIEWS
from legato.analysis.structured.groups import fills_registers
from legato.analysis.structured.ops import PARALLEL
from legato.analysis.structured.pair_product import in_order
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import copy, defining_op
from legato.core.mlir import ir, linalg, tensor
from legato.core.slices import dim, shape_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.graph.functions import CONSTANT
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.pack_weights import calls_by_callee

PAIR = 2
WORTH_PAIRS = 8     # rows from which on columns that are not constant are put into pairs


@dataclass(frozen=True)
class GroupFactors(ModulePass):
    """Splits the reductions of contractions of bf16 by constant weights into pairs, where the CPU multiplies these: of enough rows for
    matrices (AMX), or of any in the lanes of vectors (AVX512-BF16)."""

    name: ClassVar[str] = "tir-group-factors"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose machine may have instructions for pairs")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.multiplies_pairs:
            return
        calls = calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = [op for op in context.kernels.of(kernel).structured if op.kind == CONTRACTION]
                if any([group(op, calls.get(kernel.name.value, []), machine) for op in found]):
                    context.kernels.drop(kernel)


def group(op: StructuredOp, calls: Sequence[ir.Operation], machine: CpuMachine) -> bool:
    """Splits the reduction of one contraction. Returns whether it has one to split."""
    form = ContractionForm.of_op(op)
    if form is None or not fits_pairs(op, form, ir.BF16Type, machine) or not _is_constant(op.inputs[form.weight], calls):
        return False
    with ir.InsertionPoint(op.op), op.op.location:
        rebuild(op, form.reductions[-1])
    return True


def fits_pairs(op: StructuredOp, form: ContractionForm, element: type[ir.Type], machine: CpuMachine) -> bool:
    """Whether a contraction of this type reads whole pairs of both factors, and enough of them."""
    types = [value.type.element_type for value in op.op.operands]
    loop, row = form.reductions[-1], form.row
    if not all(isinstance(type_, element) for type_ in types[:2]) or not isinstance(types[2], ir.F32Type) or form.is_window:
        return False
    depth = form.extents[loop]
    if len(form.reductions) != 1 or not depth or depth % PAIR:
        return False
    rows, columns = None if row is None else form.extents[row], form.extents[form.column]
    if machine.has("amx-bf16"):
        if row is None or not fills_registers(rows, columns, depth // PAIR):
            return False
    elif columns is None or columns < machine.lanes(form.bits):
        return False
    return op.loops_of(1 - form.weight)[-1] == loop and loop in op.loops_of(form.weight)


def packs_pairs(op: StructuredOp, form: ContractionForm, calls: Sequence[ir.Operation], machine: CpuMachine) -> bool:
    """Whether a contraction's columns, which are not constant, are put into pairs at run time (``tir-pair-products``). That takes about as
    long as the products of five rows, and each row's take half as long as those of widened factors. CPUs with AMX
    multiply widened factors, as nothing else was timed on them."""
    if not machine.has("avx512bf16") or machine.has("amx-bf16") or not in_order(op, form) or _is_constant(op.inputs[form.weight], calls):
        return False
    rows, columns = 0 if form.row is None else form.extents[form.row], form.extents[form.column]
    return rows is not None and rows >= WORTH_PAIRS and (columns is None or columns >= machine.lanes(form.bits))


def convolves_groups(op: StructuredOp, form: ContractionForm, calls: Sequence[ir.Operation], machine: CpuMachine) -> bool:
    """Whether a contraction is a convolution of bf16 in groups by a constant filter that was left to pairs in the lanes of vectors
    (``relax-widen-convolutions``, ``tir-matrix-convolutions``)."""
    if not machine.has("avx512bf16") or machine.has("amx-bf16") or not (form.is_window and form.batch):
        return False
    element = ir.BF16Type.get()
    return all(value.type.element_type == element for value in op.inputs) and _is_constant(op.inputs[form.weight], calls)


def _is_constant(weight: ir.Value, calls: Sequence[ir.Operation]) -> bool:
    """Whether every call passes a constant for the argument behind a factor, which may be transposed first."""
    op = defining_op(weight)
    while op is not None and (op.name in VIEWS or (op.name == "linalg.generic" and StructuredOp(op).body_names == ["linalg.yield"])):
        weight = op.operands[0]
        op = defining_op(weight)
    return op is None and are_constant(ir.BlockArgument(weight), calls)


def are_constant(argument: ir.BlockArgument, calls: Sequence[ir.Operation]) -> bool:
    """Whether there are calls, and every one passes a constant for an argument."""
    sources = [defining_op(call.operands[argument.arg_number]) for call in calls]
    return bool(sources) and all(source is not None and source.name == CONSTANT for source in sources)


def rebuild(op: StructuredOp, loop: int) -> None:
    """Replaces an op, at the insertion point, by one whose reduction ``loop`` is split; the pairs are the innermost loop."""
    loops = len(op.iterator_types)
    operands, maps = [], []
    for number, value in enumerate(op.op.operands):
        places = op.loops_of(number)
        results = list(op.maps[number].results)
        if loop in places:
            at = places.index(loop)
            value = paired(value, at)
            results.insert(at + 1, ir.AffineExpr.get_dim(loops))
        operands.append(value)
        maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(loops + 1, 0, results)))
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{'parallel' if kind == PARALLEL else 'reduction'}>") for kind in op.iterator_types]
    kinds.append(ir.Attribute.parse("#linalg.iterator_type<reduction>"))
    made = linalg.GenericOp([result.type for result in op.op.results], operands[:2], operands[2:], ir.ArrayAttr.get(maps),
                            ir.ArrayAttr.get(kinds))
    block = made.regions[0].blocks.append(*[value.type.element_type for value in operands])
    with ir.InsertionPoint(block):
        copy(op.body, dict(zip(op.scalars, block.arguments)))
    op.op.results[0].replace_all_uses_with(made.results[0])
    op.op.erase()


def paired(value: ir.Value, axis: int) -> ir.Value:
    """A view whose ``axis`` is split into pairs."""
    sizes = [dim(value, d) for d in range(value.type.rank)]
    groups = [[d + (d > axis)] if d != axis else [d, d + 1] for d in range(len(sizes))]
    split = [*sizes[:axis], value.type.shape[axis] // PAIR, PAIR, *sizes[axis + 1:]]
    type_ = ir.RankedTensorType.get(shape_of(split), value.type.element_type)
    return tensor.ExpandShapeOp(type_, value, groups, [size for size in split if not isinstance(size, int)], shape_of(split)).result
