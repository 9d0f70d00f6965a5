"""tir-default-schedules: gives each kernel without a schedule the target's own, as a transform script on its loops and blocks.

``tir-apply-schedules`` runs the scripts, as those of users. Where a kernel refuses a script, or its launches cannot be lowered, the next
one is tried. A kernel that takes none of them is mapped one thread for each point by ``tir-launch-loops``, with a warning.
"""
import logging
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.block_kernel import BlockKernel
from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError
from legato.core.interfaces import GpuMachine, TargetLike
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.walk import localize_constants
from legato.passes.gpu import lower_threads
from legato.passes.loops import lower_loops
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.schedule import kernel_records
from legato.schedule import script
from legato.schedule.attach import attach
from legato.schedule.state import ScheduleError
from legato.schedule.unraise import to_loops

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class DefaultSchedules(ModulePass):
    """Attaches the target's schedule to each kernel that has none (tir.schedule = @sequence), where it has one for it.

    Each script is tried on a copy of its kernel: canonicalize, linalg-generalize-named-ops and cse put it into loops, transform-interpreter
    runs the steps, and the launches are made of it as tir-lower-threads does.
    """

    name: ClassVar[str] = "tir-default-schedules"
    completed_by: ClassVar[tuple[str, ...]] = ("tir-apply-schedules",)
    target: TargetText = option("nvvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.gpu(self.target)
        scripts = context.report.setdefault("schedule", {})
        names = context.report.setdefault("schedule-names", {})
        refused = context.report.setdefault("schedules-refused", {})
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.schedules else ():
                text, refused[kernel.name.value] = chosen(kernel, target, machine)
                scripts[kernel.name.value] = text
                if text is not None:
                    parsed = script.parse(text, module.context)     # its ops do not keep it alive
                    names[kernel.name.value] = script.entry(parsed).attributes["sym_name"].value
            context.report["kernels"] = kernel_records(module.module, context, names)
            for kernel in tir.schedulable(module.module):
                if (text := scripts.get(kernel.name.value)) is not None:
                    attach(module.module, kernel, text, {})


def chosen(kernel: func.FuncOp, target: TargetLike, machine: GpuMachine) -> tuple[str | None, tuple[str, ...]]:
    """The first of the target's scripts that a kernel takes, None without one; and why it refused those before. What is refused by all is
    logged."""
    alone = ir.Module.create()
    copy = kernel.operation.clone(ir.InsertionPoint(alone.body)).operation.opview
    try:
        to_loops(copy)
    except ScheduleError as error:
        return None, (str(error),)
    localize_constants(copy.operation)
    name, refused = kernel.name.value, []
    for text in target.schedules(BlockKernel(kernel, copy)):
        parsed = script.parse(text, kernel.context)
        schedule = script.entry(parsed).attributes["sym_name"].value
        trial = ir.Module.create()
        scheduled = copy.operation.clone(ir.InsertionPoint(trial.body)).operation.opview
        try:
            lower(script.run_apart(trial, parsed, script.entry(parsed), scheduled), machine)
        except (LegatoError, ir.MLIRError, PassFailed) as error:
            refused.append(f"{schedule}: {str(error).splitlines()[0]}")
            LOGGER.info("the default schedule '%s' of @%s is left out: %s", schedule, name, error)
            continue
        return text, tuple(refused)
    if refused:
        LOGGER.warning("the default schedules of @%s are left out, each point of its loops gets a thread: %s", name, "; ".join(refused))
    return None, tuple(refused)


def lower(kernel: func.FuncOp, machine: GpuMachine) -> None:
    """Makes the launches of a scheduled kernel and lowers what is left of its loops. PassFailed where that cannot be done."""
    warnings: list[str] = []
    lower_threads.lower_kernel(kernel, machine, warnings)
    lower_loops.lower_kernel(kernel, warnings)
    kernel.operation.verify()
