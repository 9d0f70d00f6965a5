"""relax-pad-products: products of half floats whose operands lie in rows that are no multiple of 16 bytes, as of rows filled up with zeros.

Asynchronous copies to shared memory move 4, 8 or 16 bytes at once, and the copy engine takes rows of multiples of 16 bytes only. Rows of an
odd number of halves are copied one by one, through registers, again for each tile of rows or columns that reads them. Where these are
many, a launch that copies the operand once costs less.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.halves import is_half
from legato.core.interfaces import GpuMachine
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Size
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

HALVES = 8      # of 16 bytes
WORD = 2        # halves that the smallest asynchronous copy moves
LEAST = 64      # depth that is padded
SHARED = 512    # rows or columns that read an operand, from which on tiles of these copy it often enough


@dataclass(frozen=True)
class PadProducts(ModulePass):
    """Pads the depth of products of halves, and the columns of right operands that are no constants, to multiples of 8, where the number of
    rows and columns that share them is worth a launch: of odd numbers, and of any others where warpgroups multiply. To be run before
    weights are turned."""

    name: ClassVar[str] = "relax-pad-products"
    target: TargetText = option("nvvm", "the target whose device may copy asynchronously")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        if not machine.async_copies:
            return
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.matmul" and all(is_half(one.type) and one.type.rank >= 2 for one in op.operands):
                    pad(op, machine, constants)
            erase_dead(function, constants)


def pad(op: ir.Operation, machine: GpuMachine, constants: Constants) -> None:
    """Pads the operands of one product, where that is worth it."""
    left, right = op.operands
    outer, (depth, columns) = dims.dims(left.type)[:-1], dims.dims(right.type)[-2:]
    rows = dims.product(outer if right.type.rank == 2 else outer[-1:])
    is_weight = constants.array(right) is not None
    if constants.array(left) is not None or not is_many(columns, SHARED) or not is_many(depth, LEAST):
        return
    deeper = missing(depth, machine) if dims.dims(left.type)[-1] == depth else 0
    wider = 0 if is_weight else missing(columns, machine)
    if not is_many(rows, SHARED) or not is_many(depth, SHARED):     # the right operand, and the result, are copied, too
        deeper, wider = deeper if is_weight else 0, 0
    if not deeper and not wider:
        return
    with ir.InsertionPoint(op), op.location:
        made = relax.matmul(padded(left, 0, deeper, constants), padded(right, deeper, wider, constants))
        replace_uses(op.results[0], relax.strided_slice(made, begin=[0], end=[columns], strides=[1], axes=[made.type.rank - 1])
                     if wider else made)


def is_many(size: Size, least: int) -> bool:
    """Whether a size, which counts as large if it is not known, is so large."""
    return not isinstance(size, int) or size >= least


def missing(size: Size, machine: GpuMachine) -> int:
    """The elements that a row of so many lacks; 0 where its length is not known, or copied well as it is."""
    step = HALVES if machine.warpgroups else WORD
    return -size % HALVES if isinstance(size, int) and size % step else 0


def padded(value: ir.Value, rows: int, columns: int, constants: Constants) -> ir.Value:
    """An operand with so many rows and columns of zeros behind its own."""
    if not rows and not columns:
        return value
    if (array := constants.array(value)) is not None:
        return constants.build(np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, rows), (0, columns)]), constants.name_of(value))
    before = [0] * (2 * value.type.rank - 2)
    return relax.pad(value, pads=[*before, rows, columns], value=0.0, mode="constant")
