"""relax-turn-short-rows: softmaxes of rows shorter than a vector become those of columns.

Two classes of each of 8400 boxes: a row is half a register, whose greatest element and sum take as many shuffles as it has halves, and its
exponential and logarithm as long as those of whole vectors. Of columns, each vector has as many rows as lanes. Both turns are copies by
blocks in registers.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

OPS = ("relax.softmax", "relax.log_softmax")
VECTORS = 4    # of rows, from which on the turns are worth two more kernels


@dataclass(frozen=True)
class TurnShortRows(ModulePass):
    """Turns the matrix of the rows of a softmax, and its result back, where rows are shorter than a vector and many."""

    name: ClassVar[str] = "relax-turn-short-rows"
    target: TargetText = option("llvm", "the target whose vectors rows are compared with")

    def run(self, module: Module, context: PassContext) -> None:
        lanes = context.cpu(self.target).lanes(32)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name in OPS and is_short(dims.dims(op.operands[0].type), relax.attributes_of(op)["axis"], lanes):
                    turn(op)
            erase_dead(function, Constants(module))


def is_short(sizes: Sequence[dims.Size], axis: int, lanes: int) -> bool:
    """Whether a softmax is one of short rows, and many: of those sizes that are known."""
    *outer, row = sizes
    known = prod(size for size in outer if isinstance(size, int))
    is_last = axis in (-1, len(sizes) - 1)
    return is_last and isinstance(row, int) and 1 < row < lanes and known >= VECTORS * lanes and dims.UNKNOWN not in outer


def turn(op: ir.Operation) -> None:
    """Replaces one softmax."""
    x, = op.operands
    *outer, row = sizes = list(dims.dims(x.type))
    with ir.InsertionPoint(op), op.location:
        matrix = x if len(outer) == 1 else relax.reshape(x, [dims.product(outer), row])
        columns = present(relax.op_class(op)).build(relax.permute_dims(matrix, axes=[1, 0]), axis=0)
        rows = relax.permute_dims(columns, axes=[1, 0])
        replace_uses(op.results[0], rows if len(outer) == 1 else relax.reshape(rows, sizes))
