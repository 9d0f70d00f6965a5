"""Placement of buffers in one arena so that those live at the same time do not overlap. Works on sizes and lifetimes only.

Buffers of constant size are placed by first fit, largest first. After them come slots for buffers of symbolic size: a slot is as large as
its largest member, its members are never live at the same time, and the offsets of slots are sums of sizes.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from legato.analysis.indices.sizes import never_negative
from legato.dialects.relax.dims import Size, floor_divide, maximum, substitute, symbols

ALIGNMENT = 64
STRETCH = 64    # ops
TYPICAL = 128   # assumed value of a symbol where sizes are compared


@dataclass(frozen=True)
class Life:
    """A buffer: its size in bytes, and the first and the last op that uses it."""

    size: Size
    first: int
    last: int

    def overlaps(self, other: "Life") -> bool:
        """Whether two buffers are live at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Offsets in bytes, in the order of the buffers; the arena's size; and the size without reuse."""

    offsets: tuple[Size, ...]
    total: Size
    without_reuse: Size


@dataclass
class _Slot:
    """``sizes``: the members' sizes, without those that are never greater than another's."""

    members: list[int] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)


def place(buffers: Sequence[Life]) -> Placement:
    """Offsets for ``buffers``, multiples of 64 bytes."""
    sizes = [align(b.size) for b in buffers]
    offsets: list[Size] = [0] * len(buffers)
    total: Size = 0
    for i, offset in _first_fit(buffers, {i: size for i, size in enumerate(sizes) if isinstance(size, int)}).items():
        offsets[i] = offset
        total = _greater(total, offset + sizes[i])
    for slot in _slots(buffers, [i for i, size in enumerate(sizes) if not isinstance(size, int)]):
        for i in slot.members:
            offsets[i] = total
        total = total + align(reduce(_greater, slot.sizes))
    return Placement(tuple(offsets), total, reduce(lambda a, b: a + b, sizes, 0))


def _greater(a: Size, b: Size) -> Size:
    """The greater of two sizes of memory; a call may give a symbol the value 0."""
    return maximum(a, b, symbols_from=0)


def align(size: Size) -> Size:
    """Rounds up to the next multiple of 64."""
    return floor_divide(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


def typical(size: Size) -> int:
    """The value of an expression with every symbol at 128."""
    return int(substitute(size, dict.fromkeys(symbols(size), TYPICAL)))


def _first_fit(buffers: Sequence[Life], sizes: dict[int, int]) -> dict[int, int]:
    """The offset of each buffer in ``sizes``: the first gap that is large enough, largest buffer first."""
    placed: dict[int, int] = {}
    alive: dict[int, list[int]] = {}  # those placed, by each stretch of ops that they live through: few lives overlap, of many
    for i in sorted(sizes, key=lambda i: (-sizes[i], buffers[i].first)):
        stretches = range(buffers[i].first // STRETCH, buffers[i].last // STRETCH + 1)
        neighbours = {j for stretch in stretches for j in alive.get(stretch, ()) if buffers[i].overlaps(buffers[j])}
        offset = 0
        for begin, end in sorted((placed[j], placed[j] + sizes[j]) for j in neighbours):
            if offset + sizes[i] <= begin:
                break
            offset = max(offset, end)
        placed[i] = offset
        for stretch in stretches:
            alive.setdefault(stretch, []).append(i)
    return placed


def _slots(buffers: Sequence[Life], chosen: list[int]) -> list[_Slot]:
    """Groups of buffers that are never live together; a buffer goes to a free slot of its own size if there is one, else where least
    is wasted."""
    slots: list[_Slot] = []
    for i in sorted(chosen, key=lambda i: (-typical(buffers[i].size), buffers[i].first)):
        size = buffers[i].size
        free = [s for s in slots if not any(buffers[i].overlaps(buffers[j]) for j in s.members)]
        slot = min(free, key=lambda s: _waste(s, size), default=None)
        if slot is None:
            slot = _Slot()
            slots.append(slot)
        slot.members.append(i)
        if not any(never_negative(other - size) for other in slot.sizes):
            slot.sizes = [other for other in slot.sizes if not never_negative(size - other)] + [size]
    return slots


def _waste(slot: _Slot, size: Size) -> tuple[bool, int]:
    return size not in slot.sizes, max(map(typical, slot.sizes)) - typical(size)
