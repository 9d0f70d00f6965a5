"""relax-pad-columns: products by constant matrices of bytes, or of pairs of bf16, whose columns do not fill vectors, as products of more
columns.

What is left of the columns beside whole vectors is computed in vectors of half the lanes, a fourth and so on, each of which reads all rows
again: of 31 columns there are five of these, of 32 two. The product of the padded matrix is cut to the columns that are wanted. Products in
vectors of floats have masks for these columns (``tir-fill-vectors``).
"""
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

NARROW = 0.55       # time of a product with less than a whole vector, by that with one
LEAST_GAIN = 0.25   # likewise, that is worth a copy
WORTH_IT = 512      # multiply-adds of vectors that are saved, at least: what the call of a kernel takes


@dataclass(frozen=True)
class PadColumns(ModulePass):
    """Pads constant matrices, and filters of one element, to columns that fill vectors, where that saves more than the copy costs."""

    name: ClassVar[str] = "relax-pad-columns"
    target: TargetText = option("llvm", "the target whose vectors columns are to fill")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if is_product(op) and in_groups(op.operands[1].type.element_type, machine):
                    pad(op, machine, constants)
            erase_dead(function, constants)


def is_product(op: ir.Operation) -> bool:
    """Whether an op is a product by a matrix, or by a filter of one element whose features are its last axis."""
    if op.name in ("relax.matmul", "relax.matmul_integer"):
        return op.operands[1].type.rank == 2 and op.operands[0].type.rank >= 2
    if op.name not in ("relax.conv1d", "relax.conv2d", "relax.conv3d"):
        return False
    attrs = relax.attributes_of(op)
    last = attrs["data_layout"].endswith("C") and attrs["kernel_layout"].endswith("IO")
    return last and attrs["groups"] == 1 and {1, *op.operands[1].type.shape[:-2]} == {1}


def in_groups(element: ir.Type, machine: CpuMachine) -> bool:
    """Whether products by a matrix of these elements may be computed by instructions on groups of them, in lanes of 32 bits."""
    if isinstance(element, ir.BF16Type):
        return machine.multiplies_pairs
    return isinstance(element, ir.IntegerType) or (isinstance(element, ir.F32Type) and machine.rounds_factors)


def pad(op: ir.Operation, machine: CpuMachine, constants: Constants) -> None:
    """Pads the columns of one product, if that is faster."""
    image, weight = op.operands
    if 0 in weight.type.shape or not weight.type.has_static_shape:
        return
    *_, depth, columns = weight.type.shape
    missing = missing_columns(dims.dims(op.results[0].type)[:-1], depth, columns, machine.lanes(32))
    filters = constants.array(weight) if missing else None
    if filters is None:
        return
    with ir.InsertionPoint(op), op.location:
        wider = np.pad(filters, [(0, 0)] * (filters.ndim - 1) + [(0, missing)])
        made = present(relax.op_class(op)).build(image, constants.build(wider, constants.name_of(weight)), **relax.attributes_of(op))
        axis = made.type.rank - 1
        replace_uses(op.results[0], relax.strided_slice(made, begin=[0], end=[columns], strides=[1], axes=[axis]))


def missing_columns(rows: Sequence[dims.Size], depth: int, columns: int, lanes: int) -> int:
    """The columns by which a matrix is padded; 0 where that is no faster. Rows in a number that only the call knows are taken to be one."""
    rest, half = columns % lanes, lanes // 2
    if not rest:
        return 0
    missing = -rest % half
    gain = NARROW * rest.bit_count() - (NARROW if rest + missing == half else 1)
    if gain < LEAST_GAIN:
        return 0
    saved = gain * depth     # of a row
    known = prod(size if isinstance(size, int) else 1 for size in rows)
    return missing if saved >= columns and saved * known >= WORTH_IT else 0
