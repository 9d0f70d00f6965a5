"""relax-turn-short-rows: softmaxes, and greatest and least elements, of rows shorter than a vector become those of columns.

Two classes of each of 8400 boxes: a row is half a register, whose greatest element and sum take as many shuffles as it has halves, and its
exponential and logarithm as long as those of whole vectors. Of columns, each vector has as many rows as lanes. Both turns are copies by
blocks in registers. The place of a row's greatest element takes only the first.
"""
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

SOFTMAXES, PLACES = ("relax.softmax", "relax.log_softmax"), ("relax.argmax", "relax.argmin")
LEAST = 4      # elements of a row that is searched as a row: shorter ones are compared with each other, rows side by side
VECTORS = 4    # of rows, from which on the turns are worth two more kernels


@dataclass(frozen=True)
class TurnShortRows(ModulePass):
    """Turns the matrix of the rows of a softmax, and its result back, or of a search, where rows are shorter than a vector and many."""

    name: ClassVar[str] = "relax-turn-short-rows"
    target: TargetText = option("llvm", "the target whose vectors rows are compared with")

    def run(self, module: Module, context: PassContext) -> None:
        lanes = context.cpu(self.target).lanes(32)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name in (*SOFTMAXES, *PLACES) and is_short(op, lanes):
                    turn(op)
            erase_dead(function, Constants(module))


def is_short(op: ir.Operation, lanes: int) -> bool:
    """Whether an op is one of short rows, and many: of those sizes that are known."""
    *outer, row = sizes = dims.dims(op.operands[0].type)
    known = prod(size for size in outer if isinstance(size, int))
    is_last = relax.attributes_of(op)["axis"] in (-1, len(sizes) - 1)
    least = LEAST if op.name in PLACES else 2
    return is_last and isinstance(row, int) and least <= row < lanes and known >= VECTORS * lanes and dims.UNKNOWN not in outer


def turn(op: ir.Operation) -> None:
    """Replaces one op."""
    x, = op.operands
    *outer, row = dims.dims(x.type)
    with ir.InsertionPoint(op), op.location:
        matrix = x if len(outer) == 1 else relax.reshape(x, [dims.product(outer), row])
        attributes = {name: value for name, value in relax.attributes_of(op).items() if name != "keepdims"}
        result = present(relax.op_class(op)).build(relax.permute_dims(matrix, axes=[1, 0]), **attributes | {"axis": 0})
        if op.name in SOFTMAXES:
            result = relax.permute_dims(result, axes=[1, 0])
        sizes = list(dims.dims(op.results[0].type))
        replace_uses(op.results[0], result if result.type.rank == len(sizes) else relax.reshape(result, sizes))
