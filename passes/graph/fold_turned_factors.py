"""relax-fold-turned-factors: products by a matrix whose axes were exchanged read it as it is, where that takes less time on a CPU."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured.run_product import ROWS, RunProduct, suits
from legato.core.interfaces import CpuMachine
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
    """Turns ``matmul`` of matrices of f32 whose right one only this product reads, transposed, into ``matmul_turned``: of a single row,
    which takes less time than the transpose, and those that ``tir-turned-products`` and ``tir-copy-panels`` compute. To be run after
    constants are folded."""

    name: ClassVar[str] = "relax-fold-turned-factors"
    rounding: ClassVar[Rounding] = REORDERED
    target: TargetText = option("llvm", "the target whose CPU multiplies")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not suits(machine):
            return
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.matmul" and (right := turned_factor(op, machine)) is not None:
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], relax.matmul_turned(op.operands[0], right))
            erase_dead(function, Constants(module))


def turned_factor(op: ir.Operation, machine: CpuMachine) -> ir.Value | None:
    """What the right factor of a product is a transpose of, if the product is computed without it."""
    left, right = op.operands
    transpose = defining_op(right)
    if transpose is None or transpose.name != "relax.permute_dims" or permutation_of(transpose) != (1, 0) or not has_one_use(right):
        return None
    matrix = transpose.operands[0]
    if is_constant(matrix) or left.type.rank != 2 or any(str(value.type.element_type) != "f32" for value in (left, right)):
        return None
    rows, depth, columns = (size if isinstance(size, int) else None for size in (*dims.dims(left.type), dims.dims(right.type)[1]))
    product = RunProduct(rows, depth, columns, turned=True)
    few = rows is not None and 0 < rows < ROWS
    return matrix if few or product.sums_rows(machine) or product.copies_panels(machine) else None
