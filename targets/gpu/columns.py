"""Columns of neighbours in memory: each thread reduces some that are next to each other, in accesses of 16 bytes, and keeps their sums in
registers until they are written."""
from collections.abc import Sequence
from math import gcd

from legato.analysis.block_kernel import KernelBlock
from legato.targets.gpu.elementwise import lanes_of, offset_along
from legato.targets.gpu.groups import LaunchGroup, buffers_bits, points_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

POINTS = 128        # threads of a block


def lanes_beside(block: KernelBlock, machine: Gpu) -> int:
    """The columns of a reduction that a thread takes at once, along the last index of its result; 1 where they are not read together."""
    if not machine.merges or not block.spatial or len(block.stores) != 1 or not block.stores[0].indices:
        return 1
    last, sizes = block.spatial[-1], []
    if block.axis_of(block.stores[0].indices[-1]) != last:
        return 1
    for load in block.loads:
        offset = offset_along(block, load, last)
        if offset is None:
            return 1
        if any(block.depends(index, [last]) for index in load.indices):
            static = not load.buffer.type.is_dynamic_dim(load.buffer.type.rank - 1)
            sizes += [offset, load.buffer.type.shape[-1] if static else 1]
    return gcd(machine.lanes(buffers_bits(block)), block.extents[last] or 1, *sizes) if sizes else 1


def lanes_of_columns(group: LaunchGroup, threads: int, machine: Gpu) -> int:
    """The same for all reductions of a launch, with the ops on their results: as many as leave ``threads`` for all columns."""
    root, columns = group.root, points_of([group.root.extents[axis] for axis in group.shared])
    if columns is None or not {*group.inner} <= {*root.reduced} or any(not block.reduced for block in group.members):
        return 1
    if not root.reduced and root.writes_axes != list(range(root.rank)):
        return 1
    lanes = gcd(*(lanes_beside(block, machine) for block in group.reductions), *([] if root.reduced else [lanes_of(root, machine)]))
    while lanes > 1 and columns < threads * lanes:
        lanes //= 2
    return lanes


def emit_columns(steps: Steps, result: str, rank: int, reductions: Sequence[tuple[str, Sequence[int], Sequence[int]]], lanes: int) -> None:
    """Appends the steps of a launch. ``result``: the block that writes the results, of ``rank`` axes; ``reductions``: each block that it
    reads, in order, with the numbers of its loops over results and of those that are reduced; ``lanes``: columns of a thread."""
    loops = steps.loops(result, rank)
    lane = ""
    if lanes > 1:
        last, lane = steps.split(loops[-1], [-1, lanes])
        loops = [*loops[:-1], last]
    grid, point = steps.split(steps.fuse(loops), [-1, POINTS])
    steps.bind(grid, "blockIdx.x")
    steps.bind(point, "threadIdx.x")
    if lane:
        steps.vectorize(lane)
    for handle, spatial, reduced in reversed(reductions):
        steps.compute_at(handle, point)
        own = steps.loops(handle, 2 + len(spatial) + len(reduced))[2:]
        order = [*spatial, *reduced] if lanes == 1 else [*spatial[:-1], *reduced, spatial[-1]]
        steps.reorder([own[axis] for axis in order])
        if lanes > 1:
            steps.unroll(own[spatial[-1]])
        steps.decompose(handle, own[reduced[0]])
