"""What a block says that it reads and writes (``T.reads``, ``T.writes``), and whether that is so."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.analysis.bounds import extents_around
from legato.analysis.linear import Linear, in_loops
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.tir.walk import FIRST_INDEX
from legato.frontends.script.kernel.allocations import Buffers
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.values import as_index
from legato.frontends.script.kernel.views import View


@dataclass(frozen=True)
class Region:
    """A part of a buffer: on each axis where it begins, in loop variables, and how many elements it has; None where that is not seen."""

    buffer: Buffer
    bounds: list[tuple[Linear, int] | None]
    node: ast.expr

    def misses(self, store: ir.Operation) -> tuple[int, int, int] | None:
        """The axis, and the least and the greatest place from the region's begin, of a store that goes beyond it for certain."""
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


class Regions(Buffers):
    """Reads what blocks say, and compares it with what they do."""

    def regions(self, call: ast.Call) -> list[Region]:
        """The parts of buffers that T.reads or T.writes names; of a part of a buffer, the whole one. Nothing stays built."""
        nodes = [e for a in call.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
        inside = ir.InsertionPoint.current.block
        before = len(inside.operations)
        found = [self.region(node) for node in nodes]
        for op in reversed(list(inside.operations)[before - 1: -1]):
            op.operation.erase()
        return found

    def region(self, node: ast.expr) -> Region:
        base = node.value if isinstance(node, ast.Subscript) else node
        buffer = self.scope.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(base, ast.Attribute) and self.word(base) is None:
            buffer = self.expression(base)
        if not isinstance(buffer, Buffer):
            raise self.source.error("T.reads and T.writes take parts of buffers", node)
        if isinstance(buffer, View) or not isinstance(node, ast.Subscript):
            return Region(whole(buffer), [None] * whole(buffer).rank, node)
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        bounds = [self.region_bound(element, buffer, axis) for axis, element in enumerate(elements)]
        return Region(buffer, bounds + [None] * (buffer.rank - len(bounds)), node)

    def region_bound(self, node: ast.expr, buffer: Buffer, axis: int) -> tuple[Linear, int] | None:
        begin, extent = self.slice_bounds(node, buffer, axis)
        form = in_loops(as_index(begin))
        plain = all(isinstance(term.owner, ir.Block) for term in form.terms)  # what was computed is gone when this is looked at
        return (form, extent) if plain and isinstance(extent, int) else None

    def check_regions(self, block: Any, regions: dict[str, tuple[list[Region], ast.AST]]) -> None:
        """What a block says that it writes has to be what is seen in it."""
        if "writes" not in regions or find(block.operation, "func.call"):
            return
        said, node = regions["writes"]
        names = {b.value: whole(b).name for b in self.scope.values() if isinstance(b, Buffer)}
        for store in find(block.operation, "memref.store"):
            buffer = store.operands[1]
            of_buffer = [r for r in said if r.buffer.value == buffer]
            if not of_buffer and buffer in names:
                raise self.source.error(f"the block '{block.name}' also writes {names[buffer]}", node)
            missed = [r.misses(store) for r in of_buffer]
            if missed and all(missed):
                (axis, low, high), first = missed[0], of_buffer[0]
                raise self.source.error(f"the block '{block.name}' writes outside of this part of '{names[buffer]}': on axis {axis}, "
                                        f"counted from its begin, from {low} to {high}, and it has {first.bounds[axis][1]}", first.node)


def whole(buffer: Buffer) -> Buffer:
    """The buffer that a part of one lies in."""
    return whole(buffer.base) if isinstance(buffer, View) else buffer
