"""tir-eliminate-empty-tensors: upstream's eliminate-empty-tensors on kernels alone.

In main a slice of a tensor would become the operand of a kernel, which takes whole buffers: it would be copied.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.memory.bufferize.functions import on_tensors
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class EliminateEmptyTensors(ModulePass):
    """Upstream's eliminate-empty-tensors on kernels: what ends in an output is computed there. One unit with setting main aside, which
    upstream's pass would change, too."""

    name: ClassVar[str] = "tir-eliminate-empty-tensors"

    def run(self, module: Module, context: PassContext) -> None:
        body = module.module.body
        others = [f for f in on_tensors(module.module) if not tir.is_prim_func(f)]
        for function in others:
            function.operation.detach_from_parent()
        try:
            run_on(module.operation, "eliminate-empty-tensors")
        finally:
            for function in others:
                body.append(function)
