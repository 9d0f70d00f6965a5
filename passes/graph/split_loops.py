"""relax-split-loops: loops of main that do not depend on each other run side by side, each on one thread; of a loop over rows, such as a
recurrent layer over a batch, each part of the rows becomes a loop of its own.

A kernel's threads meet at its end, several times in each step of such a loop, and each reads what the others wrote. Loops meet once.
"""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappushpop
from itertools import pairwise
from math import prod
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import body, next_op, present
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import SIDE_BY_SIDE
from legato.passes.graph.functions import CONSTANT, Constants, erase_dead, is_graph_op, relax_functions, top_ops
from legato.passes.graph.loop_parts import can_be_split, split_rows
from legato.passes.graph.loop_rows import BOUNDS, row_axes
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding

# Work is counted in multiply-adds of floats, of which a thread computes some 50 in a nanosecond.
POINTWISE = 8           # of an element of an elementwise op, on the average of those of a cell
SHARED = 1 << 20        # of a product that threads share, at least
READ = 4                # rows of a product: what fewer take, where threads share it
NEAR, FAR = 2, 3        # likewise on one thread, by a factor that its cache has, or has not
MEETING = 1 << 17       # of the threads, at the end of a kernel
START = 1 << 19         # of loops side by side; what less is gained is not worth a change
STEPS = 16              # assumed, of a loop of an unknown number
PLAIN = ("tensor.extract_slice", "tensor.insert_slice", "tensor.cast", "tensor.empty", "tensor.extract", "tensor.from_elements",
         "bufferization.materialize_in_destination", "builtin.unrealized_conversion_cast")


@dataclass(frozen=True)
class SplitLoops(ModulePass):
    """Splits loops of main by rows and marks those that run side by side, with the number of their group, where that takes less time."""

    name: ClassVar[str] = "relax-split-loops"
    rounding: ClassVar[Rounding] = REORDERED    # a product of fewer rows may be summed in another order
    target: TargetText = option("llvm", "the target whose threads run the loops")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if machine.threads < 2:
            return
        with module.context:
            number = 0
            for function in relax_functions(module):
                for group in groups(function):
                    parts = best_parts(group, machine)
                    if parts:
                        bring_together([loop.op for loop in group], dims.symbol_table(function))
                        run_side_by_side(group, parts, number)
                        number += 1
                erase_dead(function, Constants(module))


@dataclass(frozen=True)
class GraphLoop:
    """A loop of main over graph ops of known sizes. ``rows``: the values that have rows, with the axis (see row_axes); of one row where it
    has none."""

    op: ir.Operation
    rows: Mapping[ir.Value, int]

    @property
    def count(self) -> int:
        """The number of rows."""
        return next((value.type.shape[axis] for value, axis in self.rows.items()), 1)

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
            sizes = list(op.results[0].type.shape)
            if op.results[0] in self.rows:
                sizes[self.rows[op.results[0]]] = rows
            if op.name.startswith("relax.matmul") and len(sizes) > 1:
                found += product(op, sizes, machine, shared)
            elif getattr(relax.op_class(op), "ELEMENTWISE", False):
                found += prod(sizes) * POINTWISE
        return found


def product(op: ir.Operation, sizes: Sequence[int], machine: CpuMachine, shared: bool) -> float:
    """The work of a matmul whose result has these sizes."""
    factor = op.operands[1].type
    each = prod(sizes[:-2]) * op.operands[0].type.shape[-1] * sizes[-1]
    if shared and each * max(sizes[-2], READ) >= SHARED:
        return each * max(sizes[-2], FAR) / machine.threads + MEETING
    near = prod(factor.shape) * element_bytes(factor.element_type) <= machine.l2_bytes
    return each * max(sizes[-2], NEAR if near else FAR)


def groups(function: func.FuncOp) -> list[list[GraphLoop]]:
    """The loops of a function's block that one of its threads may run, in groups that do not depend on each other."""
    found: list[list[GraphLoop]] = []
    given = dims.symbol_table(function)
    for op in top_ops(function):
        if op.name == "scf.for" and is_plain(op):
            loop = GraphLoop(op, max(choices(op), key=lambda rows: GraphLoop(op, rows).count, default={}))
            if not found or sources_between([one.op for one in found[-1]], op, given) is None:
                found.append([])
            found[-1].append(loop)
    return found


