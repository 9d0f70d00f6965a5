"""tir-lower-intrinsics: scalar and vector ops become the target's own instructions and library functions, by its rules."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.records import RuleRecord
from legato.passes.legalize.intrinsics import Intrinsics
from legato.passes.legalize.intrinsics_pass import IntrinsicsPass


def lower_intrinsics(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Intrinsics become the target's instructions and functions. Raises RuleError for ops of ours and of users that are left."""
    lowering = Intrinsics(module, target, report, "lower")
    lowering.run()
    lowering.complain()


@dataclass(frozen=True)
class LowerIntrinsics(IntrinsicsPass):
    """Maps scalar and vector ops to the target's own instructions and library functions, by the rules of the target and its ancestors."""

    name: ClassVar[str] = "tir-lower-intrinsics"
    rewrite = staticmethod(lower_intrinsics)
