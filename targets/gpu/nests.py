"""Schedules of kernels whose cost is memory: elementwise ops, copies, softmax, norms, reductions; and any other kernel of plain nests.

Cheap blocks are inlined into their readers. What is left is put into launches: a reduction with the ops on its result, and several
reductions of the same rows, share one (``groups``). In a launch of reductions the loops that all blocks have are bound to blocks, and
to threads where several rows fit into a block; the others, with the reductions', are bound to threads, which combine their parts by
shuffles or in shared memory. Results of reductions stay in registers, and what lies between two reductions is computed again.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.targets.gpu.columns import POINTS, ColumnReduction, emit_columns, lanes_of_columns
from legato.targets.gpu.elementwise import emit_elementwise, offset_along
from legato.targets.gpu.groups import LaunchGroup, alone, buffers_bits, fast_axis, groups_of, inlined, points_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.steps import Steps

UNKNOWN_ROW = 1024     # the length of a row, and the number of rows, that a schedule is made for where they are not known
UNKNOWN_ROWS = 4096
FULL = 1 << 15         # threads from which on a grid keeps a device busy
BUSY = 1 << 17         # the same, of large devices
FEW_ROWS = 1024        # results that read the same elements, from which on each is computed by a thread
LONG_WINDOW = 128      # elements of a window, neighbours among them, from which on a warp computes it, as of a convolution with one filter
WINDOW_THREADS = 128   # of a block of such warps
LOADS_EACH = 4         # elements of a row for each thread, from which on a row gets more threads
MOST_ROW_THREADS = 512
WARP = 32
SECTOR = 32            # bytes of a row that are read from memory together


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script; None for a kernel without blocks, or with outputs that nothing writes."""
    if not kernel.blocks:
        return None
    gone = inlined(kernel)
    groups = groups_of(kernel, gone)
    shapes = [threads_of(group, machine) for group in groups]
    name = "elementwise" if not any(group.reductions for group in groups) else (
        "rows" if any(shape.across > 1 for shape in shapes) else "points")
    return write(name, gone, groups, shapes, machine)


