"""What a run of a model plans for a Vulkan device: launches, copies, writes, on parts of buffers; and what it asks the device for."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class DevicePart:
    """A part of a buffer. ``buffer``: which; ``start``: its first byte; ``offset``, ``strides``: in elements, from there."""

    buffer: int
    start: int
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0

    def reach(self, item: int) -> int:
        """The bytes from its first one to the end of its last element. ``item``: those of an element."""
        last = sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides))
        return 0 if 0 in self.sizes else (self.offset + last + 1) * item


@dataclass(frozen=True)
class PlannedLaunch:
    """One launch: the kernel, the grid, the parts of buffers that it gets, its sizes (the last buffer), and the graph ops of it. ``turn``:
    the call of main's that makes it, counted from 0; -1 for none."""

    kernel: str
    grid: tuple[int, int, int]
    parts: tuple[DevicePart, ...]
    numbers: tuple[int, ...]
    ops: str
    turn: int = -1


@dataclass(frozen=True)
class PlannedCopy:
    """A copy of one part of a buffer to another. ``regions``: where each contiguous one begins in the two buffers, and its bytes.
    ``turn``: as of a launch."""

    source: DevicePart
    target: DevicePart
    regions: tuple[tuple[int, int, int], ...]
    turn: int = -1


@dataclass(frozen=True)
class PlannedWrite:
    """Bytes that the host puts into a buffer at a place, in bytes. ``turn``: as of a launch."""

    buffer: int
    start: int
    data: bytes
    turn: int = -1


PlannedStep = PlannedLaunch | PlannedCopy | PlannedWrite


class RunDevice(Protocol):
    """What a run asks for in the middle. Buffers are numbers."""

    def read(self, buffer: int, start: int, size: int) -> bytes:
        """The bytes at a place, once the device has done all that was planned so far."""
        ...

    def room(self, number: int, size: int) -> int:
        """A buffer of at least ``size`` bytes; the one that was given before for the number, if it suffices."""
        ...

    def turn(self, number: int, size: int) -> int:
        """Likewise, in turn for this number and the next one."""
        ...

    def result(self, number: int, shape: tuple[int, ...], item: int) -> int:
        """A buffer for a result of main. ``item``: the bytes of an element."""
        ...


def regions(source: DevicePart, target: DevicePart, item: int) -> tuple[tuple[int, int, int], ...]:
    """The contiguous regions of two parts of the same sizes: the first byte of each in both buffers, and its bytes."""
    axes, count = len(source.sizes), item
    while axes and all(source.sizes[axes - 1] == 1 or part.strides[axes - 1] * item == count for part in (source, target)):
        axes -= 1
        count *= source.sizes[axes]

    def starts(part: DevicePart) -> list[int]:
        found = [part.start + part.offset * item]
        for size, stride in zip(part.sizes[:axes], part.strides):
            found = [at + i * stride * item for at in found for i in range(size)]
        return found

    return tuple((a, b, count) for a, b in zip(starts(source), starts(target)))


def dense(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense buffer in row-major order."""
    found, product = [], 1
    for size in reversed(sizes):
        found.insert(0, product)
        product *= size
    return tuple(found)
