"""Schedules of rows that their threads keep in registers: each element is loaded once, before the first reduction, in accesses of 16 bytes
that do not wait for each other.

A reduction of a row waits for its loads, then for other lanes or warps; a thread with one load has nothing to do meanwhile, and what it
reads again behind a barrier comes from a cache. Here a thread has several loads under way, short rows belong to one warp, which combines by
shuffles without a barrier, and what is computed of the same elements in several steps, such as the exponentials of a softmax, is
computed once.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.dialects.tir.walk import buffer_name
from legato.targets.gpu.groups import LaunchGroup, groups_of, inlined, points_of
from legato.targets.gpu.index_forms import IndexForm, reads_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.nests import WARP, RowCopy, RowThreads, power, threads_of, write

OTHERS = 28             # registers of a thread that are left for indices and results
THREADS = 768           # that keep a multiprocessor busy with loads
MOST_BUFFERS = 4        # of which a thread has elements
SHORT_BLOCK = 128       # threads of a block that has several rows
BYTES_EACH = 32         # of a row, that a thread loads
SECTOR = 32             # bytes that memory is written in
MOST_ROW_THREADS = 512

OUTER, MIXED = -1, -2


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with reductions of known rows of neighbours in memory; None for any other kernel."""
    if not machine.merges or not any(block.reduced for block in kernel.blocks):
        return None
    gone = inlined(kernel)
    groups = groups_of(kernel, gone)
    plain = [threads_of(group, machine) for group in groups]
    shapes = [in_registers(group, gone, shape, machine) or shape for group, shape in zip(groups, plain)]
    if not any(shape.copies for shape in shapes):
        return None
    return write("register_rows", gone, groups, shapes, machine)


