"""The schedule of reductions of few, long rows or columns, such as a mean of all elements, or along the first axis: blocks of threads
share a row, or columns that are next to each other in memory, and a second launch combines their parts, since one block for each row, or
for each group of columns, leaves most of a device idle."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.targets.gpu.columns import ColumnReduction, emit_columns, lanes_beside
from legato.targets.gpu.elementwise import emit_elementwise
from legato.targets.gpu.groups import LaunchGroup, fast_axis, groups_of, inlined
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.nests import divisor, emit_launch, power, threads_of
from legato.targets.gpu.steps import Steps

MOST_ROWS = 64      # that blocks share
FEW_ROWS = 16       # the same, of unknown length, which may be short
LONG = 1 << 15      # elements of a row from which on they do
LONG_SERIES = 1 << 18   # the same, where several reductions, one after the other, have launches of their own
LONG_EACH = 1 << 13     # the same, for each row there is
PARTS = 128         # blocks that share rows, at most
MANY_PARTS = 512    # of large devices, which these keep busy with loads
LEAST_PARTS = 8
CHUNK = 4096        # elements that lie together of a part of a row whose length no number of parts divides
THREADS = 256       # of a block
COLUMNS = 32        # neighbours in memory, which neighbouring threads take
COLUMN_BLOCKS = 1024    # that keep a device busy with columns
COLUMN_THREADS = 1 << 18    # the same, where each has columns of its own
LEAST_THREADS = 1 << 15
LEAST_COLUMN = 64   # elements of a part of a column
LEAST_EACH = 32     # the same, where a thread reduces them alone
MUCH = 1 << 21      # elements of all columns, from which on a second launch costs less than it saves
MUCH_EACH = 1 << 16     # the same, of the columns of one block, which one multiprocessor reads: 40 GB/s or so (estimated)
WARP = 32


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel of which a launch has such reductions, one or several of the same rows; None for any other kernel."""
    if not any(block.reduced for block in kernel.blocks):
        return None
    gone = inlined(kernel)
    groups = groups_of(kernel, gone)
    parts = [parts_of(group, machine) for group in groups]
    if not any(parts):
        return None
    steps = Steps("long_rows")
    for block in gone:
        steps.inline(steps.block(block.name))
    for group, shared in zip(groups, parts):
        if shared:
            emit_shared(steps, group, shared, machine)
        else:
            emit_launch(steps, group, threads_of(group, machine), machine)
    return steps.text()


@dataclass(frozen=True)
class SharedReduction:
    """How blocks of threads share the rows of a reduction: each has one of ``parts`` of the axis ``axis``. ``length``: the elements of this
    axis that lie together in a part; None where a part has every so many chunks; ``lanes``: neighbouring columns that each thread reduces
    by itself; 0 where threads share rows, or columns."""

    block: KernelBlock
    axis: int
    parts: int
    length: int | None
    lanes: int = 0


def parts_of(group: LaunchGroup, machine: Gpu) -> list[SharedReduction]:
    """How blocks share the rows of a launch's reductions; empty where one for each row, or group of columns, keeps a device busy."""
    found = [shared_reduction(block, len(group.reductions) > 1, machine) for block in group.reductions]
    return [one for one in found if one is not None] if all(found) else []


