"""tir-lower-intrinsics: scalar and vector ops become the target's own instructions and library functions, by its rules."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.dialects.module import Module
from legato.passes.legalize.intrinsics import Intrinsics, computes_in_halves
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class LowerIntrinsics(ModulePass):
    """Maps scalar and vector ops to the target's own instructions and library functions, by the rules of the target and its ancestors."""

    name: ClassVar[str] = "tir-lower-intrinsics"
    target: TargetText = option("llvm", "whose rules are used")
    only_with_halves: bool = option(False, "leave a module alone that has no f16 and bf16: rules for these run before they become f32")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.report["target"] = context.target(self.target)
        if self.only_with_halves and not computes_in_halves(module.module):
            return
        with module.context, ir.Location.unknown():
            lower_intrinsics(module.module, target, context.report.setdefault("intrinsics", []))


def lower_intrinsics(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Intrinsics become the target's instructions and functions. Raises RuleError for ops of ours and of users that are left."""
    lowering = Intrinsics(module, target, report, "lower")
    lowering.run()
    lowering.complain()
