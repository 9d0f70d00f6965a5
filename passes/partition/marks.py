"""The attributes of partitions, and helpers for functions and calls."""
from __future__ import annotations

from collections.abc import Iterator

from legato.core.errors import LegatoError
from legato.core.ir_helpers import text_of, walk
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax.markers import ARTIFACTS, CODEGEN, COMPOSITE, EXTERNAL, PACKED, VETO
from legato.passes.pipeline.base import PassContext

__all__ = ["ARTIFACTS", "CODEGEN", "COMPOSITE", "EXTERNAL", "PACKED", "VETO", "backend_of_function", "calls_of", "check_marked",
           "graph_functions", "unique"]


def backend_of_function(function: func.FuncOp) -> str | None:
    """The backend that a function is marked for; None for a function of the host."""
    return text_of(function, CODEGEN)


def check_marked(backend: str, module: Module, context: PassContext) -> None:
    """Warns of a backend that no function is marked for, and that is not known."""
    marked = {backend_of_function(function) for function in module.functions()} - {None}
    if backend not in marked:
        try:
            context.backend(backend)
        except LegatoError as error:
            there = f"; functions are marked for {', '.join(sorted(map(str, marked)))}" if marked else ""
            context.warnings.append(f"no function is marked for the backend '{backend}'{there}; {error}")


def graph_functions(module: Module) -> Iterator[func.FuncOp]:
    """The host's functions with a body of graph ops: neither kernels nor given to a backend."""
    for function in module.functions():
        marked = any(mark in function.operation.attributes for mark in (CODEGEN, COMPOSITE))
        if not function.is_external and not marked and not tir.is_prim_func(function):
            yield function


def calls_of(module: Module) -> dict[str, list[func.CallOp]]:
    """All calls in the host part, by callee, in program order."""
    found: dict[str, list[func.CallOp]] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            found.setdefault(op.attributes["callee"].value, []).append(op.opview)
        return ir.WalkResult.ADVANCE

    for function in module.functions():
        walk(function, visit)
    return found


def unique(name: str, taken: set[str]) -> str:
    """``name``, or ``name_1`` ... if it is taken; the result is added to ``taken``."""
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
