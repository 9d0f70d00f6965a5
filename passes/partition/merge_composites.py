"""relax-merge-composites: merges adjacent composites of one backend into one function, so that the backend gets large parts."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.data_sizes import DataSizes, symbols_of_type
from legato.analysis.patterns.graph import CONSTANT, graph_blocks
from legato.core.ir_helpers import defining_op, text_of, walk
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import COMPOSITE, VETO
from legato.passes.partition.cycles import Groups
from legato.passes.partition.groups import as_function, replace_by_call, sort_block
from legato.passes.partition.marks import CODEGEN, check_marked, graph_functions, unique
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class MergeComposites(ModulePass):
    """Merges calls of composites of one backend if one reads results of the other, unless that would create a cycle.

    Merged calls become a function marked relax.codegen that calls the composites; a composite without such a neighbour is unchanged.
    """

    name: ClassVar[str] = "relax-merge-composites"
    rounding: ClassVar[Rounding] = EXACT
    backend: str = option("", "only composites of this backend (default: of all)")

    def run(self, module: Module, context: PassContext) -> None:
        table = {f.name.value: f for f in module.functions()}
        names = set(table)
        if self.backend:
            check_marked(self.backend, module, context)
        for function in list(graph_functions(module)):
            for block in graph_blocks(function):
                merge(module.module, function, block, table, names, self.backend)


def merge(module: ir.Module, function: func.FuncOp, block: ir.Block, table: dict[str, func.FuncOp], names: set[str], only: str) -> None:
    """Works on one block of a function. ``table``: the functions of the module by name; ``names``: its symbols, to which new ones are
    added."""
    ops = [op.operation for op in block.operations if op.operation.name != CONSTANT]
    position = {op: n for n, op in enumerate(ops)}
    backends = {op: backend for op in ops if (backend := _backend(op, table, only)) is not None}
    sizes = DataSizes(function)
    producers = {op: _producers(op, position) for op in ops}
    for op in ops:
        producers[op] += [giver for giver in sizes.waits_for(op) if giver in position and position[giver] < position[op]]
    groups = Groups(producers)
    for op, backend in backends.items():
        for producer in producers[op]:
            if backends.get(producer) == backend and groups.group(op) != groups.group(producer) and groups.may_join((op, producer)):
                groups.join((op, producer))
    members: dict[int, list[ir.Operation]] = {}
    for op in backends:
        members.setdefault(groups.group(op), []).append(op)
    # look up backends now: an op's hash changes with its operands
    merged = [(calls, backends[calls[0]]) for calls in members.values() if len(calls) > 1 and knows_sizes(calls)]
    for calls, backend in merged:
        _outline(module, calls, backend, table, names)
    if merged:
        sort_block(block, function)


def _backend(op: ir.Operation, table: dict[str, func.FuncOp], only: str) -> str | None:
    """The backend of the composite that an op calls, or None."""
    if op.name != "func.call":
        return None
    callee = table.get(op.attributes["callee"].value)
    if callee is None or COMPOSITE not in callee.operation.attributes or VETO in callee.operation.attributes:
        return None
    backend = text_of(callee, CODEGEN)
    return backend if not only or backend == only else None


def _producers(op: ir.Operation, position: dict[ir.Operation, int]) -> list[ir.Operation]:
    found: dict[ir.Operation, None] = {}

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for value in inner.operands:
            owner = defining_op(value)
            if owner is not None and owner in position and owner != op:
                found[owner] = None
        return ir.WalkResult.ADVANCE

    walk(op, visit)
    return list(found)


def knows_sizes(calls: list[ir.Operation]) -> bool:
    """Whether the symbols in the types between these calls are in a type of what they read or leave together: a merged function has no
    others."""
    inside, between, outside = set(calls), set[str](), set[str]()
    for call in calls:
        for value in call.operands:
            if defining_op(value) not in inside:
                outside |= symbols_of_type(value.type)
        for value in call.results:
            leaves = any(use.owner.operation not in inside for use in value.uses)
            (outside if leaves else between).update(symbols_of_type(value.type))
    return between <= outside


def _outline(module: ir.Module, calls: list[ir.Operation], backend: str, table: dict[str, func.FuncOp], names: set[str]) -> None:
    inside = set(calls)
    results = [r for call in calls for r in call.results if any(use.owner.operation not in inside for use in r.uses)]
    location = ir.Location.fused([call.location for call in calls])
    count = 0
    while f"{backend}_part_{count}" in names:
        count += 1
    function, inputs = as_function(module, unique(f"{backend}_part_{count}", names), calls, results, location)
    function.attributes[CODEGEN] = ir.StringAttr.get(backend)
    for callee in dict.fromkeys(call.attributes["callee"].value for call in calls):
        del table[callee].operation.attributes[CODEGEN]  # only the merged function is outlined; its callees move along
    replace_by_call(function, calls, results, inputs, location)
