"""relax-fold-turned-factors: products by a matrix whose axes were exchanged read it as it is, where that takes less time on a CPU."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured.turned_product import ROWS, pays, suits
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import (
    Constants,
    erase_dead,
    graph_ops,
    has_one_use,
    is_constant,
    permutation_of,
    relax_functions,
    replace_uses,
)
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding


@dataclass(frozen=True)
class FoldTurnedFactors(ModulePass):
    """Turns ``matmul`` of matrices of f32 whose right one only this product reads, transposed, into ``matmul_turned``: of a few rows, which
    take less time than the transpose, and of those that ``tir-turned-products`` computes. To be run after constants are folded."""

    name: ClassVar[str] = "relax-fold-turned-factors"
    rounding: ClassVar[Rounding] = REORDERED
    target: TargetText = option("llvm", "the target whose CPU multiplies")

    def run(self, module: Module, context: PassContext) -> None:
        if not suits(context.cpu(self.target)):
            return
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.matmul" and (right := turned_factor(op)) is not None:
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], relax.matmul_turned(op.operands[0], right))
            erase_dead(function, Constants(module))


def turned_factor(op: ir.Operation) -> ir.Value | None:
    """What the right factor of a product is a transpose of, if the product is computed without it."""
    left, right = op.operands
    transpose = defining_op(right)
    if transpose is None or transpose.name != "relax.permute_dims" or permutation_of(transpose) != (1, 0) or not has_one_use(right):
        return None
    matrix = transpose.operands[0]
    if is_constant(matrix) or left.type.rank != 2 or any(str(value.type.element_type) != "f32" for value in (left, right)):
        return None
    (rows, depth), columns = ((size if isinstance(size, int) else None for size in dims.dims(left.type)), dims.dims(right.type)[1])
    few = rows is not None and 0 < rows < ROWS
    return matrix if few or pays(rows, depth, columns if isinstance(columns, int) else None) else None
