"""Schedules of rows that are computed in several steps: a block of threads takes a row, whose parts of each step are in shared memory.

For kernels of which the steps have axes of their own, as the totals of a row's chunks that running totals need, so that ``nests`` would
make a launch of each. Blocks that compute the elements of the last step itself stay with the thread that needs them.
"""
from __future__ import annotations

from math import prod

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.targets.gpu.groups import groups_of, inlined, is_stable, leaves, ordered, place_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

MOST_THREADS = 256
LONGEST = 1 << 14     # elements of a row, from which on several blocks of threads are better, and so are several launches

Places = dict[KernelBlock, dict[int, int]]


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script; None where the blocks share no rows of a known length, or a row's parts are more than half of the shared memory."""
    gone = inlined(kernel) if len(kernel.blocks) > 1 else []
    todo = [block for block in kernel.blocks if block not in gone]
    if len(todo) < 3 or todo[-1].reduced or len(groups_of(kernel, gone)) == 1:
        return None
    root, places = todo[-1], placed(kernel, todo[-1])
    if places is None:
        return None
    own = [one for one in todo[:-1] if sorted(places[one][axis] for axis in one.spatial if axis in places[one]) == list(range(root.rank))]
    between = [one for one in todo[:-1] if one not in own]
    common = set(range(root.rank)).intersection(*(places[one].values() for one in between))
    if not between or not fit(root, between, places, common, machine):
        return None
    steps = Steps("shared_rows")
    for block in gone:
        steps.inline(steps.block(block.name))
    emit(steps, root, todo[:-1], own, places, ordered(root, common), threads_of(root, common))
    return steps.text()


def placed(kernel: BlockKernel, root: KernelBlock) -> Places | None:
    """The root's axes by those of each block; None where one cannot be computed in the root's nest."""
    places: Places = {root: {axis: axis for axis in range(root.rank)}}
    for block in reversed(kernel.blocks[:-1]):
        place = place_of(kernel, block, places)
        if place is None or len(block.stores) != 1 or not is_stable(kernel, block) or leaves(kernel, block):
            return None
        places[block] = place
    return places if kernel.blocks[-1] is root else None


def fit(root: KernelBlock, between: list[KernelBlock], places: Places, common: set[int], machine: Gpu) -> bool:
    """Whether neighbours of a row are neighbours in memory, and what is between the steps of a row fits into shared memory."""
    inner = [axis for axis in range(root.rank) if axis not in common]
    length = root.points(inner)
    if length is None or length > LONGEST or root.writes_axes is None or not inner or root.writes_axes[-1] not in inner:
        return False
    sizes = [(block.points([axis for axis in block.spatial if places[block].get(axis) not in common]), block.stores[0].buffer)
             for block in between]
    if any(size is None or isinstance(buffer.type.element_type, ir.IndexType) for size, buffer in sizes):
        return False
    return sum((size or 0) * buffer.type.element_type.width // 8 for size, buffer in sizes) <= machine.shared_bytes // 2


def threads_of(root: KernelBlock, common: set[int]) -> int:
    """The threads for a row."""
    length = prod(root.extents[axis] or 1 for axis in range(root.rank) if axis not in common)
    return min(MOST_THREADS, max(32, 1 << (length - 1).bit_length() >> 1))


def emit(steps: Steps, root: KernelBlock, members: list[KernelBlock], own: list[KernelBlock], places: Places, rows: list[int],
         threads: int) -> None:
    """Appends the steps of the launch. ``own``: the members that compute elements of the root; ``rows``: the root's axes that all have."""
    handle = steps.block(root.name)
    loops = steps.loops(handle, root.rank)
    inner = [loops[axis] for axis in range(root.rank) if axis not in rows]
    steps.reorder([*(loops[axis] for axis in rows), *inner])
    row = steps.fuse([loops[axis] for axis in rows]) if rows else steps.unit_loop(inner[0])
    steps.bind(row, "blockIdx.x")
    _, thread = steps.split(steps.fuse(inner), [-1, threads])
    steps.bind(thread, "threadIdx.x")
    for block in reversed(members):
        mine = block in own
        handle = steps.block(block.name)
        steps.scope(handle, 0, "local" if mine else "shared")
        steps.compute_at(handle, thread if mine else row)
        around = 3 if mine else 1
        loops = steps.loops(handle, around + block.rank)[around:]
        kept = [axis for axis in block.spatial if mine or places[block].get(axis) in rows]
        spread = [axis for axis in block.spatial if axis not in kept]
        steps.reorder([loops[axis] for axis in (*kept, *spread, *block.reduced)])
        if block.reduced:
            steps.decompose(handle, loops[block.reduced[0]])
        if spread:
            _, part = steps.split(steps.fuse([loops[axis] for axis in spread]), [-1, threads])
            steps.bind(part, "threadIdx.x")
