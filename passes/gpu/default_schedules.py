"""tir-default-schedules: gives each kernel without a schedule the target's own, as a transform script on its loops and blocks.

``tir-apply-schedules`` runs the scripts, as those of users. Where a kernel refuses a script, or its launches cannot be lowered, the next
one is tried. A kernel that takes none of them is mapped one thread for each point by ``tir-launch-loops``, with a warning.
"""
from __future__ import annotations

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
from legato.passes.gpu.lower_threads import LowerThreads
from legato.passes.loops import lower_loops
from legato.passes.loops.apply_schedules import ApplySchedules
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.trials import TrialResults, TriedKernel, key_of
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
    runs the steps, and the launches are made of it as tir-lower-threads does. Passes that follow in the run take what the trial made of a
    kernel, where they find it as it was tried.
    """

    name: ClassVar[str] = "tir-default-schedules"
    completed_by: ClassVar[tuple[str, ...]] = ("tir-apply-schedules",)
    target: TargetText = option("nvvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.gpu(self.target)
        scripts = context.report.setdefault("schedule", {})
        names = context.report.setdefault("schedule-names", {})
        refused = context.report.setdefault("schedules-refused", {})
        trials: dict[str, Trial] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.schedules else ():
                name = kernel.name.value
                trial, refused[name] = chosen(kernel, target, machine)
                scripts[name] = trial.script if trial is not None else None
                if trial is not None:
                    trials[name], names[name] = trial, trial.schedule
            context.report["kernels"] = kernel_records(module.module, context, names)
            for kernel in tir.schedulable(module.module):
                if (trial := trials.get(kernel.name.value)) is not None:
                    self.give(module.module, kernel, trial, context.trials)

    def give(self, module: ir.Module, kernel: func.FuncOp, trial: Trial, trials: TrialResults) -> None:
        """Attaches a trial's schedule to the kernel, and keeps what the trial made of it for the passes that follow."""
        sequences = attach(module, kernel, trial.script, {})
        trials.keep(key_of(kernel, ApplySchedules.name, sequences=sequences), trial.scheduled)
        scheduled = trial.scheduled.alone.body.operations[0]
        trials.keep(key_of(scheduled, LowerThreads.name, str(self.target)), trial.launched)


@dataclass(frozen=True)
class Trial:
    """A script that a kernel takes, its schedule's name, and the kernel behind tir-apply-schedules and behind tir-lower-threads."""

    script: str
    schedule: str
    scheduled: TriedKernel
    launched: TriedKernel


def chosen(kernel: func.FuncOp, target: TargetLike, machine: GpuMachine) -> tuple[Trial | None, tuple[str, ...]]:
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
        try:
            return Trial(text, schedule, *tried(copy, parsed, machine)), tuple(refused)
        except (LegatoError, ir.MLIRError, PassFailed) as error:
            refused.append(f"{schedule}: {str(error).splitlines()[0]}")
            LOGGER.info("the default schedule '%s' of @%s is left out: %s", schedule, name, error)
    if refused:
        LOGGER.warning("the default schedules of @%s are left out, each point of its loops gets a thread: %s", name, "; ".join(refused))
    return None, tuple(refused)


def tried(kernel: func.FuncOp, parsed: ir.Module, machine: GpuMachine) -> tuple[TriedKernel, TriedKernel]:
    """Copies of a kernel of loops: scheduled by a script, and with its launches. What is left of its loops is lowered, to see that it can
    be. LegatoError or PassFailed where the kernel refuses the script, or cannot be lowered after it."""
    apart = ir.Module.create()
    copy = kernel.operation.clone(ir.InsertionPoint(apart.body)).operation.opview
    copy = script.run_apart(apart, parsed, script.entry(parsed), copy)
    tir.set_state(copy, "written")
    scheduled, warnings = TriedKernel.of(copy), []
    report = lower_threads.lower_kernel(copy, machine, warnings)
    launched = TriedKernel.of(copy, report, warnings)
    lower_loops.lower_kernel(copy, [], machine.vector_lanes)
    copy.operation.verify()
    return scheduled, launched
