"""tir-raise-loops: raises kernels of loops to structured ops on tensors, where their accesses are affine.

Structured kernels can be fused and get the target's schedules. A kernel is raised as a whole or not at all: the pass works on a copy.
Loops with several statements are split, conditions become selections or padding, and each statement becomes one structured op.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.state import WRITTEN, state_of
from legato.passes.loops.raising.kept import Kept
from legato.passes.pipeline.base import ModulePass, PassContext

LOOPS = ("tir.for", "tir.block", "memref.store")


@dataclass(frozen=True)
class RaiseLoops(ModulePass):
    """Raises kernels of loops to structured ops, where their accesses are affine; others stay as they are.

    Runs canonicalize, cse and a transform script that specializes ops (to linalg.matmul, say) inside, on a copy of each kernel: the copy
    is dropped where any of it fails, and the pass goes on with the kernel as it was.
    The report (raise-loops) gives the reason for each kernel that stays.
    """

    name: ClassVar[str] = "tir-raise-loops"

    def run(self, module: Module, context: PassContext) -> None:
        report = context.report.setdefault("raise-loops", {})
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if state_of(kernel) != WRITTEN or not find(kernel.operation, "tir.for"):
                    continue
                from legato.passes.loops.raising.kernel import raised  # of most models no kernel gets here

                name = kernel.name.value
                try:
                    raised(kernel)
                    report[name] = "raised"
                except Kept as reason:
                    report[name] = str(reason)
