"""How the blocks of a kernel are put together into launches: which are inlined into their readers, and which run in one nest."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir

CHEAP = 12          # ops of a body that may be repeated for each of its readers' steps
FEW_READERS = 3     # times that any body may be repeated
MANY = 99
MOST_OPS = 400      # of a body with all that is inlined into it
SMALL = 1 << 16     # points of a nest that one block of threads may go through alone
COSTLY = ("math.", "arith.div", "arith.rem")


@dataclass
class LaunchGroup:
    """Blocks that run in one nest.

    ``root``: the last one; ``members``: reductions, and others that are not inlined, in the order of the kernel, each with the root's axes
    by its own; ``shared``: the root's axes that all members have.
    """

    root: KernelBlock
    shared: list[int]
    members: dict[KernelBlock, dict[int, int]] = field(default_factory=dict)

    @property
    def inner(self) -> list[int]:
        """The root's other axes."""
        return [axis for axis in range(self.root.rank) if axis not in self.shared]

    @property
    def blocks(self) -> list[KernelBlock]:
        """All blocks, the root last."""
        return [*self.members, self.root]

    @property
    def reductions(self) -> list[KernelBlock]:
        """The blocks that reduce."""
        return [block for block in self.blocks if block.reduced]

    def along(self, block: KernelBlock) -> list[int]:
        """The axes of one of the blocks along what is reduced: those that are not shared."""
        return self.inner if block is self.root else [axis for axis in range(block.rank) if axis not in self.members[block]]


def points_of(extents: Sequence[int | None]) -> int | None:
    """The product of extents; None where one is not known."""
    known = [e for e in extents if e is not None]
    return prod(known) if len(known) == len(extents) else None


def inlined(kernel: BlockKernel) -> list[KernelBlock]:
    """The blocks whose computation is put where it is read, in order: cheap ones, and those that are repeated a few times at most."""
    found: list[KernelBlock] = []
    repeated: dict[KernelBlock, int | None] = {}    # how often an element is computed; None for more often than it is written
    sizes = {block: len(block.ops) for block in kernel.blocks}
    for block in reversed(kernel.blocks):
        repeated[block] = 1
        readers = kernel.readers_of(block)
        if not readers or not can_inline(kernel, block):
            continue
        counts = [reads(block, reader, repeated[reader] if reader in found else 1) for reader in readers]
        times = None if any(c is None for c in counts) else sum(c for c in counts if c is not None)
        few = is_cheap(block) or (times or MANY) <= FEW_READERS or of_reductions(kernel, block)
        if not few or any(sizes[reader] + sizes[block] > MOST_OPS for reader in readers):
            continue
        for reader in readers:
            sizes[reader] += sizes[block]
        repeated[block] = times
        found.append(block)
    return list(reversed(found))


def can_inline(kernel: BlockKernel, block: KernelBlock) -> bool:
    """Whether a block writes each element of a buffer of the kernel's own once, and nobody else does."""
    axes = block.writes_axes
    if axes is None or block.reduced or block.block.init_block is not None or sorted(axes) != list(range(block.rank)):
        return False
    buffer = block.stores[0].buffer
    return is_stable(kernel, block) and kernel.is_own(buffer) and len(kernel.writers(buffer)) == 1 and buffer not in block.read


def reads(block: KernelBlock, reader: KernelBlock, repeated: int | None) -> int | None:
    """How often a reader reads an element of what a block writes; None for many times."""
    loads = [a for a in reader.loads if a.buffer in block.written]
    for load in loads:
        used = {axis for axis in range(reader.rank) if any(reader.depends(index, [axis]) for index in load.indices)}
        if any(axis not in used and reader.extents[axis] != 1 for axis in range(reader.rank)):
            return None
    return None if repeated is None else repeated * len(loads)


def of_reductions(kernel: BlockKernel, block: KernelBlock) -> bool:
    """Whether all that a block reads for each of its elements are results of reductions: readers compute it once in front of a loop."""
    read = [b for buffer in block.read for b in kernel.writers(buffer)]
    return bool(read) and all(b.reduced for b in read) and all(kernel.is_own(buffer) or not kernel_rank(buffer) for buffer in block.read)


def kernel_rank(buffer: ir.Value) -> int:
    """The rank of a buffer."""
    return buffer.type.rank