def in_registers(group: LaunchGroup, gone: Sequence[KernelBlock], plain: RowThreads, machine: Gpu) -> RowThreads | None:
    """The threads of a launch that keeps its rows in registers; None where it does not. ``plain``: those of one that does not."""
    if plain.across == 1 or not plain.along:
        return None
    axes = {block: group.along(block) for block in group.blocks}
    extents, *others = {tuple(block.extents[axis] for axis in inner) for block, inner in axes.items() if inner}
    length = points_of(extents)
    if others or length is None:
        return None
    reads = reads_in_rows(axes, gone)
    copies = [copy for read in reads if (copy := copy_of(group, read, len(extents))) is not None]
    width = max((read.buffer.type.element_type.width for read in reads if any(place != OUTER for place in read.places)), default=32)
    lanes = machine.lanes(width)
    while (extents[-1] or 1) % lanes:
        lanes //= 2
    across = threads_across(length, lanes, width, bool(group.inner))
    most = min(machine.registers, machine.block_registers // across) - OTHERS
    while lanes > 1 and (across * lanes > length or each_of(length, across, lanes) > most):
        lanes //= 2
    kept = fitting(copies, each_of(length, across, lanes), machine.block_registers // THREADS - OTHERS, most)
    if not kept:
        return None
    rows = rows_beside(group.root.extents[group.shared[-1]] if group.shared else 1, max(1, SHORT_BLOCK // across), across)
    return replace(plain, rows=rows, across=across, lanes=lanes, copies=tuple(kept), vectors=len(kept) < len(reads))


def fitting(copies: Sequence[RowCopy], elements: int, beside: int, most: int) -> Sequence[RowCopy]:
    """The copies that a thread keeps in registers, of so many elements each: all, or those that several blocks read. ``beside``: registers
    that let several blocks share a multiprocessor; ``most``: those there are."""
    several = [copy for copy in copies if not copy.inner or len(copy.readers) > 1]
    for kept, room in ((copies, beside), (several, beside), (several, most), (copies, most)):
        if 0 < sum(bool(copy.inner) for copy in kept) <= min(room // elements, MOST_BUFFERS):
            return kept
    return []


def each_of(length: int, across: int, lanes: int) -> int:
    """The elements that a thread has of a row at most."""
    return -(-length // (across * lanes)) * lanes


def rows_beside(extent: int | None, most: int, across: int) -> int:
    """The rows of a block of threads, along an axis of ``extent``: numbers that do not divide it only for blocks of less than a warp, since
    a condition on rows keeps their steps apart."""
    return gcd(extent or 1, most) if across >= WARP else min(most, 1 << (extent or most).bit_length() - 1)


def threads_across(length: int, lanes: int, width: int, stores: bool) -> int:
    """The threads for a row: as many as have two accesses of 16 bytes each, or some more, where whole warps then share them evenly, or
    where together they store less than a sector at once; those of a long row have more accesses. ``lanes``: elements of an access;
    ``width``: bits of an element; ``stores``: whether they store the row's elements."""
    each = 8 * BYTES_EACH // max(width, 16)
    if 2 * length <= each * WARP:
        of_sector = min(8 * SECTOR // (lanes * width), power(-(-length // lanes))) if stores else 1
        return min(max(2, power(-(-length // each)), of_sector), WARP)
    wanted = max(1, -(-length // (each * WARP)))       # warps
    most = MOST_ROW_THREADS // WARP
    even = [warps for warps in range(1, most + 1) if length % (warps * WARP * lanes) == 0 and wanted <= 2 * warps <= 2 * wanted]
    return WARP * (even[-1] if even else min(wanted, most))


@dataclass(frozen=True)
class RowRead:
    """A buffer that blocks of a launch read, directly or by blocks that are inlined. ``places``: for each dimension the axis of the row, by
    its number among those, along which it moves, OUTER for an index that is the same along the row, MIXED for another one."""

    buffer: ir.Value
    places: tuple[int, ...]
    readers: list[KernelBlock]


def reads_in_rows(axes: Mapping[KernelBlock, list[int]], gone: Sequence[KernelBlock]) -> list[RowRead]:
    """What blocks read, but for results of each other. ``axes``: of each block, those along the row."""
    own = {buffer for block in axes for buffer in block.written}
    found: dict[tuple[ir.Value, tuple[int, ...]], RowRead] = {}
    for block, inner in axes.items():
        for buffer, read in reads_of(block, gone):
            places = tuple(place_along(form, inner) for form in read)
            if buffer not in own:
                one = found.setdefault((buffer, places), RowRead(buffer, places, []))
                one.readers.extend([block] if block not in one.readers else [])
    return list(found.values())


def place_along(form: IndexForm, inner: Sequence[int]) -> int:
    """The axis of the row, by its number, along which an index moves step by step."""
    moving = [] if form is None else [axis for axis in form if axis in inner]
    if form is None or len(moving) > 1 or (moving and form[moving[0]] != 1):
        return MIXED
    return inner.index(moving[0]) if moving else OUTER


def copy_of(group: LaunchGroup, read: RowRead, rank: int) -> RowCopy | None:
    """The copy of what a thread reads: one element for each of the row's, along ``rank`` axes, or one for all; None for other reads, and
    where what it reads along several dimensions of unknown sizes, as of images, has no layout as one."""
    inner = [place for place in read.places if place != OUTER]
    if inner and inner != list(range(rank)):
        return None
    readers = tuple(block for block in group.blocks if block in read.readers)
    along = tuple(dim for dim, place in enumerate(read.places) if place != OUTER)
    if any(read.buffer.type.is_dynamic_dim(dim) for dim in along[1:]):
        return None
    return RowCopy(buffer_name(read.buffer), readers, len(read.places), along, joined(read.buffer.type, along))


def joined(type_: ir.MemRefType, along: Sequence[int]) -> str | None:
    """The layout of a buffer in which dimensions are one, as an affine map; None where all but one of them are of one element."""
    if sum(type_.shape[dim] != 1 for dim in along) < 2:
        return None
    names = [f"d{n}" for n in range(type_.rank)]
    steps = [f"{prod(type_.shape[dim] for dim in along[n + 1:])} * {names[dim]}" for n, dim in enumerate(along)]
    return f"({', '.join(names)}) -> ({', '.join([*(name for n, name in enumerate(names) if n not in along), ' + '.join(steps)])})"
