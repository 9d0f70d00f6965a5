"""relax-pad-depth: products of bf16 by constant matrices of an odd depth, as products of one more, which is zero.

Two neighbouring elements of the depth are a pair, which one instruction multiplies and adds. A last one without a neighbour would have all
of them widened to f32. So would pairs in a number of which no equal steps fill matrix registers (AMX): they are padded to whole matrices.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.analysis.structured.groups import SIDE, depth_of, fills_registers
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.pad_columns import in_groups, is_product
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

PAIR = 2
WORTH_IT = 1 << 12    # elements of a matrix, from which on a row's product takes longer than its copy


@dataclass(frozen=True)
class PadDepth(ModulePass):
    """Pads both factors of products of bf16, or of f32 that are rounded to it, to whole pairs, where the CPU multiplies these in the lanes
    of vectors (AVX512-BF16), or to whole matrices (AMX). With AMX products of few rows stay."""

    name: ClassVar[str] = "relax-pad-depth"
    target: TargetText = option("llvm", "the target whose CPU may multiply pairs of bf16")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.multiplies_pairs:
            return
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if is_product(op) and in_groups(op.operands[1].type.element_type, machine) and (more := missing(op, machine)):
                    pad(op, more, constants)
            erase_dead(function, constants)


def missing(op: ir.Operation, machine: CpuMachine) -> int:
    """The elements by which the depth of a product is padded; 0 where that saves less than the copy of its other factor takes."""
    weight = op.operands[1].type
    if isinstance(weight.element_type, ir.IntegerType) or not weight.has_static_shape:
        return 0
    *_, depth, columns = weight.shape
    rows = dims.product(dims.dims(op.results[0].type)[:-1])
    if columns < machine.lanes(32) or depth * columns < WORTH_IT:
        return 0
    if not machine.has("amx-bf16"):
        return depth % PAIR
    if op.name != "relax.matmul" or (depth % PAIR == 0 and depth_of(depth // PAIR) is not None):
        return 0    # convolutions have a padded copy of their own
    more = -depth % (PAIR * SIDE)
    return more if fills_registers(rows if isinstance(rows, int) else None, columns, (depth + more) // PAIR) else 0


def pad(op: ir.Operation, more: int, constants: Constants) -> None:
    """Pads the factors of one product by so many zeros, if one is a constant."""
    image, weight = op.operands
    array = constants.array(weight)
    if array is None:
        return
    with ir.InsertionPoint(op), op.location:
        longer = np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, more), (0, 0)])
        wider = relax.pad(image, pads=[*[0] * (2 * image.type.rank - 1), more], value=0.0, mode="constant")
        attrs = relax.attributes_of(op)
        replace_uses(op.results[0], present(relax.op_class(op)).build(wider, constants.build(longer, constants.name_of(weight)), **attrs))
