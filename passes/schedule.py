"""tir-schedule: each prim_func gets the schedule that its target has for it, as a transform script."""
import re
from dataclasses import dataclass
from typing import ClassVar

from ..dialects import tir
from ..dialects.module import Module
from ..mlir import func, interpreter, ir
from .base import ModulePass, PassContext, PassFailed, TargetText, option


def sequence(body: str) -> str:
    """A transform module with one named sequence; ``body`` sees the kernel as ``%root``."""
    return ("module attributes {transform.with_named_sequence} {\n"
            "transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {\n"
            f"{body}\ntransform.yield\n}}\n}}")


def apply_script(body: str, kernel: func.FuncOp) -> None:
    """Runs a transform script on one kernel. Raises ``PassFailed`` with the script's own line."""
    text = sequence(body)
    name = kernel.name.value
    try:
        script = ir.Module.parse(text)
        interpreter.apply_named_sequence(kernel.operation, script.body.operations[0], script)
    except (ir.MLIRError, ValueError) as error:
        lines = text.splitlines()
        place = re.search(r'"?-"?:(\d+):\d+', str(error))
        line = f"\n  in: {lines[int(place.group(1)) - 1].strip()}" if place and int(place.group(1)) <= len(lines) else ""
        raise PassFailed(f"the schedule of @{name} failed: {error}{line}") from None


@dataclass(frozen=True)
class Schedule(ModulePass):
    """Schedules every kernel: tiles, fuses and vectorizes it by the transform script that the target has for it."""

    name: ClassVar[str] = "tir-schedule"
    target: TargetText = option("llvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        report = context.report.setdefault("schedule", {})
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                name, body = kernel.name.value, target.schedule(kernel)
                report[name] = body
                if body:
                    apply_script(body, kernel)
