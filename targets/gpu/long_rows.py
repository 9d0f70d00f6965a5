"""The schedule of a reduction of few, long rows, such as a mean of all elements: blocks of threads share a row, and a second launch
combines their parts, since one block for each row leaves most of a device idle."""
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.targets.gpu.groups import LaunchGroup, fast_axis, groups_of, inlined, points_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.nests import divisor, power
from legato.targets.gpu.steps import Steps

MOST_ROWS = 16      # that blocks share
LONG = 1 << 15      # elements of a row from which on they do
PARTS = 128         # blocks that share a row, at most
MANY_PARTS = 512    # of large devices, which these keep busy with loads
LEAST_PARTS = 8
CHUNK = 1024        # elements that lie together of a part of a row whose length no number of parts divides
THREADS = 256       # of a block
WARP = 32


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one reduction, along one axis, and elementwise ops; None for any other kernel."""
    if not any(block.reduced for block in kernel.blocks):
        return None
    gone = inlined(kernel)
    groups = groups_of(kernel, gone)
    if len(groups) != 1 or len(groups[0].reductions) != 1:
        return None
    group, (block,) = groups[0], groups[0].reductions
    parts = parts_of(group, block, MANY_PARTS if machine.async_copies else PARTS)
    if parts < LEAST_PARTS:
        return None
    steps = Steps("long_rows")
    for one in gone:
        steps.inline(steps.block(one.name))
    root, loop = steps.block(group.root.name), steps.loops(steps.block(block.name), block.rank)[block.reduced[0]]
    length = block.extents[block.reduced[0]]
    together = length // parts if length is not None and length % parts == 0 else None
    outer = steps.split(loop, [parts, -1])[0] if together else steps.split(loop, [-1, parts, CHUNK])[1]
    pieces, total = steps.rfactor(outer, 0)
    emit_parts(steps, pieces, block, together, machine)
    emit_total(steps, total, None if block is group.root else root, block, group, parts)
    return steps.text()


def parts_of(group: LaunchGroup, block: KernelBlock, most: int) -> int:
    """How many blocks, ``most`` at most, share a row of a reduction, also one of unknown length; 1 where one does for each."""
    rows = points_of([block.extents[axis] for axis in block.spatial])
    length = block.extents[block.reduced[0]]
    if len(block.reduced) != 1 or rows is None or rows > MOST_ROWS or (length is not None and length < LONG) or not block.combines:
        return 1
    if block is not group.root and (group.inner or len(group.root.spatial) != len(block.spatial)):
        return 1
    even = 1 if length is None else divisor(length, most)
    return most if even < LEAST_PARTS else even


def emit_parts(steps: Steps, pieces: str, block: KernelBlock, length: int | None, machine: Gpu) -> None:
    """Appends the steps of the launch that reduces the parts of rows. ``length``: elements of a part that lie together; None where it has
    every so many chunks of a row."""
    axis = block.reduced[0]
    loops = steps.loops(pieces, block.rank + (1 if length else 2))
    own = loops[axis:axis + (2 if length else 3)]
    rows = [loop for loop in loops if loop not in own]
    outer = own.pop(0 if length else 1)
    steps.reorder([outer, *rows, *own])
    inner = own[-1]
    if fast_axis(block) == axis or not rows:
        width = max(access.buffer.type.element_type.width for access in block.loads)
        lanes = machine.lanes(width) if machine.merges else 1
        # threads that all have as many neighbours
        even = [n for n in range(WARP, THREADS + 1, WARP) if (length or CHUNK) % (n * lanes) == 0]
        steps.bind(steps.fuse([outer, *rows]), "blockIdx.x")
        if lanes > 1 and even:
            _, thread, lane = steps.split(inner, [-1, even[-1], lanes])
            steps.unroll(lane)
        else:
            _, thread = steps.split(inner, [-1, THREADS])
        steps.bind(thread, "threadIdx.x")
        return
    steps.bind(steps.fuse([outer, *rows[:-1]]), "blockIdx.x")
    steps.bind(rows[-1], "threadIdx.x")
    _, thread = steps.split(inner, [-1, THREADS // MOST_ROWS])
    steps.bind(thread, "threadIdx.y")


def emit_total(steps: Steps, total: str, reader: str | None, block: KernelBlock, group: LaunchGroup, parts: int) -> None:
    """Appends the steps of the launch that combines the parts, with what reads the result. ``reader``: the block that does."""
    rank = len(block.spatial)
    if reader is None:
        *rows, part = steps.loops(total, rank + 1)
        row = steps.fuse(rows) if rows else steps.unit_loop(part)
    else:
        rows = steps.loops(reader, group.root.rank)
        row = steps.fuse(rows) if rows else steps.unit_loop(reader)
        steps.scope(total, 0, "local")
        steps.compute_at(total, row)
        part = steps.loops(total, 1 + rank + 1)[-1]
    steps.bind(row, "blockIdx.x")
    _, thread = steps.split(part, [-1, power(parts)])
    steps.bind(thread, "threadIdx.x")
