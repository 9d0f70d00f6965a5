"""A launch: its axes and sizes, and replacement of loops bound to threads by the threads' indices."""
from dataclasses import dataclass
from math import prod
from typing import Any

from legato.analysis.indices.forms import roots
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, in_program_order, index, move_before, present, replace_uses
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import PARALLEL, THREAD, THREADS, VECTORIZED, ForOp, constant_of
from legato.dialects.tir.walk import loops

# operand counts: no dependencies; blocks and threads in x, y, z; no clusters, no dynamic shared memory
NO_CLUSTERS = [0] + [1] * 6 + [0] * 5
PURE = ("arith.", "memref.dim", "tensor.dim", "index.", "affine.")
MOST_ON_X = 2**31 - 1   # blocks, for which tir-fold-grids provides
MOST_BLOCKS = 65535     # on the axes y and z, of any device
MOST_THREADS = {"threadIdx.x": 1024, "threadIdx.y": 1024, "threadIdx.z": 64}


@dataclass(frozen=True)
class LaunchAxis:
    """``name``: as ``blockIdx.x``; ``id``: the index on it, inside of the launch; ``extent``: the number of indices, 0 if not
    constant."""

    name: str
    id: ir.Value
    extent: int

    @property
    def is_thread(self) -> bool:
        """Whether it is an axis of threads in a block, not of blocks."""
        return self.name.startswith("thread")


@dataclass(frozen=True)
class Launch:
    """A ``gpu.launch``. ``axes``: those with more than one index; ``warp``: threads that run in lockstep and can exchange values by
    shuffles; 1 where they cannot."""

    operation: ir.Operation
    axes: dict[str, LaunchAxis]
    warp: int = 32

    @property
    def block(self) -> ir.Block:
        """The body of the launch."""
        return self.operation.regions[0].blocks[0]

    @property
    def threads(self) -> list[LaunchAxis]:
        """The axes of a block's threads, the fastest first."""
        return [a for a in self.axes.values() if a.is_thread]

    @property
    def blocks(self) -> list[LaunchAxis]:
        """The axes of the grid's blocks."""
        return [a for a in self.axes.values() if not a.is_thread]

    @property
    def thread_count(self) -> int:
        """The number of threads in a block."""
        return prod(a.extent for a in self.threads)


def thread_loops(root: ir.Operation) -> list[ForOp]:
    """The loops bound to threads in an op, itself included, outer ones first."""
    return [loop for loop in loops(root) if loop.kind == THREAD]


def check_nest(root: ir.Operation) -> None:
    """PassFailed for loops bound to threads inside of parallel, vectorized or while loops, or bound twice to one axis in conflict."""
    for loop in thread_loops(root):
        for outer in (a.opview for a in ancestors(loop.operation) if a.name == "tir.for"):
            if outer.kind in (PARALLEL, VECTORIZED):
                raise PassFailed(f"the loop {loop.name} is bound to {loop.thread}, inside of the {outer.kind} loop {outer.name}: the steps "
                                 f"of that one are no threads; bind {outer.name} to threads too, or make it serial", loop.operation)
            if outer.thread == loop.thread:
                check_twice(outer, loop)
        for around in ancestors(loop.operation):
            if around.name == "scf.while" and root in ancestors(around):
                raise PassFailed(f"the loop {loop.name} is bound to {loop.thread}, inside of a while loop: how often threads meet there is "
                                 "not known", loop.operation)


def check_twice(outer: ForOp, inner: ForOp) -> None:
    """PassFailed where a nested loop bound to the same axis does not fit in the outer one, or is used together with it."""
    if not present(inner.thread).startswith("thread"):
        raise PassFailed(f"the loops {outer.name} and {inner.name}, one inside of the other, are both bound to {inner.thread}: a block has "
                         "one index on it; bind one of them to another axis", inner.operation)
    if outer.extent is not None and inner.extent is not None and inner.extent > outer.extent:
        raise PassFailed(f"the loop {inner.name} needs {inner.extent} threads on {inner.thread}, and stands in the loop {outer.name}, "
                         f"which has {outer.extent} of them", inner.operation)
    for op in in_program_order(inner.operation):
        if any(outer.variable in roots(v) for v in op.operands):
            raise PassFailed(f"the loops {outer.name} and {inner.name}, one inside of the other, are both bound to {inner.thread}, and "
                             f"{op.name} inside of both takes the value of {outer.name}: a thread has one index on it", op)


def make_launch(root: ir.Operation, warp: int, most_blocks: int) -> Launch:
    """Puts a nest into a ``gpu.launch`` of the size that its loops need. The loops stay. ``most_blocks``: on the axes y and z."""
    check_nest(root)
    found = thread_loops(root)
    with ir.InsertionPoint(root), root.location:
        sizes = [size(root, [loop for loop in found if loop.thread == name]) for name in THREADS]
        extents = [constant_of(s) for s in sizes]
        check_sizes(root, dict(zip(THREADS, extents)), most_blocks)
        op = ir.Operation.create("gpu.launch", [], sizes, {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(NO_CLUSTERS)}, regions=1)
        block = op.regions[0].blocks.append(*[ir.IndexType.get()] * (2 * len(THREADS)))
        with ir.InsertionPoint(block):
            end = ir.Operation.create("gpu.terminator")
    root.move_before(end)
    axes = {name: LaunchAxis(name, block.arguments[n], extents[n] or 0) for n, name in enumerate(THREADS) if extents[n] != 1}
    return Launch(op, axes, warp)


