"""relax-inline: inlines private functions of graph ops. (Upstream's inliner does not support ops of dialects defined in Python.)"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import text_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.partition.groups import inline
from legato.passes.partition.marks import CODEGEN, calls_of
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class InlineFunctions(ModulePass):
    """Inlines private functions of graph ops, including composites, where they are called; kernels and functions marked for a backend
    stay."""

    name: ClassVar[str] = "relax-inline"

    def run(self, module: Module, context: PassContext) -> None:
        functions = [f for f in module.functions() if text_of(f, "sym_visibility") == "private" and not f.is_external
                     and not tir.is_prim_func(f) and CODEGEN not in f.operation.attributes]
        for function in functions:
            name = function.name.value
            calls = calls_of(module).get(name, [])
            if any(call.operation.parent.operation == function.operation for call in calls):
                raise PassFailed(f"@{name} calls itself", function)
            for call in calls:
                inline(call, function)
            function.operation.erase()
