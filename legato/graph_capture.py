"""Keeps the module in the middle of a compile, for a picture of it: kernels, with the graph ops in them, before they are lowered."""
from __future__ import annotations

from dataclasses import dataclass

from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.report import Report
from legato.targets.target import Target

STAGE, KEY = "fused", "captured"


@dataclass(frozen=True)
class CaptureModule(ModulePass):
    """Copies the module, as it is, into the report."""

    name = "capture-module"
    sees_external = True

    def run(self, module: Module, context: PassContext) -> None:
        """Keeps the copy in the context's report."""
        context.report[KEY] = module.clone()


def capturing(target: Target, from_stage: str | None) -> dict[str, ModulePass]:
    """``passes`` of a compile that keeps the module; none where it does not pass the stage."""
    names = [name for name, _ in target.templates()]
    passes = STAGE in names and (from_stage is None or names.index(target.stage(from_stage)) < names.index(STAGE))
    return {STAGE: CaptureModule()} if passes else {}


def captured_module(report: Report) -> Module | None:
    """The module that a compile kept, or None."""
    found = report.details.get(KEY)
    return found if isinstance(found, Module) else None
