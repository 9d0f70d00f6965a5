"""tir-keep-vector-loops: LLVM does not unroll loops of vectors, which schedules have cut to what the registers hold.

Unrolling them (by up to fourteen, around copies too) was a quarter of LLVM's time and a quarter of the code, and made none of eight models
faster. Loops of scalars are left to LLVM.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

# upstream's conversions hand an attribute of the LLVM dialect on from scf.for to the branch that closes the loop, where LLVM looks for it
ANNOTATION, KEEP = "loop_annotation", "#llvm.loop_annotation<unroll = <disable = true>>"


@dataclass(frozen=True)
class KeepVectorLoops(ModulePass):
    """Loops with vectors or copies inside are marked not to be unrolled by LLVM."""

    name: ClassVar[str] = "tir-keep-vector-loops"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            keep = ir.Attribute.parse(KEEP)
            for loop in find(module.module.operation, "scf.for"):
                if holds_vectors(loop):
                    loop.attributes[ANNOTATION] = keep


def holds_vectors(loop: ir.Operation) -> bool:
    """Whether vectors are computed, or whole pieces copied, anywhere in a loop."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = op.name == "memref.copy" or op.name.startswith("vector.")
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    loop.walk(visit)
    return found
