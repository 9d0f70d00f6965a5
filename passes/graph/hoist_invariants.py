"""relax-hoist-invariants: what a loop computes in each step from values in front of it is computed once, in front of it.

Upstream's loop-invariant-code-motion would move ops away from the op that gives the sizes they name, which is no operand of theirs, and
make large tensors of what kernels of the loop broadcast as they read it.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.data_sizes import DataSizes
from legato.core.ir_helpers import ancestors, is_made_in, present
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import CONSTANT, graph_ops, is_graph_op, relax_functions
from legato.passes.graph.op_requirements import op_requirements
from legato.passes.pipeline.base import ModulePass, PassContext

LOOPS = ("scf.for", "scf.while")
REPEATING = ("relax.broadcast_to", "relax.tile", "relax.repeat")   # larger than what they read, and read as quickly
# in a loop without steps a wrong index is no error
INDEXED = ("relax.take", "relax.gather_elements", "relax.gather_nd", "relax.gather_weighted", "relax.scatter_elements",
           "relax.scatter_nd")


@dataclass(frozen=True)
class HoistInvariants(ModulePass):
    """Moves graph ops of loops, whose operands and sizes are known in front of the loop, there.

    Not what only repeats elements, what reads or writes at indices or needs sizes that only a call can check, since a loop may take no
    step, nor ops of branches inside of the loop, which might not be taken.
    """

    name: ClassVar[str] = "relax-hoist-invariants"

    def run(self, module: Module, context: PassContext) -> None:
        for function in relax_functions(module):
            hoist(function)


def hoist(function: func.FuncOp) -> None:
    """Works on one function."""
    nested = [op for op in graph_ops(function) if op.block.owner.operation.name in LOOPS and is_graph_op(op)]
    sizes = DataSizes(function) if nested else None
    for op in nested:
        loop = op.block.owner.operation
        while loop.name in LOOPS and may_leave(op, loop, present(sizes)):
            op.move_before(loop)
            loop = loop.block.owner.operation


def may_leave(op: ir.Operation, loop: ir.Operation, sizes: DataSizes) -> bool:
    """Whether an op of a loop's block can be computed in front of it, once."""
    if op.name == CONSTANT:
        return True
    if not len(op.operands) or op.name in (*REPEATING, *INDEXED) or present(relax.op_class(op)).DEFINES_SIZES:
        return False
    givers = (sizes.given[name] for name in sizes.named_by(op))
    if any(is_made_in(value, loop) for value in op.operands) or any(loop in ancestors(giver) for giver in givers):
        return False
    return next(op_requirements(op), None) is None
