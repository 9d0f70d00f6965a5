"""tir-legalize-intrinsics: scalar and vector ops that a target lacks become ops that it has, by its rules."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.dialects.module import Module
from legato.passes.legalize.intrinsics import Intrinsics, computes_in_halves
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class LegalizeIntrinsics(ModulePass):
    """Replaces scalar and vector ops that the target lacks by ops that it has, by the rules of the target and its ancestors."""

    name: ClassVar[str] = "tir-legalize-intrinsics"
    target: TargetText = option("llvm", "whose rules are used")
    only_with_halves: bool = option(False, "leave a module alone that has no f16 and bf16: rules for these run before they become f32")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.report["target"] = context.target(self.target)
        if self.only_with_halves and not computes_in_halves(module.module):
            return
        with module.context, ir.Location.unknown():
            legalize_intrinsics(module.module, target, context.report.setdefault("intrinsics", []))


def legalize_intrinsics(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Rewrites ops that the target lacks, by its rules."""
    Intrinsics(module, target, report, "legalize").run()
