"""relax-narrow-indices: constant indices of 64 bits that fit 32 are stored with so many.

Exporters write indices as i64. On GPUs the half of them need not be read, and kernels that read them need no integers of 64 bits, which
Vulkan devices may lack.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext

READERS = ("relax.take", "relax.gather_elements", "relax.gather_nd", "relax.gather_weighted")
INDICES = 1     # the operand
LIMITS = np.iinfo(np.int32)


@dataclass(frozen=True)
class NarrowIndices(ModulePass):
    """Gives ops that read at constant indices of i64 the same in i32, where these hold them. To be run after constants are folded."""

    name: ClassVar[str] = "relax-narrow-indices"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        with module.context:
            for function in relax_functions(module):
                made: dict[ir.Value, ir.Value] = {}
                for op in graph_ops(function):
                    if op.name in READERS:
                        narrow(op, constants, made)
                erase_dead(function, constants)


def narrow(op: ir.Operation, constants: Constants, made: dict[ir.Value, ir.Value]) -> None:
    """Narrows the indices of one op, if they are constant. ``made``: those narrowed before, beside which the new ones are."""
    indices = op.operands[INDICES]
    if indices not in made:
        array = constants.array(indices)
        if array is None or array.dtype != np.int64 or not ((array >= LIMITS.min) & (array <= LIMITS.max)).all():
            return
        with ir.InsertionPoint(indices.owner), indices.owner.location:
            made[indices] = constants.build(array.astype(np.int32), constants.name_of(indices, indices, default="indices"))
    op.operands[INDICES] = made[indices]
