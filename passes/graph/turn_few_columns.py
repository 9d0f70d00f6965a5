"""relax-turn-few-columns: products whose right factor has one column or two are computed as rows, with vectors along the depth.

A column or two fill no vector: an element of the left factor would be spread over one for each step. Turned, both factors are read along
their rows, and each sum of a vector's lanes is a result: the scores of rows, a gate, a head of one output. Halves are converted by vectors
then, which pays for three columns.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.halves import is_half
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding

COLUMNS, HALF_COLUMNS = 2, 3
ROWS = 4        # fewer are left to products of few rows


@dataclass(frozen=True)
class TurnFewColumns(ModulePass):
    """Exchanges the factors of products of floats of many rows and few columns, and turns the result, whose depth fills vectors."""

    name: ClassVar[str] = "relax-turn-few-columns"
    rounding: ClassVar[Rounding] = REORDERED
    target: TargetText = option("llvm", "the target whose vectors the depth is compared with")

    def run(self, module: Module, context: PassContext) -> None:
        lanes = context.cpu(self.target).lanes(32)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.matmul" and has_few_columns(op, lanes):
                    turn(op)
            erase_dead(function, Constants(module))


def has_few_columns(op: ir.Operation, lanes: int) -> bool:
    """Whether a product is one of floats, of rows that fill vectors and are not few, by one matrix of few columns: those of batches may be
    an attention's."""
    left, right = (value.type for value in op.operands)
    if left.rank < 2 or right.rank != 2 or not isinstance(left.element_type, ir.FloatType):
        return False
    (rows, depth), columns = dims.dims(left)[-2:], dims.dims(right)[-1]
    most = HALF_COLUMNS if is_half(left) else COLUMNS
    if not isinstance(depth, int) or not isinstance(columns, int) or dims.UNKNOWN in (*dims.dims(left), *dims.dims(right)):
        return False
    return 1 <= columns <= most and depth >= columns * lanes and not (isinstance(rows, int) and rows < ROWS)


def turn(op: ir.Operation) -> None:
    """Replaces one product."""
    left, right = op.operands
    with ir.InsertionPoint(op), op.location:
        rows = relax.matmul_turned(turned(right), left)
        replace_uses(op.results[0], turned(rows))


def turned(value: ir.Value) -> ir.Value:
    """A value with its last two axes exchanged; of one row or column, the same elements in the same order."""
    *outer, rows, columns = sizes = dims.dims(value.type)
    if 1 in (rows, columns):
        return relax.reshape(value, [*outer, columns, rows])
    rank = len(sizes)
    return relax.permute_dims(value, axes=[*range(rank - 2), rank - 1, rank - 2])
