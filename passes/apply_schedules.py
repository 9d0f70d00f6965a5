"""tir-apply-schedules: kernels that carry a schedule (``tir.schedule = @sequence``) get it, instead of their target's own."""
from dataclasses import dataclass
from typing import ClassVar

from ..dialects.module import Module
from ..mlir import ir
from .base import ModulePass, PassContext
from .scheduling.attach import run_attached


@dataclass(frozen=True)
class ApplySchedules(ModulePass):
    """Runs the schedules that kernels carry (tir.schedule = @sequence), and takes the sequences out of the module."""

    name: ClassVar[str] = "tir-apply-schedules"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            context.report.setdefault("apply-schedules", {}).update(run_attached(module.module))
