"""The regions that a block lists as read and written (``T.reads``, ``T.writes``), checked against its stores."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.analysis.bounds import extents_around
from legato.analysis.indices.forms import in_loops
from legato.analysis.indices.linear import Linear, variables
from legato.core.ir_helpers import find, present
from legato.core.mlir import ir
from legato.dialects.tir.walk import FIRST_INDEX
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.elements import slice_bounds, subscripts
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.values import as_index
from legato.frontends.script.kernel.views import View


@dataclass(frozen=True)
class Region:
    """A part of a buffer: begin, linear in loop variables, and extent in each dimension; None where they are not known."""

    buffer: Buffer
    bounds: list[tuple[Linear, int] | None]
    node: ast.expr

    def misses(self, store: ir.Operation) -> tuple[int, int, int] | None:
        """The axis, and the least and greatest index relative to the region, of a store that is outside in some iteration; None if
        none is."""
        extents = extents_around(store.parent.operation)
        if extents is None:
            return None
        for axis, (bound, index) in enumerate(zip(self.bounds, list(store.operands)[FIRST_INDEX["memref.store"]:])):
            if bound is None:
                continue
            reach = (in_loops(index) - bound[0]).range(extents)
            if reach is not None and (reach[0] < 0 or reach[1] >= bound[1]):
                return axis, *reach
        return None


def regions(parser: KernelParser, call: ast.Call) -> list[Region]:
    """The regions that T.reads or T.writes lists. The ops that compute their bounds are erased again."""
    nodes = [e for a in call.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
    inside = ir.InsertionPoint.current.block
    before = len(inside.operations)
    found = [region(parser, node) for node in nodes]
    for op in reversed(list(inside.operations)[before - 1: -1]):
        op.operation.erase()
    return found


def region(parser: KernelParser, node: ast.expr) -> Region:
    """The region of ``A[i, 0:4]`` or ``A``; for a view, the whole buffer that it aliases."""
    base = node.value if isinstance(node, ast.Subscript) else node
    buffer = parser.scope.get(base.id) if isinstance(base, ast.Name) else None
    if isinstance(base, ast.Attribute) and parser.word(base) is None:
        buffer = parser.expression(base)
    if not isinstance(buffer, Buffer):
        raise parser.error("T.reads and T.writes take parts of buffers", node)
    if isinstance(buffer, View) or not isinstance(node, ast.Subscript):
        return Region(whole(buffer), [None] * whole(buffer).rank, node)
    bounds = [bound(parser, element, buffer, axis) for axis, element in enumerate(subscripts(node.slice))]
    return Region(buffer, bounds + [None] * (buffer.rank - len(bounds)), node)


def bound(parser: KernelParser, node: ast.expr, buffer: Buffer, axis: int) -> tuple[Linear, int] | None:
    """Begin and extent in one dimension; None where the begin is not linear in loop variables, or the extent is no number."""
    begin, extent = slice_bounds(parser, node, buffer, axis)
    form = in_loops(as_index(begin))
    plain = all(isinstance(v.owner, ir.Block) for v in variables(form))  # other values are erased before the region is checked
    return (form, extent) if plain and isinstance(extent, int) else None


def check_writes(parser: KernelParser, block: Any, said: list[Region], node: ast.AST) -> None:
    """ScriptError where a block writes a buffer, or is certain to write an element, that its T.writes, ``said`` at ``node``, does not
    list."""
    if find(block.operation, "func.call"):
        return
    names = {b.value: whole(b).name for b in parser.scope.values() if isinstance(b, Buffer)}
    for store in find(block.operation, "memref.store"):
        buffer = store.operands[1]
        of_buffer = [r for r in said if r.buffer.value == buffer]
        if not of_buffer and buffer in names:
            raise parser.error(f"the block '{block.name}' also writes {names[buffer]}", node)
        missed = [miss for r in of_buffer if (miss := r.misses(store))]
        if missed and len(missed) == len(of_buffer):
            (axis, low, high), first = missed[0], of_buffer[0]
            raise parser.error(f"the block '{block.name}' writes outside of this part of '{names[buffer]}': on axis {axis}, "
                               f"counted from its begin, from {low} to {high}, and it has {present(first.bounds[axis])[1]}", first.node)


def whole(buffer: Buffer) -> Buffer:
    """The buffer that a view aliases; other buffers as they are."""
    return whole(buffer.base) if isinstance(buffer, View) else buffer