def choices(loop: ir.Operation) -> list[Mapping[ir.Value, int]]:
    """The choices of the rows of a loop that it carries."""
    states = loop.regions[0].blocks[0].arguments
    return [rows for rows in row_axes(loop) if any(state in rows for state in states) and can_be_split(loop, rows)]


def is_plain(loop: ir.Operation) -> bool:
    """Whether a loop is of graph ops of known sizes, and of moves of tensors, and calls nothing."""
    for op in body(loop.regions[0].blocks[0]):
        cls = relax.op_class(op)
        if len(op.regions) or not (op.name in PLAIN or op.name.startswith("arith.") or cls is not None):
            return False
        if cls is not None and (cls.DEFINES_SIZES or not all(value.type.has_static_shape for value in (*op.operands, *op.results))):
            return False
    return len(loop.results) > 0


def sources_between(group: Sequence[ir.Operation], loop: ir.Operation, given: Container[str]) -> list[ir.Operation] | None:
    """What ``loop`` is computed from, of what stands between the first of a group and it, in order. None where it depends on the group, or
    on more than graph ops whose sizes are known in front of the group. ``given``: the symbols that are."""
    between: list[ir.Operation] = []
    needed = {value for value in [*loop.operands, *(v for op in body(loop.regions[0].blocks[0]) for v in op.operands)]}
    inside = [op.operation for op in loop.block.operations]
    for op in reversed(inside[inside.index(group[0]):inside.index(loop)]):
        if not any(result in needed for result in op.results):
            continue
        plain = is_graph_op(op) or op.name.startswith("arith.") or op.name in (*PLAIN, "tensor.dim")
        if op in group or len(op.regions) or not plain or any(name not in given for name in symbols_of(op)):
            return None
        needed |= set(op.operands)
        between.append(op)
    return between[::-1]


def symbols_of(op: ir.Operation) -> Iterator[str]:
    """The symbols in the sizes of an op's operands and results."""
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ir.RankedTensorType):
            yield from (name for size in dims.dims(value.type) if size is not dims.UNKNOWN for name in dims.symbols(size))


def bring_together(group: Sequence[ir.Operation], given: Container[str]) -> None:
    """Makes the loops of a group adjacent: what the others are computed from moves in front of the first."""
    for number, loop in enumerate(group[1:], 1):
        for op in present(sources_between(group[:number], loop, given)):
            op.move_before(group[0])
        loop.move_after(group[number - 1])


def best_parts(group: Sequence[GraphLoop], machine: CpuMachine) -> int:
    """The number of parts of each loop of a group that run side by side; 0 where kernels that threads share are as fast."""
    now = sum(loop.steps * loop.work(loop.count, machine, shared=True) for loop in group)
    best, parts = min((side_by_side(group, parts, machine), parts) for parts in range(1, machine.threads + 1))
    return parts if best + START < now and sum(min(parts, loop.count) for loop in group) > 1 else 0


def side_by_side(group: Sequence[GraphLoop], parts: int, machine: CpuMachine) -> float:
    """The work of the thread that has most of a group of which each loop has so many parts: who is through takes the next one."""
    each = [loop.steps * loop.work(rows, machine, shared=False) for loop in group for _, rows in ranges(loop.count, parts)]
    busy = [0.0] * machine.threads
    for work in sorted(each, reverse=True):
        heappushpop(busy, busy[0] + work)
    return max(busy)


def ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """Parts of so many rows: the first, and the number."""
    parts = min(count, parts)
    ends = [count * number // parts for number in range(parts + 1)]
    return [(begin, end - begin) for begin, end in pairwise(ends)]


def run_side_by_side(group: Sequence[GraphLoop], parts: int, number: int) -> None:
    """Splits the loops of a group into parts, as far as they have rows, and marks them with the group's number. They stay adjacent."""
    front, behind = group[0].op, next_op(group[-1].op)
    for loop in group:
        made = [loop.op]
        if min(parts, loop.count) > 1:
            made = split_rows(loop.op, loop.rows, ranges(loop.count, parts), front, behind)
        front = made[0] if loop is group[0] else front
        for op in made:
            op.attributes[SIDE_BY_SIDE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
