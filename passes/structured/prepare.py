"""tir-prepare: kernels get the forms that the target's schedules take, where a transform script could not make them."""
from dataclasses import dataclass
from typing import ClassVar

from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class Prepare(ModulePass):
    """Rewrite kernels into the forms that the target schedules."""

    name: ClassVar[str] = "tir-prepare"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose preparation")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        for kernel in tir.schedulable(module.module):
            target.prepare(kernel, context.kernels)
