"""relax-inline-callers: inlines the functions that call packed functions, so that main alone calls them.

The table of packed functions is an argument of main (see passes/calls/lower_packed.py), and is not passed on to other graph functions.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find
from legato.dialects.module import Module
from legato.dialects.relax.markers import EXTERNAL, PACKED
from legato.dialects.tir.markers import TIR_PACKED
from legato.passes.partition.groups import inline
from legato.passes.partition.inline_functions import check_size
from legato.passes.partition.marks import calls_of, graph_functions
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

MAIN = "main"


@dataclass(frozen=True)
class InlineCallers(ModulePass):
    """Inlines the graph functions, other than main, that call packed functions or external modules, themselves or by others."""

    name: ClassVar[str] = "relax-inline-callers"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        calling = callers(module)
        functions = [f for f in graph_functions(module) if f.name.value in calling and f.name.value != MAIN]
        check_size(module, functions)
        for function in functions:
            calls = calls_of(module).get(function.name.value, [])
            if any(call.operation in find(function.operation, "func.call") for call in calls):
                raise PassFailed(f"@{function.name.value} calls itself", function)
            for call in calls:
                inline(call, function)
            function.operation.erase()


def callers(module: Module) -> set[str]:
    """The names of the functions, kernels included, that call a packed function or an external module, themselves or by others."""
    marks = (PACKED, EXTERNAL, TIR_PACKED)
    found = {f.name.value for f in module.functions() if any(mark in f.operation.attributes for mark in marks)}
    if not found:
        return found
    called_by: dict[str, set[str]] = {}
    for function in module.functions():
        for call in find(function.operation, "func.call"):
            called_by.setdefault(call.attributes["callee"].value, set()).add(function.name.value)
    work = list(found)
    while work:
        for caller in called_by.get(work.pop(), set()) - found:
            found.add(caller)
            work.append(caller)
    return found
