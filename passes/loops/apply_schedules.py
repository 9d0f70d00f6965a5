"""tir-apply-schedules: runs the schedules that kernels carry (``tir.schedule = @sequence``), in place of the target's own."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import graph_ops
from legato.dialects.relax.markers import SIGNATURE
from legato.dialects.tir.markers import SCHEDULE
from legato.dialects.tir.schedule_ops import PACK
from legato.dialects.tir.walk import blocks, localize_constants
from legato.passes.loops.raising.kept import Kept
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.trials import TrialResults
from legato.schedule import script
from legato.schedule.state import ScheduleError


@dataclass(frozen=True)
class ApplySchedules(ModulePass):
    """Runs the schedules that kernels carry (tir.schedule = @sequence) and removes the sequences from the module.

    Runs inside, on each of these kernels: transform-interpreter, with the kernel's own sequence. A structured kernel whose schedule is for
    loops is lowered before it, by canonicalize, linalg-generalize-named-ops and cse; in the reverse case the kernel is raised, as by
    tir-raise-loops.
    """

    name: ClassVar[str] = "tir-apply-schedules"
    packing: bool = option(False, "only schedules that pack buffers: callers of their kernels pack by graph ops")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            run_attached(module.module, context.trials, self.packing)


def run_attached(module: ir.Module, trials: TrialResults, packing: bool = False) -> None:
    """Runs the schedules that kernels carry and removes them from the module. ``packing``: only those with a ``tir.sch_pack``.

    A schedule with an op of the tir dialect runs on the kernel's loops; a structured kernel is lowered to loops first. A schedule of
    upstream's ops only runs on structured ops; a kernel of loops is raised first. What a trial made of a kernel and its schedule is
    taken from ``trials``. ScheduleError, with the step and the kernel, where a step fails or matches nothing.
    """
    sequences = script.sequences(module)
    carriers = [kernel for kernel in tir.prim_funcs(module) if SCHEDULE in kernel.attributes]
    needed: dict[str, list[str]] = {}
    for kernel in carriers:
        name = kernel.attributes[SCHEDULE].value
        if name not in sequences:
            raise ScheduleError(f"@{kernel.name.value} is scheduled by @{name}, which the module does not have")
        needed[name] = script.reached(name, sequences)
    kept: list[str] = []  # sequences of schedules that run later
    if packing:
        needed = {name: names for name, names in needed.items() if any(find(sequences[one], PACK) for one in names)}
        carriers = [kernel for kernel in carriers if kernel.attributes[SCHEDULE].value in needed]
        kept = [name for one in tir.prim_funcs(module) if SCHEDULE in one.attributes and one not in carriers
                for name in script.reached(one.attributes[SCHEDULE].value, sequences)]
    reached = {name: [sequences[one] for one in names] for name, names in needed.items()}
    carriers = [kernel for kernel in carriers
                if trials.take(kernel, ApplySchedules.name, sequences=reached[kernel.attributes[SCHEDULE].value]) is None]
    used = {one: sequences[one] for names in needed.values() for one in names}
    running = {name: reached[name] for name in (kernel.attributes[SCHEDULE].value for kernel in carriers)}
    on_loops = {name: script.is_on_loops(roots) for name, roots in running.items()}
    for name in {one for running_ in running for one in needed[running_]}:
        script.expect_matches(sequences[name])
    for kernel in carriers:
        name = kernel.attributes[SCHEDULE].value
        kernel_name = kernel.name.value
        run_one(module, kernel, name, on_loops[name])
        if any(find(one, PACK) for one in reached[name]):
            check_packed(module, kernel_name)
    for name, sequence in used.items():
        if name not in kept:
            sequence.erase()
    if used and len(used) == len(sequences) and script.WITH_SEQUENCES in module.operation.attributes:
        del module.operation.attributes[script.WITH_SEQUENCES]


def check_packed(module: ir.Module, kernel: str) -> None:
    """ScheduleError if a schedule has packed a parameter, which adds graph ops to the callers, in a module that is legalized."""
    functions = [op for op in module.body.operations if isinstance(op, func.FuncOp)]
    if any(SIGNATURE in f.attributes for f in functions) and any(graph_ops(f) for f in functions if not tir.is_prim_func(f)):
        raise ScheduleError(f"the schedule of @{kernel} packs a parameter, which the kernel's callers do by graph ops, and the module is "
                            "legalized already: attach the schedule to the graph, and compile that from its start")


def run_one(module: ir.Module, kernel: func.FuncOp, name: str, on_loops: bool) -> None:
    """Runs a sequence on the loops of a kernel, or on its structured ops, whichever it is written for."""
    hint = ""
    if on_loops:
        if not blocks(kernel.operation):
            from legato.schedule.unraise import to_loops

            to_loops(kernel)
        localize_constants(kernel.operation)
    elif find(kernel.operation, "tir.for"):
        from legato.passes.loops.raising.kernel import raised

        try:
            kernel = raised(kernel)
        except Kept as reason:
            hint = f"\n  its loops have no form as structured ops, which this schedule is for: {reason}"
    try:
        kernel = script.run_sequence(module, name, kernel)
    except ScheduleError as error:
        raise ScheduleError(f"{error}{hint}") from None
    del kernel.attributes[SCHEDULE]
    tir.set_state(kernel, "written")
