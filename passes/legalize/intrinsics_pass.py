"""The base of tir-legalize-intrinsics and tir-lower-intrinsics: their options, and when they leave a module alone."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from legato.core.halves import has_halves
from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class IntrinsicsPass(ModulePass):
    """``rewrite(module, target, report)`` is what the pass does to a module, and adds to explain's records of intrinsics."""

    rewrite: ClassVar[Callable[[ir.Module, TargetLike, list[RuleRecord]], None]]
    target: TargetText = option("llvm", "whose rules are used")
    only_with_halves: bool = option(False, "leave a module alone that has no f16 and bf16: rules for these run before they become f32")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.report["target"] = context.target(self.target)
        if self.only_with_halves and not has_halves(module.module):
            return
        with module.context, ir.Location.unknown():
            type(self).rewrite(module.module, target, context.report.setdefault("intrinsics", []))