def check_sizes(root: ir.Operation, extents: dict[str, int | None], most_blocks: int) -> None:
    """PassFailed for sizes beyond the limits of the axes, or more than 1024 threads in a block."""
    threads = {name: extent for name, extent in extents.items() if name.startswith("thread")}
    for name, extent in extents.items():
        most = MOST_THREADS.get(name) or (MOST_ON_X if name == "blockIdx.x" else most_blocks)
        if extent is not None and not 0 < extent <= most:
            raise PassFailed(f"{extent} is no number of {'threads' if name in threads else 'blocks'} on {name}: there can be 1 to {most}",
                             root)
    total = prod(e for e in threads.values() if e is not None)
    if total > 1024:
        each = " * ".join(str(e) for e in threads.values() if e != 1)
        raise PassFailed(f"a block has at most 1024 threads; the loops bound to threadIdx ask for {each} = {total}", root)


def size(root: ir.Operation, found: list[ForOp]) -> ir.Value:
    """The number of indices on an axis, at the insertion point in front of the nest: the greatest extent of its loops."""
    largest: ir.Value | None = None
    for loop in found:
        if loop.extent is None and present(loop.thread).startswith("thread"):
            raise PassFailed(f"the extent of the loop {loop.name}, bound to {loop.thread}, is not known: the number of threads in a block "
                             "is a constant; split the loop, and bind the outer one to blockIdx", loop.operation)
        extent = index(loop.extent) if loop.extent is not None else at_host(loop, root)
        if largest is None or same(largest, extent):
            largest = extent
        elif constant_of(largest) is not None and constant_of(extent) is not None:
            largest = index(max(constant_of(largest), constant_of(extent)))
        else:
            largest = arith.MaxSIOp(largest, extent).result
    return index(1) if largest is None else largest


def at_host(loop: ForOp, root: ir.Operation) -> ir.Value:
    """The extent of a loop, computed in front of the nest."""
    lower, upper = (outside(v, root, loop) for v in loop.bounds)
    return upper if constant_of(lower) == 0 else arith.SubIOp(upper, lower).result


def outside(value: ir.Value, root: ir.Operation, loop: ForOp) -> ir.Value:
    """A value of the nest, recomputed at the insertion point in front of it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        if root == owner.owner.operation or root in ancestors(owner.owner.operation):
            raise PassFailed(f"the extent of the loop {loop.name}, bound to {loop.thread}, changes from step to step of a loop around it: "
                             "the size of a launch is known before it begins", loop.operation)
        return value
    op = owner.operation
    if root not in ancestors(op) and op != root:
        return value
    if not op.name.startswith(PURE):
        raise PassFailed(f"the extent of the loop {loop.name}, bound to {loop.thread}, comes from {op.name}: the size of a launch is "
                         "known before it begins", loop.operation)
    operands = [outside(v, root, loop) for v in op.operands]
    new = op.clone()
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new.results[list(op.results).index(value)]


def same(a: ir.Value, b: ir.Value) -> bool:
    """Whether two values are the same computation of the same values."""
    if a == b:
        return True
    if isinstance(a.owner, ir.Block) or isinstance(b.owner, ir.Block):
        return False
    x, y = a.owner.operation, b.owner.operation
    return (x.name == y.name and x.name.startswith(PURE) and attributes(x) == attributes(y) and len(x.operands) == len(y.operands)
            and all(same(v, w) for v, w in zip(x.operands, y.operands)))


def attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """An op's attributes by name."""
    return {name: op.attributes[name] for name in op.attributes}


def take_indices(launch: Launch, root: ir.Operation) -> None:
    """Replaces the loops of a launch by the threads' indices; threads beyond a loop's extent skip its body."""
    for loop in reversed(thread_loops(root)):
        axis = launch.axes.get(loop.thread)
        lower, upper = loop.bounds
        with ir.InsertionPoint(loop), loop.operation.location:
            step = axis.id if axis is not None else index(0)
            value = step if constant_of(lower) == 0 else arith.AddIOp(step, lower).result
            place: Any = loop.operation
            if axis is not None and not covers(loop, axis, launch):
                extent = index(loop.extent) if loop.extent is not None else arith.SubIOp(upper, lower).result
                inside = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.slt, step, extent).result)
                with ir.InsertionPoint(inside.then_block):
                    place = scf.YieldOp([]).operation
        replace_uses(loop.block, [value])
        move_before(body(loop.block), place)
        loop.operation.erase()


def covers(loop: ForOp, axis: LaunchAxis, launch: Launch) -> bool:
    """Whether the loop's extent is the number of indices on its axis."""
    if axis.extent:
        return loop.extent == axis.extent
    sizes = list(launch.operation.operands)
    size = sizes[THREADS.index(axis.name)]
    lower, upper = loop.bounds
    return constant_of(lower) == 0 and same(size, upper)
