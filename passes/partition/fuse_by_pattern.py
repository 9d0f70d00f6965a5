"""relax-fuse-by-pattern: outlines the ops that a backend's patterns match, one function per match.

Patterns are tried in the order of the backend's list, each from its last op backwards; an op belongs to the first match that includes it.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.patterns.graph import CONSTANT, Graph, Node, graph_blocks, recognized
from legato.analysis.patterns.match import Match
from legato.analysis.patterns.matcher import Matcher
from legato.core.errors import LegatoError
from legato.core.interfaces import BackendLike
from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.core.records import PatternRecord
from legato.core.user_code import prefixed
from legato.dialects.module import Module
from legato.dialects.relax.markers import COMPOSITE
from legato.passes.partition.cycles import Groups
from legato.passes.partition.groups import as_function, erase_unread, replace_by_call, sort_block
from legato.passes.partition.marks import CODEGEN, graph_functions, unique
from legato.passes.partition.report import records
from legato.passes.pipeline.base import BackendName, ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class FuseByPattern(ModulePass):
    """Outlines the ops that a backend's patterns match to functions, marked relax.composite and relax.codegen.

    Matched are graph ops, and calls of kernels that compute what a graph op does. Constants are copied into the function.
    """

    name: ClassVar[str] = "relax-fuse-by-pattern"
    rounding: ClassVar[Rounding] = EXACT
    backend: BackendName = option("", "the backend with the patterns")

    def run(self, module: Module, context: PassContext) -> None:
        backend = context.backend(self.backend)
        kernels = recognized(module.module)
        names = {f.name.value for f in module.functions()}
        report, tried = records(context.report), set[int]()
        for function in list(graph_functions(module)):
            for block in graph_blocks(function):
                try:
                    tried |= fuse(module.module, Graph(function, kernels, block), backend, names, report)
                except LegatoError as error:
                    raise prefixed(error, f"the backend '{backend.name}'") from error
        for number, composite in enumerate(backend.composites()):
            if number not in tried:
                nothing = f"the graph has no {' or '.join(sorted(composite.pattern.roots())) or 'ops'}"
                report.append(PatternRecord(backend.name, composite.name, (), reason=f"{nothing} that is not taken"))


def fuse(module: ir.Module, graph: Graph, backend: BackendLike, names: set[str], report: list[PatternRecord]) -> set[int]:
    """Works on one block of a function. ``names``: the symbols of the module, to which new ones are added. Returns the numbers of the
    patterns for which the block has an op."""
    matcher = Matcher(graph)
    groups: Groups[Node] | None = None
    found: list[Match] = []
    tried: set[int] = set()
    for number, composite in enumerate(backend.composites()):
        begin = len(matcher.attempts)
        for match in matcher.matches(composite):
            if len(match.results) > 1:
                groups = groups or _groups(graph)
                if not groups.may_join(match.nodes):
                    matcher.taken.difference_update(match.own)
                    report.append(_refused(backend, match, "other ops lie between its ops, and both read from it and are read by it"))
                    continue
                groups.join(match.nodes)
            found.append(match)
        if len(matcher.attempts) > begin:
            tried.add(number)
        failed = [a for a in matcher.attempts[begin:] if a.reason is not None]
        report += [PatternRecord(backend.name, a.pattern, (str(a.node),), reason=a.reason) for a in failed]
    taken = [tuple(map(str, match.nodes)) for match in found]  # names for the report, while the ops exist
    for match, ops in sorted(zip(found, taken), key=lambda pair: pair[0].nodes[-1].position):
        made = _outline(module, match, backend.name, names)
        report.append(PatternRecord(backend.name, match.name, ops, function=made.name.value))
    copied = {node for match in found for node in match.copied}
    for node in sorted(copied, key=lambda node: -node.position):      # those that only other matches read
        if not any(True for result in node.op.results for _ in result.uses):
            left = [present(ref.node).op for ref in node.operands if ref.is_constant]
            node.op.erase()
            erase_unread(list(dict.fromkeys(left)))
    if any(len(match.results) > 1 for match in found):
        sort_block(graph.block, graph.function)
    return tried


def _refused(backend: BackendLike, match: Match, reason: str) -> PatternRecord:
    return PatternRecord(backend.name, match.name, tuple(map(str, match.nodes)), reason=reason)


def _groups(graph: Graph) -> Groups[Node]:
    nodes = {node.op: node for node in graph.nodes}
    producers = {node: [ref.node for ref in node.operands if ref.node is not None and ref.node.name != CONSTANT] for node in graph.nodes}
    for node in graph.nodes:
        producers[node] += [nodes[op] for op in graph.sizes.waits_for(node.op) if op in nodes and nodes[op].position < node.position]
    return Groups(producers)


def _outline(module: ir.Module, match: Match, backend: str, names: set[str]) -> func.FuncOp:
    taken = {n for node in match.nodes for n in (*node.helpers, node)}
    constants = {present(ref.node) for node in match.nodes for ref in node.operands if ref.is_constant}
    copied = [n.op for n in sorted(taken | constants, key=lambda n: n.position)]
    ops = [n.op for n in sorted(taken, key=lambda n: n.position) if n not in match.copied]
    results = [ref.value for ref in match.results]
    location = ir.Location.fused([op.location for op in match.ops]) if len(match.ops) > 1 else match.ops[0].location
    name = _name(f"{backend}_{match.name}", names)
    function, inputs = as_function(module, name, copied, results, location)
    function.attributes[CODEGEN] = ir.StringAttr.get(backend)
    function.attributes[COMPOSITE] = ir.StringAttr.get(f"{backend}.{match.name}")
    replace_by_call(function, ops, results, inputs, location)
    return function


def _name(stem: str, names: set[str]) -> str:
    """``stem_0``, or the next unused number."""
    count = 0
    while f"{stem}_{count}" in names:
        count += 1
    return unique(f"{stem}_{count}", names)
