"""tir-keep-vector-loops: marks loops of vectors, which schedules tile to the registers, not to be unrolled by LLVM.

Unrolling them (by up to 14, around copies too) took a quarter of LLVM's time and made a quarter of the code, and made none of densenet121,
MobileNetV2, ResNet-50 and shufflenet faster (AVX-512). Loops of scalars are left to LLVM.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find, walk
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

# upstream's conversions keep an attribute of the LLVM dialect from scf.for to the loop's back edge, where LLVM reads it
ANNOTATION, KEEP = "loop_annotation", "#llvm.loop_annotation<unroll = <disable = true>>"


@dataclass(frozen=True)
class KeepVectorLoops(ModulePass):
    """Marks loops with vectors or copies inside so that LLVM does not unroll them."""

    name: ClassVar[str] = "tir-keep-vector-loops"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            keep = ir.Attribute.parse(KEEP)
            for loop in find(module.module.operation, "scf.for"):
                if holds_vectors(loop):
                    loop.attributes[ANNOTATION] = keep


def holds_vectors(loop: ir.Operation) -> bool:
    """Whether a vector op or a memref.copy is anywhere in a loop."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = op.name == "memref.copy" or op.name.startswith("vector.")
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    walk(loop, visit)
    return found
