"""tir-schedule: applies the target's schedule, a transform script, to each prim_func."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.kernel_text import same_kernels
from legato.analysis.origins import kernel_origins
from legato.analysis.structured.vector_loops import obstacles
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import func, ir
from legato.core.records import KernelRecord
from legato.core.upstream import run_script
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import FORM_OF, SIDE_BY_SIDE
from legato.dialects.tir.state import WRITTEN
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.fit_windows import fit_windows
from legato.passes.structured.order_inputs import order_inputs
from legato.passes.structured.shared_schedules import SharedSchedule, is_free
from legato.schedule.transform_batch import apply_scripts

LOOP = "loop"       # where a kernel is called: see called_in
UNPACK = ('%unpacks = transform.structured.match ops{["linalg.unpack"]} in %root : (!transform.any_op) -> !transform.op<"linalg.unpack">\n'
          '%empty, %transposed, %collapsed, %sliced, %copied = transform.structured.lower_unpack %unpacks : '
          '(!transform.op<"linalg.unpack">) -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, '
          '!transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)')


@dataclass(frozen=True)
class ScheduleKernels(ModulePass):
    """Schedules every kernel: tiles, fuses and vectorizes it by the target's transform script for it.

    The scripts run inside of this pass, by upstream's transform interpreter: each transform script belongs to one kernel, or to few. Of
    kernels that differ only in numbers that they compute with, one is scheduled, and the others are copies of it with their numbers. Where
    a script does not fold the linalg.unpack of a packed weight into its reads, another makes copies of it. Kernels of loops that run side
    by side have schedules for one thread, those of other loops for threads that are awake.
    """

    name: ClassVar[str] = "tir-schedule"
    target: TargetText = option("llvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        report = context.report.setdefault("schedule", {})
        with module.context, ir.Location.unknown():
            scripts: list[tuple[str, func.FuncOp]] = []
            packed: set[str] = set()
            kernels = tir.schedulable(module.module)
            for kernel in kernels:
                if fit_windows(kernel) | order_inputs(kernel):
                    context.kernels.drop(kernel)
            groups = list(same_kernels(kernels, is_free))
            variants = {SIDE_BY_SIDE: target.with_cpu(threads=1), LOOP: target.with_cpu(awake=True)}
            places = called_in(module.module)
            for names in ({kernel.name.value for kernel in same.kernels} for same in groups):
                if len({places.get(name) for name in names}) > 1:
                    places = {name: place for name, place in places.items() if name not in names}
            firsts = {other.name.value: same.kernels[0].name.value for same in groups for other in same.kernels[1:]}
            for kernel in kernels:
                name = kernel.name.value
                if name in firsts:
                    report[name] = report[firsts[name]]
                    continue
                body = report[name] = variants.get(places.get(name, ''), target).schedule(context.kernels.of(kernel))
                if any(op.name == "linalg.unpack" for op in context.kernels.of(kernel).ops):
                    packed.add(name)
                if body:
                    scripts.append((body, kernel))
            context.report["kernels"] = kernel_records(module.module, context)
            shared = [SharedSchedule.begin(same) for same in groups]
            apply_scripts(scripts)
            scheduled = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module)}
            for name in packed:
                if find(scheduled[name].operation, "linalg.unpack"):
                    run_script(UNPACK, scheduled[name].operation, "the lowering of linalg.unpack")
            for one in shared:
                one.end(scheduled)


def called_in(module: ir.Module) -> dict[str, str]:
    """Where kernels are called: in loops of main that run side by side (SIDE_BY_SIDE), or in others (LOOP), and nowhere else."""
    places: dict[str, set[str | None]] = {}
    for call in find(module.operation, "func.call"):
        around = ancestors(call)
        in_loop = LOOP if any(op.name in ("scf.for", "scf.while") for op in around) else None
        place = SIDE_BY_SIDE if any(SIDE_BY_SIDE in op.attributes for op in around) else in_loop
        places.setdefault(call.attributes["callee"].value, set()).add(place)
    return {name: place for name, (place, *others) in places.items() if place is not None and not others}


def kernel_records(module: ir.Module, context: PassContext, chosen: Mapping[str, str] | None = None) -> list[KernelRecord]:
    """What is known of each kernel before it is scheduled, for ``explain``. ``chosen``: on a GPU, the names of the kernels' schedules."""
    names = kernel_origins(module)
    scripts, kept = context.report.get("schedule", {}), context.report.get("raise-loops", {})
    refused: Mapping[str, tuple[str, ...]] = context.report.get("schedules-refused", {})
    whole = {part: name for name, parts in context.report.get("split-kernels", {}).items() for part in parts}
    records = []
    for kernel in tir.prim_funcs(module):
        name, state = kernel.name.value, tir.state_of(kernel)
        called = ir.FlatSymbolRefAttr(kernel.attributes[FORM_OF]).value if FORM_OF in kernel.attributes else name
        ops = tuple(f"{op} {given}" if given else op for op, given in names.get(called, ()))
        if state is not None:
            form, reasons = ("loops", (kept[name],)) if state == WRITTEN and name in kept else (
                "loops" if state == WRITTEN else "scheduled", ())
        else:
            form = "structured"
            reasons = tuple(obstacles(context.kernels.of(kernel))) if chosen is None else refused.get(name, ())
        schedule = None if chosen is None else chosen.get(name, "")
        records.append(KernelRecord(name, ops, form, bool(scripts.get(name)), reasons, whole.get(name), schedule))
    return records
