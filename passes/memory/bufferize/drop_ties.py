"""tir-drop-ties: removes ties of results that are computed in their outputs anyway.

Upstream takes it for a conflict when a loop's result is written to where the loop computes it already.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import terminator
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class DropTies(ModulePass):
    """Removes the bufferization.materialize_in_destination of results that are computed in their outputs anyway."""

    name: ClassVar[str] = "tir-drop-ties"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.prim_funcs(module.module):
            drop_ties(kernel)


def drop_ties(kernel: func.FuncOp) -> None:
    """Removes the redundant ties of one kernel."""
    last = terminator(kernel.body.blocks[0])
    for i, value in enumerate(list(last.operands)):
        tie = value.owner
        if isinstance(tie, ir.Block) or tie.name != "bufferization.materialize_in_destination":
            continue
        result, out = tie.operands
        if tir.is_tied(result, out):
            last.operands[i] = result
            tie.erase()
