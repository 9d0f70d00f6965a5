"""relax-turn-weights: constant right factors of products are stored with their depth along rows, for instructions that take only such.

Warpgroups multiply tiles of f32, rounded to tf32, whose rows are along the depth on both sides (wgmma has no other layout for 32 bits).
Asynchronous copies, of threads and of the copy engine, move 16 bytes: rows of halves that are no multiple of that, as of 50,257 words,
are copied in smaller pieces, or one by one, through registers, while rows along the depth may be such a multiple.
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
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, has_one_use, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LEAST = 64      # rows, and columns, of a warpgroup's product
STEP = 32       # of the depth, that a tile has
PIECE = 4       # elements of 16 bytes, of which the copy engine takes rows
HALVES = 8      # likewise, halves; also the fewest columns of a product in tiles
FILTERS_FIRST = [3, 0, 1, 2]     # axes of HWIO in the order OHWI


@dataclass(frozen=True)
class TurnWeights(ModulePass):
    """Exchanges the last two axes of constants that one product reads: of f32, where warpgroups multiply it, and of halves whose
    rows asynchronous copies do not take as they lie; likewise filters of halves get the layout OHWI. To be run after constants are
    folded."""

    name: ClassVar[str] = "relax-turn-weights"
    target: TargetText = option("nvvm", "the target whose device may have warpgroups that multiply f32, and asynchronous copies")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.matmul" and is_turned(op, machine):
                    turn(op, constants)
                elif op.name == "relax.conv2d" and machine.async_copies and has_short_rows(op):
                    turn_filters(op, constants)
            erase_dead(function, constants)


def is_turned(op: ir.Operation, machine: GpuMachine) -> bool:
    """Whether the factors of a product are multiplied by instructions on tiles, or by better ones, if the right one is turned."""
    left, right = op.operands
    element = str(right.type.element_type)
    if element not in machine.matrix_types or not right.type.has_static_shape or right.type.rank < 2 or not has_one_use(right):
        return False
    depth, columns = right.type.shape[-2:]
    if is_half(right.type):
        return machine.async_copies and lie_better_turned(depth, columns)
    outer = dims.dims(left.type)[:-1]
    rows = dims.product(outer if right.type.rank == 2 else outer[-1:])
    return element == "f32" and machine.warpgroups and (
        columns >= LEAST and depth > STEP and depth % PIECE == 0 and not (isinstance(rows, int) and rows < LEAST))


def lie_better_turned(depth: int, columns: int) -> bool:
    """Whether a matrix of halves has rows of multiples of 16 bytes only if it is turned."""
    return columns > HALVES and columns % HALVES != 0 and depth % HALVES == 0


def has_short_rows(op: ir.Operation) -> bool:
    """Whether a convolution of halves has filters whose rows are multiples of 16 bytes only if they are turned."""
    attrs, filters = relax.attributes_of(op), op.operands[1]
    return (attrs["data_layout"], attrs["kernel_layout"], attrs["groups"]) == ("NHWC", "HWIO", 1) and (
        is_half(filters.type) and filters.type.has_static_shape and has_one_use(filters) and lie_better_turned(*filters.type.shape[2:]))


def turn_filters(op: ir.Operation, constants: Constants) -> None:
    """Turns the filters of one convolution, if they are constant."""
    image, filters = op.operands
    if (array := constants.array(filters)) is None:
        return
    with ir.InsertionPoint(op), op.location:
        name = constants.name_of(filters, op.results[0], default="filter")
        stored = constants.build(np.ascontiguousarray(array.transpose(FILTERS_FIRST)), name)
        replace_uses(op.results[0], relax.conv2d(image, stored, **relax.attributes_of(op) | {"kernel_layout": "OHWI"}))


def turn(op: ir.Operation, constants: Constants) -> None:
    """Turns the right factor of one product, if it is a constant."""
    weight = op.operands[1]
    if (array := constants.array(weight)) is None:
        return
    axes = [*range(array.ndim - 2), array.ndim - 1, array.ndim - 2]
    with ir.InsertionPoint(op), op.location:
        name = constants.name_of(weight, op.results[0], default="weight")
        stored = constants.build(np.ascontiguousarray(array.transpose(axes)), name)
        replace_uses(op.results[0], relax.matmul_turned(op.operands[0], stored))
