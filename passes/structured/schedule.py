"""tir-schedule: applies the target's schedule, a transform script, to each prim_func."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.fit_windows import fit_windows
from legato.schedule.transform_batch import apply_scripts


@dataclass(frozen=True)
class ScheduleKernels(ModulePass):
    """Schedules every kernel: tiles, fuses and vectorizes it by the target's transform script for it.

    The scripts run inside of this pass, by upstream's transform interpreter: each transform script belongs to one kernel, or to few.
    """

    name: ClassVar[str] = "tir-schedule"
    target: TargetText = option("llvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        report = context.report.setdefault("schedule", {})
        with module.context, ir.Location.unknown():
            scripts: list[tuple[str, func.FuncOp]] = []
            for kernel in tir.schedulable(module.module):
                if fit_windows(kernel):
                    context.kernels.drop(kernel)
                body = report[kernel.name.value] = target.schedule(context.kernels.of(kernel))
                if body:
                    scripts.append((body, kernel))
            apply_scripts(scripts)