def shared_reduction(block: KernelBlock, series: bool, machine: Gpu) -> SharedReduction | None:
    """How blocks share the rows of a reduction; None where they do not. ``series``: whether it is one of several."""
    rows, length = block.points(block.spatial), block.points(block.reduced)
    if rows is None or not block.combines:
        return None
    most = MANY_PARTS if machine.async_copies else PARTS
    if fast_axis(block) not in block.reduced and rows > FEW_ROWS:
        return None if length is None or not is_much(block, rows, length) else shared_columns(block, rows, length, most, machine)
    if length is None and (series or len(block.reduced) > 1 or rows > FEW_ROWS):
        return None
    if rows > MOST_ROWS or (length is not None and length < max(LONG_SERIES if series else LONG, LONG_EACH * rows)):
        return None
    axis, even = most_parts(block, max(most // rows, LEAST_PARTS))
    if even >= LEAST_PARTS:
        return SharedReduction(block, axis, even, (block.extents[axis] or 1) // even)
    return SharedReduction(block, axis, max(most // rows, LEAST_PARTS), None) if len(block.reduced) == 1 else None


def is_much(block: KernelBlock, columns: int, length: int) -> bool:
    """Whether columns of so many elements take longer in one launch than in two."""
    return columns * length >= min(MUCH, MUCH_EACH * column_groups(block, columns))


def column_groups(block: KernelBlock, columns: int) -> int:
    """The blocks of threads of so many columns: each has some that are next to each other in memory."""
    beside = block.extents[block.spatial[-1]] or 1
    return -(-beside // COLUMNS) * (columns // beside)


def most_parts(block: KernelBlock, most: int) -> tuple[int, int]:
    """The axis of a reduction that has the most parts of one length, ``most`` at most, and how many."""
    return max(((axis, divisor(block.extents[axis] or 1, most)) for axis in block.reduced), key=lambda found: found[1])


def shared_columns(block: KernelBlock, columns: int, length: int, most: int, machine: Gpu) -> SharedReduction | None:
    """How blocks share columns that are next to each other in memory: each thread has some of its own, if there are enough, or threads of a
    block share them."""
    last = block.spatial[-1]
    if fast_axis(block) != last:
        return None
    lanes = lanes_beside([block], machine)
    alone = min(most, length // LEAST_EACH, COLUMN_THREADS * lanes // columns)
    together = min(PARTS, length // LEAST_COLUMN, COLUMN_BLOCKS // column_groups(block, columns))
    for parts, taken in ((alone, lanes), (together, 0)):
        axis, even = most_parts(block, parts)
        if even >= LEAST_PARTS and taken != 1 and even * columns >= LEAST_THREADS * taken:
            return SharedReduction(block, axis, even, (block.extents[axis] or 1) // even, taken)
    return None


def emit_shared(steps: Steps, group: LaunchGroup, shared: Sequence[SharedReduction], machine: Gpu) -> None:
    """Appends the steps of the launches of a group: two for each reduction, and one for each other block. The last reduction's result is
    combined where it is read, if by one block, for each row once."""
    todo = {one.block: one for one in shared}
    root = group.root
    last = shared[-1].block
    joined = last is not root and group.blocks[-2] is last and not group.inner and len(root.spatial) == len(last.spatial)
    for block in group.blocks:
        one = todo.get(block)
        if one is not None:
            outer = split_reduction(steps, one)
            pieces, total = steps.rfactor(outer, 0)
            emit_parts(steps, pieces, one, machine)
            reader = steps.block(root.name) if joined and block is last else None
            emit_total(steps, total, reader, one, root, machine)
        elif block is not root or not joined:
            emit_elementwise(steps, block, machine)


def split_reduction(steps: Steps, shared: SharedReduction) -> str:
    """Splits the loop whose parts blocks have. Returns the loop over parts."""
    loop = steps.loops(steps.block(shared.block.name), shared.block.rank)[shared.axis]
    return steps.split(loop, [shared.parts, -1])[0] if shared.length else steps.split(loop, [-1, shared.parts, CHUNK])[1]


def emit_parts(steps: Steps, pieces: str, shared: SharedReduction, machine: Gpu) -> None:
    """Appends the steps of the launch that reduces the parts of rows."""
    block, axis = shared.block, shared.axis
    count = 2 if shared.length else 3    # loops in the place of the axis that is shared
    loops = steps.loops(pieces, block.rank + count - 1)
    of_axis = [loops[n:n + 1] if n < axis else loops[axis:axis + count] if n == axis else loops[n + count - 1:n + count]
               for n in range(block.rank)]
    outer = of_axis[axis].pop(0 if shared.length else 1)
    rows = [loop for n in block.spatial for loop in of_axis[n]]
    fast = fast_axis(block)
    own = [loop for n in sorted(block.reduced, key=lambda n: n == fast) for loop in of_axis[n]]
    if fast in block.reduced or not rows:
        steps.reorder([outer, *rows, *own])
        steps.bind(steps.fuse([outer, *rows]), "blockIdx.x")
        if shared.length is None:
            spread_row(steps, own[-1], CHUNK, CHUNK, block, machine)
        else:
            extents = [shared.length if n == axis else block.extents[n] or 1 for n in block.reduced]
            neighbours = extents[-1] if fast is None else extents[block.reduced.index(fast)]
            spread_row(steps, steps.fuse(own), prod(extents), neighbours, block, machine)
        return
    if shared.lanes:
        result = steps.cache_write(pieces, 0, "local")
        kept = [n for n in range(block.rank) if n != axis]      # the axes of pieces: these, the rest of the one that is shared, the parts
        spatial = [block.rank, *(kept.index(n) for n in block.spatial)]
        reduced = [n for n in range(block.rank) if n not in spatial]     # the last one is the rest of the shared axis
        reduction = ColumnReduction(pieces, spatial, reduced, shared.length)
        emit_columns(steps, steps.loops(result, 1 + len(rows)), [], [reduction], shared.lanes)
        return
    steps.reorder([outer, *rows, *own])
    columns = beside(block)
    bind_columns(steps, [outer, *rows], columns)
    _, thread = steps.split(own[-1], [-1, THREADS // columns])
    steps.bind(thread, "threadIdx.y")


def beside(block: KernelBlock) -> int:
    """The threads for neighbouring columns of a reduction."""
    return min(COLUMNS, power(block.extents[block.spatial[-1]] or 1)) if block.spatial else 1


def bind_columns(steps: Steps, loops: Sequence[str], columns: int) -> str:
    """Binds loops to blocks, the last one also to threads for so many neighbours. Returns the innermost loop."""
    *outer, last = loops
    group, column = steps.split(last, [-1, columns])
    steps.bind(steps.fuse([*outer, group]), "blockIdx.x")
    steps.bind(column, "threadIdx.x")
    return column


def spread_row(steps: Steps, loop: str, extent: int, neighbours: int, block: KernelBlock, machine: Gpu) -> None:
    """Binds the loop over a part of a row to the threads of a block, with accesses of 16 bytes where these divide it.
    ``neighbours``: elements of it that are next to each other in memory."""
    width = max(access.buffer.type.element_type.width for access in block.loads)
    lanes = gcd(machine.lanes(width), neighbours) if machine.merges else 1
    # threads that all have as many neighbours
    even = [n for n in range(WARP, THREADS + 1, WARP) if extent % (n * lanes) == 0]
    if lanes > 1 and even:
        _, thread, lane = steps.split(loop, [-1, even[-1], lanes])
        steps.unroll(lane)
    else:
        _, thread = steps.split(loop, [-1, THREADS])
    steps.bind(thread, "threadIdx.x")


def emit_total(steps: Steps, total: str, reader: str | None, shared: SharedReduction, root: KernelBlock, machine: Gpu) -> None:
    """Appends the steps of the launch that combines the parts. ``reader``: the block that does so where it reads the result."""
    rank, columns = len(shared.block.spatial), beside(shared.block) if shared.lanes else 1
    *rows, part = steps.loops(total, rank + 1)
    if reader is not None:
        rows = steps.loops(reader, root.rank)
        steps.scope(total, 0, "local")
    rows = rows or [steps.unit_loop(part if reader is None else reader)]
    if columns > 1:
        row, threads, across = bind_columns(steps, rows, columns), min(power(shared.parts), machine.most_threads // columns), "threadIdx.y"
    else:
        row, threads, across = steps.fuse(rows), power(shared.parts), "threadIdx.x"
        steps.bind(row, "blockIdx.x")
    if reader is not None:
        steps.compute_at(total, row)
        part = steps.loops(total, (2 if columns > 1 else 1) + rank + 1)[-1]
    _, thread = steps.split(part, [-1, threads])
    steps.bind(thread, across)
