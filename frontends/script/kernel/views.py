"""Views of buffers: a part of one (``T.match_buffer(A[...], ...)``), or its elements in another shape (``data=A.data``)."""

from dataclasses import dataclass
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer, row_major
from legato.frontends.script.kernel.values import Scalar
from legato.frontends.script.language.source import Problem


@dataclass(frozen=True)
class View(Buffer):
    """A buffer that aliases another one, ``base``. ``sizes``: ints and index values."""

    base: Buffer
    sizes: tuple[Any, ...]

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def size(self, axis: int) -> Any:
        return self.sizes[axis]

    def known_size(self, axis: int) -> int | None:
        size = self.sizes[axis]
        return size if isinstance(size, int) else None

    def in_base(self, indices: list[Any]) -> list[Any]:
        """The element's indices in ``base``. Problem where they are outside of the view."""
        raise NotImplementedError

    def strides(self) -> tuple[Any, ...]:
        """The steps from one element to the next in memory, in elements."""
        raise NotImplementedError

    def offset(self) -> Any:
        """The offset of the first element in memory, in elements."""
        return self.base.linear(self.in_base([0] * self.rank))

    def load(self, indices: list[Any]) -> Scalar:
        return self.base.load(self.in_base(indices))

    def store(self, x: Any, indices: list[Any]) -> None:
        self.base.store(x, self.in_base(indices))

    def linear(self, indices: list[Any]) -> Any:
        return self.base.linear(self.in_base(indices))


@dataclass(frozen=True)
class Part(View):
    """A rectangle of a buffer. ``begin``: its first index in each dimension of ``base``; ``kept``: the dimensions that it has."""

    begin: tuple[Any, ...]
    kept: tuple[int, ...]

    def in_base(self, indices: list[Any]) -> list[Any]:
        self.check_bounds(indices)
        place = list(self.begin)
        for dimension, i in zip(self.kept, indices):
            place[dimension] = binary("+", place[dimension], i)
        return place

    def strides(self) -> tuple[Any, ...]:
        strides = self.base.strides()
        return tuple(strides[dimension] for dimension in self.kept)


@dataclass(frozen=True)
class Reshaped(View):
    """The elements of a buffer in another shape, row-major, from the element ``begin`` on."""

    begin: Any = 0

    def in_base(self, indices: list[Any]) -> list[Any]:
        self.check_bounds(indices)
        place = self.begin
        for i, stride in zip(indices, self.strides()):
            place = binary("+", place, binary("*", i, stride))
        return unravel(place, self.base.shape)

    def strides(self) -> tuple[Any, ...]:
        return row_major(self.sizes)


def unravel(place: Any, sizes: tuple[Any, ...]) -> list[Any]:
    """The indices of element number ``place``, row-major."""
    if not sizes:
        return []
    indices: list[Any] = []
    for size in reversed(sizes[1:]):
        indices.insert(0, binary("%", place, size))
        place = binary("//", place, size)
    return [place, *indices]


def part(whole: Buffer, region: list[tuple[Any, Any]], shape: tuple[Any, ...] | None, name: str) -> Part:
    """A part of a buffer. ``region``: begin and extent in each of its dimensions; ``shape``: the shape that the script gives.

    The shape may leave out leading dimensions of extent 1. Problem where it is not the region's.
    """
    extents = [extent for _, extent in region]
    kept = list(range(len(region)))
    if shape is not None:
        spare = len(kept) - len(shape)
        while spare > 0 and extents[kept[0]] == 1:
            kept.pop(0)
            spare -= 1
        if spare != 0 or any(isinstance(e, int) and isinstance(s, int) and e != s for s, e in zip(shape, (extents[k] for k in kept))):
            said = ", ".join(str(s) if isinstance(s, int) else "?" for s in shape)
            found = ", ".join(str(e) if isinstance(e, int) else "?" for e in extents)
            raise Problem(f"T.match_buffer: the part of '{whole.name}' has the shape ({found}), not ({said})")
    begin = tuple(start for start, _ in region)
    return Part(whole.value, whole.dtype, name, whole, tuple(extents[k] for k in kept), begin, tuple(kept))