def is_cheap(block: KernelBlock) -> bool:
    """Whether a block's computation may be repeated more often than its result is read."""
    return len(block.ops) <= CHEAP and not any(op.name.startswith(COSTLY) for op in block.ops)


def groups_of(kernel: BlockKernel, gone: Sequence[KernelBlock]) -> list[LaunchGroup]:
    """The launches of a kernel, in order; ``gone``: the blocks that are inlined."""
    todo = [block for block in kernel.blocks if block not in gone]
    found: list[LaunchGroup] = []
    while todo:
        group = group_of(kernel, todo, gone)
        found.insert(0, group)
        todo = [block for block in todo if block is not group.root and block not in group.members]
    return found


def group_of(kernel: BlockKernel, todo: Sequence[KernelBlock], gone: Sequence[KernelBlock]) -> LaunchGroup:
    """The group of the last block, with all blocks before it that can run in its nest."""
    root = todo[-1]
    places: dict[KernelBlock, dict[int, int]] = {root: {axis: axis for axis in range(root.rank)}}
    shared: set[int] | None = set(root.spatial) if root.reduced else None
    members: list[KernelBlock] = []
    for block in reversed(kernel.blocks[:kernel.blocks.index(root)]):
        place = place_of(kernel, block, places)
        if place is None:
            continue
        if block in gone:
            places[block] = place
            continue
        axes = {place[axis] for axis in block.spatial if axis in place}
        whole = all(axis in place for axis in block.spatial) and len(block.stores) == 1
        movable = block in todo and whole and is_stable(kernel, block) and not leaves(kernel, block)
        if not movable or (shared is not None and axes != shared):
            continue
        if not axes and (points_of(root.extents) or SMALL + 1) > SMALL and block.reduced:
            continue
        shared = axes
        places[block] = place
        members.insert(0, block)
    return LaunchGroup(root, ordered(root, shared if shared is not None else root.spatial), {block: places[block] for block in members})


def alone(block: KernelBlock) -> LaunchGroup:
    """The group of one block."""
    return LaunchGroup(block, ordered(block, block.spatial))


def ordered(block: KernelBlock, axes: Collection[int]) -> list[int]:
    """Axes of a block in order, those of one value first."""
    return sorted(axes, key=lambda axis: (block.extents[axis] != 1, axis))


def is_stable(kernel: BlockKernel, block: KernelBlock) -> bool:
    """Whether no later block writes what a block reads, so that it may be computed later."""
    later = kernel.blocks[kernel.blocks.index(block) + 1:]
    return not any(buffer in other.written for other in later for buffer in block.read)


def leaves(kernel: BlockKernel, block: KernelBlock) -> bool:
    """Whether a block writes an output of the kernel, or a buffer that others write too."""
    return any(not kernel.is_own(buffer) or len(kernel.writers(buffer)) > 1 for buffer in block.written)


def place_of(kernel: BlockKernel, block: KernelBlock, places: dict[KernelBlock, dict[int, int]]) -> dict[int, int] | None:
    """The root's axes by the axes of a block, as far as all its readers take them; None where one of them is not in the nest."""
    axes, result = block.writes_axes, None
    readers = kernel.readers_of(block)
    if axes is None or not readers or any(reader not in places for reader in readers):
        return None
    for reader in readers:
        for load in (a for a in reader.loads if a.buffer in block.written):
            seen: dict[int, int] = {}
            for axis, index in zip(axes, load.indices):
                mine = reader.axis_of(index)
                if mine is not None and mine in places[reader]:
                    seen[axis] = places[reader][mine]
            result = seen if result is None else {a: r for a, r in result.items() if seen.get(a) == r}
    if result is not None and len(set(result.values())) < len(result):
        return None
    return result


def fast_axis(block: KernelBlock) -> int | None:
    """The axis along which neighbours in memory are read: that of the last index of the load that moves along the most axes."""
    def moves_along(load: ElementAccess) -> int:
        return sum(any(block.depends(index, [axis]) for index in load.indices) for axis in range(block.rank))

    loads = sorted(block.loads, key=moves_along)
    return next((x for x in reversed(block.moving_axes_of(loads[-1])) if x is not None), None) if loads else None


def buffers_bits(block: KernelBlock) -> int:
    """The width of the widest element that a block moves."""
    return max((64 if isinstance(e, ir.IndexType) else e.width for a in block.accesses for e in [a.buffer.type.element_type]), default=32)
