"""tir-prepare: kernels get the forms that a user's target schedules, by its prepare_function."""
from dataclasses import dataclass
from typing import ClassVar

from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class Prepare(ModulePass):
    """Rewrites kernels by the target's prepare_function. (CPUs have passes in its place.)"""

    name: ClassVar[str] = "tir-prepare"
    target: TargetText = option("llvm", "the target that prepares kernels")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        for kernel in tir.schedulable(module.module):
            target.prepare(kernel)
