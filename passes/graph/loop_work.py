"""The work of loops of main, on one thread and shared by threads: what decides how threads run them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappushpop
from itertools import pairwise
from math import prod

from legato.core.dtypes import element_bytes
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import body
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Size
from legato.dialects.tir.loops import constant_of
from legato.passes.graph.functions import CONSTANT, is_graph_op
from legato.passes.graph.loop_rows import BOUNDS

# Work is counted in multiply-adds of floats, of which a thread computes some 50 in a nanosecond.
POINTWISE = 8           # of an element of an elementwise op, on the average of those of a cell
SHARED = 1 << 20        # of a product that threads share, at least
READ = 4                # rows of a product: what fewer take, where threads share it, from half as much work on
NEAR, FAR = 2, 3        # likewise on one thread, by a factor that its cache has, or has not
MEETING = 1 << 17       # of the threads, at the end of a kernel
START = 1 << 19         # of loops side by side; what less is gained is not worth a change
STEPS = 16              # assumed, of a loop of an unknown number
ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)       # looked at, where their number is not known


@dataclass(frozen=True)
class GraphLoop:
    """A loop of main over graph ops. ``rows``: the values that have rows, with the axis (see row_axes); ``count``: their number, 1 where
    there are none."""

    op: ir.Operation
    rows: Mapping[ir.Value, int]
    count: Size

    @property
    def steps(self) -> int:
        """The number of steps, or what is assumed for it."""
        begin, end, step = map(constant_of, list(self.op.operands)[:BOUNDS])
        return STEPS if begin is None or end is None or step is None else max(-(-(end - begin) // step), 0)

    def work(self, rows: int, machine: CpuMachine, shared: bool) -> float:
        """Of a step on so many rows. ``shared``: threads share each large product; else one thread computes all."""
        found = 0.0
        for op in body(self.op.regions[0].blocks[0]):
            if not is_graph_op(op) or op.name == CONSTANT:
                continue
            sizes = [one if isinstance(one, int) else rows for one in dims.dims(op.results[0].type)]
            if op.results[0] in self.rows:
                sizes[self.rows[op.results[0]]] = rows
            if op.name.startswith("relax.matmul") and len(sizes) > 1:
                found += product(op, sizes, machine, shared)
            elif getattr(relax.op_class(op), "ELEMENTWISE", False):
                found += prod(sizes) * POINTWISE
        return found


def product(op: ir.Operation, sizes: Sequence[int], machine: CpuMachine, shared: bool) -> float:
    """The work of a matmul whose result has these sizes."""
    depth = dims.dims(op.operands[0].type)[-1]
    each = prod(sizes[:-2]) * (depth if isinstance(depth, int) else 1) * sizes[-1]
    if shared and each * max(sizes[-2], READ) >= SHARED // (2 if sizes[-2] < READ else 1):
        return each * max(sizes[-2], FAR) / machine.threads + MEETING
    factor = [one if isinstance(one, int) else 1 for one in dims.dims(op.operands[1].type)]
    near = prod(factor) * element_bytes(op.operands[1].type.element_type) <= machine.l2_bytes
    return each * max(sizes[-2], NEAR if near else FAR)


def best_parts(group: Sequence[GraphLoop], machine: CpuMachine, rows: int | None = None) -> int:
    """The number of parts of each loop of a group that run side by side; 0 where kernels that threads share are as fast. ``rows``: what a
    number of rows is that is not known."""
    parts = min(range(1, machine.threads + 1), key=lambda parts: side_by_side(group, parts, machine, rows))
    return parts if pays(group, parts, machine, rows) else 0


def pays(group: Sequence[GraphLoop], parts: int, machine: CpuMachine, rows: int | None = None) -> bool:
    """Whether so many parts of the loops of a group take less time side by side than one after the other by kernels that threads share."""
    now = sum(loop.steps * loop.work(rows_of(loop, rows), machine, shared=True) for loop in group)
    loops = sum(min(parts, rows_of(loop, rows)) for loop in group)
    return loops > 1 and side_by_side(group, parts, machine, rows) + START < now


def least_rows(group: Sequence[GraphLoop], parts: int, machine: CpuMachine) -> int | None:
    """The number of rows from which on so many parts take less time; None where they do not."""
    found = None
    for rows in reversed(ROWS):
        if rows < parts or not pays(group, parts, machine, rows):
            break
        found = rows
    return found


def side_by_side(group: Sequence[GraphLoop], parts: int, machine: CpuMachine, rows: int | None) -> float:
    """The work of the thread that has most of a group of which each loop has so many parts: who is through takes the next one."""
    each = [loop.steps * loop.work(end - first, machine, shared=False)
            for loop in group for first, end in ranges(rows_of(loop, rows), parts)]
    busy = [0.0] * machine.threads
    for work in sorted(each, reverse=True):
        heappushpop(busy, busy[0] + work)
    return max(busy)


def rows_of(loop: GraphLoop, unknown: int | None) -> int:
    """The number of a loop's rows, or what is looked at in its place."""
    return loop.count if isinstance(loop.count, int) else unknown or max(ROWS)


def ranges(count: Size, parts: int) -> list[tuple[Size, Size]]:
    """Parts of so many rows: the first, and the one behind the last."""
    parts = min(count, parts) if isinstance(count, int) else parts
    return list(pairwise(dims.floor_divide(count * number, parts) for number in range(parts + 1)))