def separate(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script that makes each block a launch of its own, for kernels whose blocks cannot share one; None for a kernel of one block."""
    if len(kernel.blocks) < 2:
        return None
    groups = [alone(block) for block in kernel.blocks]
    return write("separate", [], groups, [threads_of(group, machine) for group in groups], machine)


def write(name: str, gone: list[KernelBlock], groups: list[LaunchGroup], shapes: list[RowThreads], machine: Gpu) -> str:
    """The script of launches. ``gone``: blocks that are inlined; ``shapes``: the threads of each launch with reductions."""
    steps = Steps(name)
    for block in gone:
        steps.inline(steps.block(block.name))
    for group, shape in zip(groups, shapes):
        emit_launch(steps, group, shape, machine)
    return steps.text()


def emit_launch(steps: Steps, group: LaunchGroup, shape: RowThreads, machine: Gpu) -> None:
    """Appends the steps of a group's launch. ``shape``: the threads, where it has reductions."""
    if group.reductions:
        emit_reductions(steps, group, shape)
    else:
        emit_elementwise(steps, group.root, machine)


@dataclass(frozen=True)
class RowCopy:
    """A buffer whose part of a row is copied to registers, before it is used. ``name``: the buffer's; ``readers``: the blocks that read it,
    in order; ``rank``: its dimensions, of which ``inner`` are along the row; ``layout``: of the copy, in which these are one, as an affine
    map; None where one of them is all."""

    name: str
    readers: tuple[KernelBlock, ...]
    rank: int
    inner: tuple[int, ...]
    layout: str | None = None


@dataclass(frozen=True)
class RowThreads:
    """The threads of a block: ``rows`` along the shared axes, ``across`` along what is reduced; ``along``: whether neighbouring threads
    reduce neighbours in memory, and not neighbouring rows; ``lanes``: neighbours that each of them takes at once, of a row, or of columns
    where ``across`` is 1; ``copies``: what a thread keeps of its row in registers, where a thread's elements are few enough for code
    without loops; ``vectors``: whether neighbours of an elementwise block are computed as vectors, which lets it read more than these
    copies, but compute nothing together with others."""

    rows: int
    across: int
    along: bool
    lanes: int = 1
    copies: tuple[RowCopy, ...] = ()
    vectors: bool = True


def threads_of(group: LaunchGroup, machine: Gpu) -> RowThreads:
    """The threads for the reductions of a group."""
    rows = points_of([group.root.extents[axis] for axis in group.shared])
    rows = UNKNOWN_ROWS if rows is None else max(rows, 1)
    last = (group.root.extents[group.shared[-1]] or UNKNOWN_ROWS) if group.shared else 1
    one_each = RowThreads(min(machine.block, power(last)), 1, False)
    reductions = group.reductions
    if not reductions or not all(block.combines for block in reductions):
        return one_each
    busy = BUSY if machine.async_copies else FULL
    if can_cache(group.root):
        one_each = replace(one_each, lanes=lanes_of_columns(group, busy, machine))
    lengths = [points_of([block.extents[axis] for axis in block.reduced]) for block in reductions]
    length = max(UNKNOWN_ROW if one is None else one for one in lengths)
    fast = [(block, axis) for block in reductions if (axis := fast_axis(block)) is not None]
    along = any(axis in block.reduced for block, axis in fast)
    whole = all(len({a for load in block.loads for a in block.moving_axes_of(load)} - {None}) and reads_all(block) for block in reductions)
    again = rows >= FEW_ROWS and not whole      # as of windows: a warp at most, where these are long
    if length < 2 or (rows >= busy and not along) or (again and not (along and length >= LONG_WINDOW)):
        return one_each
    if along and again:
        return RowThreads(max(1, min(WINDOW_THREADS // WARP, power(last))), WARP, True, neighbours(group, WARP, machine))
    if along:
        across = max(min(power(-(-length // LOADS_EACH)), MOST_ROW_THREADS), min(power(length), WARP))
        lanes = neighbours(group, across, machine)
        even = [n for n in range(WARP, MOST_ROW_THREADS + 1, WARP) if lanes > 1 and 2 * n >= across and length % (n * lanes) == 0]
        across = even[-1] if even else across     # no thread has less to do than others
        return RowThreads(max(1, min(machine.block // across, power(last))), across, True, lanes)
    return beside_each_other(reductions, rows, min(WARP, power(last)), length, busy, machine)


def beside_each_other(reductions: list[KernelBlock], rows: int, beside: int, length: int, busy: int, machine: Gpu) -> RowThreads:
    """The threads for ``rows`` columns of ``length`` elements, of which at most ``beside`` threads take neighbours: as many as read whole
    sectors, where blocks are few. No thread has more to do than others where a number of them divides the length."""
    width = min((load.buffer.type.element_type.width for block in reductions for load in block.loads), default=32)
    least, most = 8 * SECTOR // max(width, 8), max(machine.block // 4, MOST_ROW_THREADS // beside)
    while beside > least and -(-rows // beside) < ENOUGH:
        beside, most = beside // 2, most * 2
    across = max(1, min(power(-(-length // LOADS_EACH)), busy // rows, most, machine.most_threads // beside))
    even = divisor(length, across)
    return RowThreads(beside, even if 2 * even > across else across, False)


def neighbours(group: LaunchGroup, across: int, machine: Gpu) -> int:
    """The elements of a row that a thread takes at once: those of an access of 16 bytes, where all blocks move along their last axis in
    such accesses, and there are as many for half of the threads; else 1."""
    if not machine.merges:
        return 1
    moving = [(block, inner) for block in group.blocks if (inner := group.along(block))]    # others have one element of a row
    lanes = machine.lanes(max((buffers_bits(block) for block, _ in moving), default=32))
    for block, inner in moving:
        points = block.points(inner)
        if points is None or 2 * points < across * lanes or (block.extents[inner[-1]] or 1) % lanes:
            return 1
        offsets = [offset_along(block, access, inner[-1]) for access in block.accesses]
        if any(offset is None or offset % lanes for offset in offsets):
            return 1
    return lanes


def has_vectors(block: KernelBlock) -> bool:
    """Whether a block computes elements that do not depend on each other, by ops that have a form on vectors."""
    plain = all(op.name.startswith(("arith.", "memref.", "math.")) for op in block.ops)
    indices = [op.results[0] for op in block.ops if len(op.results) and isinstance(op.results[0].type, ir.IndexType)]
    return plain and not block.reduced and not any(block.depends(index, [block.rank - 1]) for index in indices)


def reads_all(block: KernelBlock) -> bool:
    """Whether a load moves along all axes of a block, to as many elements as there are steps: no element is read again."""
    moving = [axis for axis in range(block.rank) if block.extents[axis] != 1]
    points = block.points(moving)

    def moves_along_all(load: ElementAccess) -> bool:
        sizes = load.buffer.type.shape if load.buffer.type.has_static_shape else None
        if sizes is None or points is None or points > prod(sizes):
            return {axis for axis in block.moving_axes_of(load) if axis is not None} >= set(moving)
        return all(any(block.depends(index, [axis]) for index in load.indices) for axis in moving)

    return any(map(moves_along_all, block.loads))


def divisor(number: int, most: int) -> int:
    """The greatest divisor of a number that is at most ``most``."""
    return max(n for n in range(1, max(most, 1) + 1) if number % n == 0)


def power(number: int) -> int:
    """The least power of two that is not less than a number."""
    return 1 << max(number - 1, 0).bit_length()


def emit_reductions(steps: Steps, group: LaunchGroup, shape: RowThreads) -> None:
    """Appends the steps of one launch of reductions."""
    root = steps.block(group.root.name)
    if takes_points(group, shape):
        emit_points(steps, root, group, shape.lanes)
        return
    copies = []
    for copy in shape.copies:
        first, *others = [steps.block(block.name) for block in copy.readers]
        copies.append((copy, steps.cache_read(first, copy.name, "local", others)))
    loops = steps.loops(root, group.root.rank)
    outer, inner = [loops[axis] for axis in group.shared], [loops[axis] for axis in group.inner]
    across, row_axis = ("threadIdx.x", "threadIdx.y") if shape.along else ("threadIdx.y", "threadIdx.x")
    steps.reorder([*outer, *inner])
    if not outer:
        outer = [steps.unit_loop(inner[0] if inner else root)]
    if fills_poorly(group, shape):
        grid, row = steps.split(steps.fuse(outer), [-1, POINTS])
        steps.bind(grid, "blockIdx.x")
        steps.bind(row, row_axis)
    elif shape.rows > 1:   # along one axis: threads then differ in one index, and what is left for each of a register is plain
        grid, row = steps.split(outer[-1], [-1, shape.rows])
        steps.bind(steps.fuse([*outer[:-1], grid]), "blockIdx.x")
        steps.bind(row, row_axis)
    else:
        row = steps.fuse(outer)
        steps.bind(row, "blockIdx.x")
    depth = 2 if shape.rows > 1 or fills_poorly(group, shape) else 1
    along = [(root, group.root, inner)]     # the blocks' loops along the row
    for block, place in reversed(group.members.items()):
        handle = steps.block(block.name)
        steps.scope(handle, 0, "local")
        steps.compute_at(handle, row)
        own = steps.loops(handle, depth + block.rank)[depth:]
        kept = [axis for axis in range(block.rank) if axis in place]
        rest = [axis for axis in range(block.rank) if axis not in place]
        if rest and kept:
            steps.reorder([*(own[axis] for axis in kept), *(own[axis] for axis in rest)])
        along.append((handle, block, [own[axis] for axis in rest]))
    for copy, handle in copies:
        steps.compute_at(handle, row)
        own = steps.loops(handle, depth + copy.rank)[depth:]
        if copy.inner:
            spread(steps, [own[dim] for dim in copy.inner], shape, across, vectors=True)
    for handle, block, loops in along:
        if block is group.root and not inner and shape.across > 1:
            steps.bind(steps.unit_loop(handle), across)
        else:
            finish(steps, handle, block, loops, shape, across)
    for copy, handle in copies:
        if copy.layout is not None:
            steps.step("transform_layout", [handle], f"at = 0 : i64, map = affine_map<{copy.layout}>")


def takes_points(group: LaunchGroup, shape: RowThreads) -> bool:
    """Whether threads keep what they reduce in registers until it is written: neighbours, or one reduction each, so that threads beyond the
    last result have no condition in each step."""
    if shape.lanes > 1:
        return not shape.along
    return fills_poorly(group, shape) and bool(group.root.reduced) and not group.members and can_cache(group.root)


def can_cache(block: KernelBlock) -> bool:
    """Whether the results of a block may be computed in registers, and copied from there."""
    sized = block.stores[0].buffer.type.has_static_shape    # else it may write a part only, and a copy would begin as what was there
    return sized and len({store.buffer for store in block.stores}) == 1     # a block of several results is not computed at a copy of one


def emit_points(steps: Steps, root: str, group: LaunchGroup, lanes: int) -> None:
    """Appends the steps of a launch whose threads reduce ``lanes`` neighbours each, with the ops on their results."""
    handles = [steps.block(block.name) for block in group.members]
    for handle in handles:
        steps.scope(handle, 0, "local")
    reductions = [ColumnReduction(handle, block.spatial, block.reduced, block.extents[block.reduced[-1]])
                  for handle, block in zip(handles, group.members)]
    if not group.root.reduced:
        loops = steps.loops(root, group.root.rank)
        emit_columns(steps, [loops[axis] for axis in group.shared], [loops[axis] for axis in group.inner], reductions, lanes)
        return
    result = steps.cache_write(root, 0, "local")
    reductions.append(ColumnReduction(root, group.root.spatial, group.root.reduced, group.root.extents[group.root.reduced[-1]]))
    emit_columns(steps, steps.loops(result, len(group.root.stores[0].indices)), [], reductions, lanes)


def fills_poorly(group: LaunchGroup, shape: RowThreads) -> bool:
    """Whether threads for the points of the last axis alone would leave lanes of a warp idle, or blocks of few warps, and what a thread
    computes stands in its own loops: then a block takes points of several rows."""
    extents = [group.root.extents[axis] for axis in group.shared]
    last = extents[-1] if extents else None
    return shape.across == 1 and last is not None and last % POINTS != 0 and len(extents) > 1 and points_of(extents) != 1


def finish(steps: Steps, handle: str, block: KernelBlock, inner: list[str], shape: RowThreads, thread: str) -> None:
    """Binds the inner loops of a block to the threads across a row; a reduction of one thread gets its init in front."""
    if not inner:
        return
    if shape.across > 1:   # a reduction's lanes are loaded together, and combined one by one
        spread(steps, inner, shape, thread, vectors=shape.vectors and has_vectors(block))
    elif block.reduced:
        steps.decompose(handle, inner[0])


def spread(steps: Steps, inner: list[str], shape: RowThreads, thread: str, vectors: bool) -> None:
    """Binds the loops along a row to the threads across it. ``vectors``: whether a thread's neighbours are computed as one."""
    step, own, *lane = steps.split(steps.fuse(inner), [-1, shape.across, *([shape.lanes] if shape.lanes > 1 else [])])
    steps.bind(own, thread)
    for one in lane:
        (steps.vectorize if vectors else steps.unroll)(one)
    if shape.copies:    # registers have no indices
        steps.unroll(step)
