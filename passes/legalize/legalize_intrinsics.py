"""tir-legalize-intrinsics: scalar and vector ops that a target lacks become ops that it has, by its rules."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.passes.legalize.intrinsics import Intrinsics
from legato.passes.legalize.intrinsics_pass import IntrinsicsPass


def legalize_intrinsics(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Rewrites ops that the target lacks, by its rules."""
    Intrinsics(module, target, report, "legalize").run()


@dataclass(frozen=True)
class LegalizeIntrinsics(IntrinsicsPass):
    """Replaces scalar and vector ops that the target lacks by ops that it has, by the rules of the target and its ancestors."""

    name: ClassVar[str] = "tir-legalize-intrinsics"
    rewrite = staticmethod(legalize_intrinsics)
