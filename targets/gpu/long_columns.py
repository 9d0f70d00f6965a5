"""The schedule of a reduction of few, long columns, such as a mean along the first axis: blocks of threads share columns that are next to
each other in memory, and a second launch combines their parts, since one block for each group of columns leaves most of a device idle."""
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.targets.gpu.groups import LaunchGroup, fast_axis, groups_of, inlined, points_of
from legato.targets.gpu.long_rows import LEAST_PARTS, MOST_ROWS, PARTS, emit_total
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

COLUMNS, ROWS = 32, 8   # the threads of a block
BLOCKS = 1024           # that keep a device busy
LEAST_LENGTH = 64       # of a part of a column
MUCH = 1 << 21          # elements of all columns, from which on a second launch costs less than it saves


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one reduction of columns, along one axis, and elementwise ops; None for any other kernel."""
    if not any(block.reduced for block in kernel.blocks):
        return None
    gone = inlined(kernel)
    groups = groups_of(kernel, gone)
    if len(groups) != 1 or len(groups[0].reductions) != 1:
        return None
    group, (block,) = groups[0], groups[0].reductions
    parts = parts_of(group, block)
    if parts < LEAST_PARTS:
        return None
    steps = Steps("long_columns")
    for one in gone:
        steps.inline(steps.block(one.name))
    axis, root = block.reduced[0], steps.block(group.root.name)
    outer, _ = steps.split(steps.loops(steps.block(block.name), block.rank)[axis], [parts, -1])
    pieces, total = steps.rfactor(outer, 0)
    emit_parts(steps, pieces, block)
    emit_total(steps, total, None if block is group.root else root, block, group, parts)
    return steps.text()


def parts_of(group: LaunchGroup, block: KernelBlock) -> int:
    """How many blocks share a column of a reduction; 1 where one does for each group of columns."""
    columns = points_of([block.extents[axis] for axis in block.spatial])
    length = block.extents[block.reduced[0]] if len(block.reduced) == 1 else None
    if columns is None or length is None or not block.combines or columns <= MOST_ROWS or columns * length < MUCH:
        return 1
    if block is not group.root and (group.inner or len(group.root.spatial) != len(block.spatial)):
        return 1
    beside = block.extents[block.spatial[-1]] or 1
    if fast_axis(block) != block.spatial[-1]:
        return 1
    most = min(PARTS, length // LEAST_LENGTH, BLOCKS // (-(-beside // COLUMNS) * (columns // beside)))
    return max((n for n in range(1, most + 1) if length % n == 0), default=1)


def emit_parts(steps: Steps, pieces: str, block: KernelBlock) -> None:
    """Appends the steps of the launch that reduces the parts of columns."""
    axis = block.reduced[0]
    loops = steps.loops(pieces, block.rank + 1)
    *others, last = [loop for n, loop in enumerate(loops) if n not in (axis, axis + 1)]
    steps.reorder([loops[axis], *others, last, loops[axis + 1]])
    group, column = steps.split(last, [-1, COLUMNS])
    steps.bind(steps.fuse([loops[axis], *others, group]), "blockIdx.x")
    steps.bind(column, "threadIdx.x")
    _, thread = steps.split(loops[axis + 1], [-1, ROWS])
    steps.bind(thread, "threadIdx.y")
