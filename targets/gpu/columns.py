"""Columns of neighbours in memory: each thread reduces some that are next to each other, in accesses of 16 bytes, and keeps their sums in
registers until they are written."""
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from legato.analysis.block_kernel import KernelBlock
from legato.targets.gpu.elementwise import lanes_of, offset_along
from legato.targets.gpu.groups import LaunchGroup, buffers_bits, points_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

POINTS = 128        # threads of a block
BYTES = 8           # of a row, that a thread loads at once
TURNS = 4           # steps of a reduction whose loads do not wait for each other


def lanes_beside(blocks: Sequence[KernelBlock], machine: Gpu) -> int:
    """The columns that a thread takes of reductions at once, along the last index of their results; 1 where they are not read together, and
    for elements of 32 bits, of which a warp reads whole sectors anyway."""
    width = min((load.buffer.type.element_type.width for block in blocks for load in block.loads
                 if any(block.depends(index, block.reduced) for index in load.indices)), default=32)
    return 1 if width >= 32 else gcd(8 * BYTES // max(width, 8), *(widest_lanes(block, machine) for block in blocks))


def widest_lanes(block: KernelBlock, machine: Gpu) -> int:
    """The most of these of one reduction, by where its rows begin."""
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
    """The same for all reductions of a launch, with what reads them: as many as leave ``threads`` for all columns."""
    root, columns = group.root, points_of([group.root.extents[axis] for axis in group.shared])
    if columns is None or not group.shared or any(not block.reduced for block in group.members):
        return 1
    if not root.reduced and (root.writes_axes != list(range(root.rank)) or group.shared[-1] != root.rank - 1):
        return 1
    lanes = gcd(lanes_beside(group.reductions, machine), 0 if root.reduced else lanes_of(root, machine))
    while lanes > 1 and columns < threads * lanes:
        lanes //= 2
    return lanes


@dataclass(frozen=True)
class ColumnReduction:
    """A reduction of columns: the handle of its block, and the numbers of its loops over columns and of those that are reduced; ``extent``:
    of the last one."""

    handle: str
    columns: Sequence[int]
    reduced: Sequence[int]
    extent: int | None


def emit_columns(steps: Steps, loops: Sequence[str], inner: Sequence[str], reductions: Sequence[ColumnReduction], lanes: int) -> None:
    """Appends the steps of a launch. ``loops``: those over columns of the block that writes the results, which may have others, ``inner``;
    ``reductions``: those that it reads, in order; ``lanes``: columns of a thread."""
    *outer, last = loops
    lane = ""
    if lanes > 1:
        last, lane = steps.split(last, [-1, lanes])
    if inner:
        steps.reorder([*outer, last, *inner, *([lane] if lane else [])])
    grid, point = steps.split(steps.fuse([*outer, last]), [-1, POINTS])
    steps.bind(grid, "blockIdx.x")
    steps.bind(point, "threadIdx.x")
    if lane:
        steps.vectorize(lane)
    for one in reversed(reductions):
        steps.compute_at(one.handle, point)
        own = steps.loops(one.handle, 2 + len(one.columns) + len(one.reduced))[2:]
        *outer, last = (own[axis] for axis in one.columns)
        reduced, turns = [own[axis] for axis in one.reduced], gcd(one.extent or 1, TURNS) if lanes > 1 else 1
        if turns > 1:
            reduced[-1:] = steps.split(reduced[-1], [-1, turns])
        steps.reorder([*outer, *reduced, last] if lanes > 1 else [*outer, last, *reduced])
        for copied in (reduced[-1],) * (turns > 1) + (last,) * (lanes > 1):
            steps.unroll(copied)
        steps.decompose(one.handle, reduced[0])
