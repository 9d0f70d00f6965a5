"""Neighbouring launches that touch nothing of each other become one: its first blocks are those of the first, the next those of the next.

Each part of a concatenation is a nest of its own, and so are independent statements. One launch of all starts them together.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from legato.analysis.accesses import ElementAccess, accesses_under
from legato.analysis.indices.intervals import Interval, Intervals, are_apart
from legato.core.ir_helpers import body, everything, index, move_before, present, replace_uses
from legato.core.mlir import arith, ir, scf
from legato.core.views import root_of
from legato.dialects.tir.loops import THREADS, constant_of
from legato.passes.gpu.threads.launch import MOST_ON_X, NO_CLUSTERS, Launch, LaunchAxis
from legato.passes.gpu.threads.memory import GLOBAL, scope_of

GRID, LINE = "blockIdx.x", "threadIdx.x"
PLAIN = ("arith.", "math.", "index.", "affine.")                   # ops that touch no memory
INSIDE = ("memref.load", "memref.store", "memref.dim", "scf.if", "scf.yield", "tir.for", "tir.yield", "gpu.terminator")
HOST = ("memref.dim", "memref.alloc", "tir.alloc_buffer")          # ops between launches that do not need their order
MOST_BUFFERS = 32   # of a joined launch: devices bind a limited number, and each part is a level of branches


@dataclass(frozen=True)
class PlainLaunch:
    """A launch along one axis of blocks, of threads that share nothing."""

    launch: Launch

    @property
    def sizes(self) -> list[ir.Value]:
        """The number of indices on each axis of ``THREADS``."""
        return list(self.launch.operation.operands)

    @property
    def blocks(self) -> ir.Value:
        """The number of blocks."""
        return self.sizes[THREADS.index(GRID)]

    @property
    def line(self) -> int:
        """The number of threads along x."""
        return present(constant_of(self.sizes[THREADS.index(LINE)]))

    @cached_property
    def accesses(self) -> list[tuple[ElementAccess, ir.Value, list[Interval]]]:
        """Its loads and stores, with the memory and the range of each index."""
        arguments = self.launch.block.arguments
        intervals = Intervals({arguments[n]: constant_of(size) for n, size in enumerate(self.sizes)})
        found = accesses_under(self.launch.operation)
        return [(one, memory_of(one.buffer), [intervals.of(place) for place in one.indices]) for one in found]

    @property
    def is_plain(self) -> bool:
        """Whether it can be put into another launch: no shared or local buffers, no barriers, nothing but loads, stores and arithmetic."""
        known = {name: constant_of(size) for name, size in zip(THREADS, self.sizes) if name != GRID}
        ops = everything(self.launch.operation)[:-1]
        return (None not in known.values() and all(size == 1 for name, size in known.items() if name.startswith("block"))
                and all(op.name in INSIDE or op.name.startswith(PLAIN) for op in ops)
                and all(scope_of(one.buffer) == GLOBAL and root_of(one.buffer) == one.buffer for one, *_ in self.accesses)
                and not any(list(size.uses) for size in list(self.launch.block.arguments)[len(THREADS):]))

    def may_join(self, other: "PlainLaunch") -> bool:
        """Whether two launches have threads along the same axes, and touch nothing that the other writes."""
        for name, mine, theirs in zip(THREADS, self.sizes, other.sizes):
            if name not in (GRID, LINE) and constant_of(mine) != constant_of(theirs):
                return False
        return all(not (a.writes or b.writes) or memory != others or any(map(are_apart, at, there))
                   for a, memory, at in self.accesses for b, others, there in other.accesses)


def memory_of(buffer: ir.Value) -> ir.Value:
    """The tensor or the buffer in which the elements of a buffer lie."""
    owner = buffer.owner
    return buffer if isinstance(owner, ir.Block) or owner.name != "bufferization.to_buffer" else owner.operands[0]


def join_launches(launches: Sequence[Launch]) -> list[Launch]:
    """The launches of a kernel, of which neighbours are joined where that changes nothing."""
    joined: list[Launch] = []
    group: list[PlainLaunch] = []
    for launch in launches:
        one = PlainLaunch(launch)
        if not one.is_plain:
            joined += [join(group)] if group else []
            joined.append(launch)
            group = []
        elif group and are_neighbours(group[-1].launch, launch) and all(other.may_join(one) for other in group) and has_room([*group, one]):
            group.append(one)
        else:
            joined += [join(group)] if group else []
            group = [one]
    return joined + ([join(group)] if group else [])


def are_neighbours(first: Launch, second: Launch) -> bool:
    """Whether only ops stand between two launches that may run before both."""
    if first.operation.block != second.operation.block:
        return False
    operations = [op.operation for op in first.operation.block.operations]
    between = operations[operations.index(first.operation) + 1:operations.index(second.operation)]
    return all(op.name in HOST or op.name.startswith(PLAIN) for op in between)


def has_room(group: Sequence[PlainLaunch]) -> bool:
    """Whether a grid can have the blocks of all launches, as far as they are known, and a kernel their buffers."""
    buffers = {access.buffer for one in group for access, *_ in one.accesses}
    return sum(constant_of(one.blocks) or 0 for one in group) <= MOST_ON_X and len(buffers) <= MOST_BUFFERS


def join(group: Sequence[PlainLaunch]) -> Launch:
    """One launch of some, in the place of the last of them."""
    last = group[-1].launch
    if len(group) == 1:
        return last
    with ir.InsertionPoint(last.operation), last.operation.location:
        ends = [group[0].blocks]
        for one in group[1:]:
            ends.append(total(ends[-1], one.blocks))
        threads = max(one.line for one in group)
        sizes = [ends[-1] if name == GRID else index(threads) if name == LINE else size for name, size in zip(THREADS, group[-1].sizes)]
        op = ir.Operation.create("gpu.launch", [], sizes, {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(NO_CLUSTERS)}, regions=1)
        block = op.regions[0].blocks.append(*[ir.IndexType.get()] * (2 * len(THREADS)))
        with ir.InsertionPoint(block):
            place: ir.Operation = ir.Operation.create("gpu.terminator")
    number, thread = (block.arguments[THREADS.index(name)] for name in (GRID, LINE))
    for at, one in enumerate(group):
        following: ir.Operation | None = None
        with ir.InsertionPoint(place), one.launch.operation.location:
            if at < len(group) - 1:
                chosen = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.slt, number, ends[at]).result, has_else=True)
                with ir.InsertionPoint(chosen.else_block):
                    following = scf.YieldOp([]).operation
                with ir.InsertionPoint(chosen.then_block):
                    place = scf.YieldOp([]).operation
        with ir.InsertionPoint(place), one.launch.operation.location:
            own = arith.SubIOp(number, ends[at - 1]).result if at else number
            if one.line < threads:      # those beyond have nothing to do
                inside = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.slt, thread, index(one.line)).result)
                with ir.InsertionPoint(inside.then_block):
                    place = scf.YieldOp([]).operation
        replace_uses(one.launch.block, [own if name == GRID else value for name, value in zip(THREADS, block.arguments)]
                     + list(block.arguments)[len(THREADS):])
        move_before(body(one.launch.block), place)
        one.launch.operation.erase()
        place = following if following is not None else place
    extents = [constant_of(size) for size in sizes]
    axes = {name: LaunchAxis(name, block.arguments[n], extents[n] or 0) for n, name in enumerate(THREADS) if extents[n] != 1}
    return Launch(op, axes, last.warp)


def total(a: ir.Value, b: ir.Value) -> ir.Value:
    """The sum of two sizes, at the insertion point."""
    first, second = constant_of(a), constant_of(b)
    return arith.AddIOp(a, b).result if first is None or second is None else index(first + second)
