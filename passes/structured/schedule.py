"""tir-schedule: applies the target's schedule, a transform script, to each prim_func."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.core.upstream import run_script
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.fit_windows import fit_windows
from legato.schedule.transform_batch import apply_scripts

UNPACK = ('%unpacks = transform.structured.match ops{["linalg.unpack"]} in %root : (!transform.any_op) -> !transform.op<"linalg.unpack">\n'
          '%empty, %transposed, %collapsed, %sliced, %copied = transform.structured.lower_unpack %unpacks : '
          '(!transform.op<"linalg.unpack">) -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, '
          '!transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)')


@dataclass(frozen=True)
class ScheduleKernels(ModulePass):
    """Schedules every kernel: tiles, fuses and vectorizes it by the target's transform script for it.

    The scripts run inside of this pass, by upstream's transform interpreter: each transform script belongs to one kernel, or to few. Where
    one does not fold the linalg.unpack of a packed weight into its reads, another makes copies of it.
    """

    name: ClassVar[str] = "tir-schedule"
    target: TargetText = option("llvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        report = context.report.setdefault("schedule", {})
        with module.context, ir.Location.unknown():
            scripts: list[tuple[str, func.FuncOp]] = []
            packed: set[str] = set()
            for kernel in tir.schedulable(module.module):
                if fit_windows(kernel):
                    context.kernels.drop(kernel)
                body = report[kernel.name.value] = target.schedule(context.kernels.of(kernel))
                if any(op.name == "linalg.unpack" for op in context.kernels.of(kernel).ops):
                    packed.add(kernel.name.value)
                if body:
                    scripts.append((body, kernel))
            apply_scripts(scripts)
            for kernel in tir.prim_funcs(module.module):
                if kernel.name.value in packed and find(kernel.operation, "linalg.unpack"):
                    run_script(UNPACK, kernel.operation, "the lowering of linalg.unpack")
