"""tir-prepare: rewrites that the target's schedules need and transform scripts cannot express."""
from dataclasses import dataclass
from typing import ClassVar

from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class Prepare(ModulePass):
    """Rewrites kernels into the forms that the target schedules."""

    name: ClassVar[str] = "tir-prepare"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target that prepares kernels")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        for kernel in tir.schedulable(module.module):
            target.prepare(kernel, context.kernels)
