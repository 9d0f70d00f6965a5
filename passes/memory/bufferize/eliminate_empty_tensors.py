"""tir-eliminate-empty-tensors: runs upstream's eliminate-empty-tensors on kernels only.

In main it would make slices of tensors operands of kernels, which take whole buffers: they would be copied.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.memory.bufferize.functions import on_tensors
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class EliminateEmptyTensors(ModulePass):
    """Runs upstream's eliminate-empty-tensors on kernels, so that results are computed in their outputs. Other functions are taken
    out of the module meanwhile.
    """

    name: ClassVar[str] = "tir-eliminate-empty-tensors"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        body = module.module.body
        functions = on_tensors(module.module)
        called = {call.attributes["callee"].value for f in functions if tir.is_prim_func(f) for call in find(f.operation, "func.call")}
        # upstream crashes on a call without its function
        others = [f for f in functions if not tir.is_prim_func(f) and f.name.value not in called]
        for function in others:
            function.operation.detach_from_parent()
        try:
            run_on(module.operation, "eliminate-empty-tensors")
        finally:
            for function in others:
                body.append(function)
