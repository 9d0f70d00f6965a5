"""relax-inline: inlines private functions of graph ops. (Upstream's inliner does not support ops of dialects defined in Python.)"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, text_of
from legato.core.mlir import func
from legato.dialects import tir
from legato.dialects.module import Module, walk
from legato.passes.partition.groups import inline
from legato.passes.partition.marks import CODEGEN, calls_of
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

MOST_OPS = 100_000   # that a function may become


@dataclass(frozen=True)
class InlineFunctions(ModulePass):
    """Inlines private functions of graph ops, including composites, where they are called; kernels and functions marked for a backend
    stay."""

    name: ClassVar[str] = "relax-inline"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        functions = [f for f in module.functions() if text_of(f, "sym_visibility") == "private" and not f.is_external
                     and not tir.is_prim_func(f) and CODEGEN not in f.operation.attributes]
        check_size(module, functions)
        for function in functions:
            name = function.name.value
            calls = calls_of(module).get(name, [])
            if any(call.operation.parent.operation == function.operation for call in calls):
                raise PassFailed(f"@{name} calls itself", function)
            for call in calls:
                inline(call, function)
            function.operation.erase()


def check_size(module: Module, inlined: Sequence[func.FuncOp]) -> None:
    """PassFailed if a function that calls these becomes too many ops when they are inlined. A function that calls itself counts once
    there."""
    bodies = {f.name.value: f for f in inlined}
    known: dict[str, int] = {}

    def size(function: func.FuncOp) -> int:
        name = function.name.value
        if name not in known:
            known[name] = 1
            ops = list(walk(function.operation))
            called = [op.attributes["callee"].value for op in ops if op.name == "func.call"]
            known[name] = len(ops) + sum(size(bodies[callee]) for callee in called if callee in bodies)
        return known[name]

    for function in module.functions():
        if function.name.value in bodies or not any(c.attributes["callee"].value in bodies for c in find(function.operation, "func.call")):
            continue   # nothing is copied into it
        if (count := size(function)) > MOST_OPS:
            raise PassFailed(f"with the functions that it calls, @{function.name.value} becomes {count:,} ops, as each call is a copy; "
                             f"{MOST_OPS:,} are the most", function)
