"""Views of buffers: a slice (``T.match_buffer(A[...], ...)``), or the same elements in another shape (``data=A.data``)."""

from dataclasses import dataclass
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer, row_major
from legato.frontends.script.kernel.values import Scalar
from legato.frontends.script.language.source import Misuse


@dataclass(frozen=True)
class View(Buffer):
    """A buffer that aliases the buffer ``base``. ``sizes``: ints and index values."""

    base: Buffer
    sizes: tuple[Any, ...]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def size(self, axis: int) -> Any:
        """The size of a dimension: an int or an index value."""
        return self.sizes[axis]

    def known_size(self, axis: int) -> int | None:
        """The size of a dimension as an int; None where it is a run-time value."""
        size = self.sizes[axis]
        return size if isinstance(size, int) else None

    def in_base(self, indices: list[Any]) -> list[Any]:
        """The element's indices in ``base``. Misuse where they are known to be outside of the view."""
        raise NotImplementedError

    def strides(self) -> tuple[Any, ...]:
        """The stride of each dimension, in elements of memory."""
        raise NotImplementedError

    def offset(self) -> Any:
        """The offset of the view's first element, in elements of memory."""
        return self.base.linear(self.in_base([0] * self.rank))

    def load(self, indices: list[Any]) -> Scalar:
        """Loads an element."""
        return self.base.load(self.in_base(indices))

    def store(self, x: Any, indices: list[Any]) -> None:
        """Stores x to an element."""
        self.base.store(x, self.in_base(indices))

    def linear(self, indices: list[Any]) -> Any:
        """The offset of an element, in elements of memory."""
        return self.base.linear(self.in_base(indices))


@dataclass(frozen=True)
class Part(View):
    """A rectangular slice of a buffer. ``begin``: its first index in each dimension of ``base``; ``kept``: the dimensions of ``base``
    it has."""

    begin: tuple[Any, ...]
    kept: tuple[int, ...]

    def in_base(self, indices: list[Any]) -> list[Any]:
        """The element's indices in ``base``. Misuse where they are known to be outside of the slice."""
        self.check_bounds(indices)
        place = list(self.begin)
        for dimension, i in zip(self.kept, indices):
            place[dimension] = binary("+", place[dimension], i)
        return place

    def strides(self) -> tuple[Any, ...]:
        """The strides of ``base`` in the dimensions that are kept."""
        strides = self.base.strides()
        return tuple(strides[dimension] for dimension in self.kept)


@dataclass(frozen=True)
class Reshaped(View):
    """The elements of a buffer in another shape, row-major, starting at the element ``begin``."""

    begin: Any = 0

    def in_base(self, indices: list[Any]) -> list[Any]:
        """The element's indices in ``base``. Misuse where they are known to be outside of the view."""
        self.check_bounds(indices)
        place = self.begin
        for i, stride in zip(indices, self.strides()):
            place = binary("+", place, binary("*", i, stride))
        return unravel(place, self.base.shape)

    def strides(self) -> tuple[Any, ...]:
        """The strides of a row-major buffer of ``sizes``."""
        return row_major(self.sizes)


def unravel(place: Any, sizes: tuple[Any, ...]) -> list[Any]:
    """The indices of the element with row-major number ``place``."""
    if not sizes:
        return []
    indices: list[Any] = []
    for size in reversed(sizes[1:]):
        indices.insert(0, binary("%", place, size))
        place = binary("//", place, size)
    return [place, *indices]


def part(whole: Buffer, region: list[tuple[Any, Any]], shape: tuple[Any, ...] | None, name: str) -> Part:
    """A slice of a buffer. ``region``: begin and extent in each dimension; ``shape``: the shape that the script gives.

    The shape may leave out leading dimensions of extent 1. Misuse where it differs from the region's.
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
            raise Misuse(f"T.match_buffer: the part of '{whole.name}' has the shape ({found}), not ({said})")
    begin = tuple(start for start, _ in region)
    return Part(whole.value, whole.dtype, name, whole, tuple(extents[k] for k in kept), begin, tuple(kept))
