"""Schedules of elementwise ops and copies on long rows that accesses of 16 bytes do not divide, such as slices and rows of odd lengths: a
thread loads several elements before it stores one, so that as many bytes are under way as with long accesses."""
from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.dialects.tir.walk import buffer_name
from legato.targets.gpu.elementwise import THREADS, emit_elementwise, lanes_of, offset_along, written_last
from legato.targets.gpu.groups import groups_of, inlined
from legato.targets.gpu.index_forms import reads_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

BYTES_EACH = 16     # that a thread moves of a row
LONG = 1024         # elements of rows that blocks of threads share in parts
MUCH = 1 << 20      # elements of a block, from which on a thread has several


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel without reductions; None where no launch of it has such rows."""
    if not machine.merges or any(block.reduced for block in kernel.blocks):
        return None
    gone = inlined(kernel)
    roots = [group.root for group in groups_of(kernel, gone)]
    shared = {root: rows for root in roots if (rows := row_accesses(root, machine, gone)) is not None}
    if not shared:
        return None
    steps = Steps("uneven_rows")
    for block in gone:
        steps.inline(steps.block(block.name))
    for root in roots:
        if root in shared:
            emit_rows(steps, root, shared[root])
        else:
            emit_elementwise(steps, root, machine)
    return steps.text()


@dataclass(frozen=True)
class RowAccesses:
    """Rows of neighbours in memory, along the axis ``last`` of a block: a thread takes ``each`` x ``lanes`` elements. ``copied``: the names
    and dimensions of buffers that are read along the rows."""

    last: int
    each: int
    lanes: int
    copied: tuple[tuple[str, int], ...]


def row_accesses(block: KernelBlock, machine: Gpu, gone: Sequence[KernelBlock]) -> RowAccesses | None:
    """How threads share long rows that accesses of 16 bytes do not divide; None for other blocks."""
    last = written_last(block)
    extent, points = (None, None) if last is None else (block.extents[last], block.points(range(block.rank)))
    if last is None or not machine.merges or (extent or 0) < LONG or (points or MUCH) < MUCH:
        return None
    if offset_along(block, block.stores[0], last) is None:
        return None
    copied: dict[ir.Value, int] = {}
    for buffer, forms in reads_of(block, gone):
        if any(form is None for form in forms):
            return None
        moving = [dim for dim, form in enumerate(forms) if last in (form or {})]
        if moving and (moving != [len(forms) - 1] or (forms[-1] or {})[last] != 1):
            return None
        if moving:
            copied[buffer] = len(forms)
    elements = [buffer.type.element_type for buffer in (*copied, block.stores[0].buffer)]
    width = max(64 if isinstance(element, ir.IndexType) else element.width for element in elements)
    lanes = lanes_of(block, machine)
    each = BYTES_EACH // max(1, lanes * width // 8)
    if each < 2 or not copied:
        return None
    return RowAccesses(last, each, lanes, tuple((buffer_name(buffer), rank) for buffer, rank in copied.items()))


def emit_rows(steps: Steps, block: KernelBlock, rows: RowAccesses) -> None:
    """Appends the steps of a launch whose blocks of threads take parts of rows: each thread loads all of its elements before it stores one,
    since stores might change what is loaded."""
    handle = steps.block(block.name)
    copies = [(steps.cache_read(handle, name, "local"), rank) for name, rank in rows.copied]
    loops = steps.loops(handle, block.rank)
    outer = [loop for axis, loop in enumerate(loops) if axis != rows.last]
    steps.reorder([*outer, loops[rows.last]])
    part, inner = steps.split(loops[rows.last], [-1, rows.each * THREADS * rows.lanes])
    grid = steps.fuse([*outer, part])
    steps.bind(grid, "blockIdx.x")
    share(steps, inner, rows)
    for copy, rank in copies:
        steps.compute_at(copy, grid)
        share(steps, steps.loops(copy, 1 + rank)[-1], rows)


def share(steps: Steps, loop: str, rows: RowAccesses) -> None:
    """Binds a loop over a part of a row to threads."""
    step, thread, *lane = steps.split(loop, [rows.each, THREADS, *[rows.lanes] * (rows.lanes > 1)])
    steps.bind(thread, "threadIdx.x")
    steps.unroll(step)
    for one in lane:
        steps.vectorize(one)
