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
    relax_functions,
    replace_uses,
)
from legato.passes.graph.layout.row_mixing import exchanges_rows
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding

# by the element: from how many rows on a product by the matrix as it is, one sum after the other, takes longer than its transpose, or tiles
FEW = {"f32": ROWS, "f64": 4, "f16": 3}
MOST_BETWEEN = 8    # elementwise ops, and views, between a product and a softmax
SOFTMAX = ("relax.softmax", "relax.log_softmax")
VIEWS = ("relax.reshape", "relax.expand_dims", "relax.squeeze")


@dataclass(frozen=True)
class FoldTurnedFactors(ModulePass):
    """Turns ``matmul`` of matrices of floats, and of batches of them, whose right one only this product reads, transposed, into
    ``matmul_turned``: of a few rows, which take less time than the transpose, and those of f32 that ``tir-turned-products`` and
    ``tir-copy-panels`` compute. Batches of products whose result a softmax reads are left for ``tir-fuse-attention``. To be run after
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
    if transpose is None or not exchanges_rows(transpose) or not has_one_use(right):
        return None
    matrix, rank = transpose.operands[0], right.type.rank
    element = str(left.type.element_type)
    if is_constant(matrix) or left.type.rank < 2 or element not in FEW:
        return None
    (*batch, rows, depth), (*others, _, columns) = dims.dims(left.type), dims.dims(right.type)
    if others and batch != others:
        return None
    rows, depth, columns = (size if isinstance(size, int) else None for size in (rows, depth, columns))
    alone = left.type.rank == rank == 2
    product = RunProduct(rows, depth, columns, turned=True, alone=alone)
    few = rows is not None and 0 < rows < FEW[element]
    pays = few or (element == "f32" and (product.sums_rows(machine) or product.copies_panels(machine)))
    return matrix if pays and (alone or not leads_to_softmax(op.results[0])) else None


def leads_to_softmax(value: ir.Value) -> bool:
    """Whether elementwise ops lead from a value to a softmax."""
    for _ in range(MOST_BETWEEN):
        readers = [use.owner.operation for use in value.uses]
        if any(reader.name in SOFTMAX for reader in readers):
            return True
        cls = relax.op_class(readers[0]) if len(readers) == 1 else None
        if cls is None or not (cls.ELEMENTWISE or readers[0].name in VIEWS):
            return False
        value = readers[0].results[0]
    return False
