"""Memory of a run: buffers with guards around them, and views of them as memrefs describe them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from legato.checking.errors import Misbehaved, NotEvaluated
from legato.core.dtypes import numpy_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import ir

GUARD = 4096        # bytes before and after each buffer
ALIGNMENT = 64
PATTERN = 0xAB      # in guards, and in fresh memory that holds no floats
INDEX = np.dtype(np.int64)
BF16 = np.dtype(ml_dtypes.bfloat16)


def memory_dtype(element: ir.Type) -> np.dtype:
    """The numpy dtype in which elements of a type lie in memory. NotEvaluated for a type that numpy lacks."""
    if isinstance(element, ir.IndexType):
        return INDEX
    try:
        return numpy_dtype(element)
    except LegatoError as error:
        raise NotEvaluated(str(error)) from error


def poison(array: np.ndarray) -> np.ndarray:
    """The array, filled with what nobody should read: NaN, or bytes 0xAB."""
    if array.dtype.kind == "f" or array.dtype == BF16:
        array.fill(np.nan)
    elif array.dtype.kind == "b":
        array.fill(True)
    elif array.size:
        array.reshape(-1).view(np.uint8).fill(PATTERN)
    return array


@dataclass(eq=False)
class Root:
    """An allocation: ``data`` are its bytes, between guards."""

    whole: np.ndarray
    data: np.ndarray

    @staticmethod
    def allocate(size: int) -> Root:
        """``size`` bytes of the pattern, aligned."""
        whole = np.full(size + 2 * GUARD + ALIGNMENT, PATTERN, np.uint8)
        start = GUARD + -(whole.ctypes.data + GUARD) % ALIGNMENT
        return Root(whole, whole[start:start + size])

    @staticmethod
    def holding(data: np.ndarray) -> Root:
        """An allocation with a copy of some bytes."""
        made = Root.allocate(data.size)
        made.data[:] = data
        return made

    @property
    def address(self) -> int:
        """Of the first byte."""
        return self.data.ctypes.data

    def is_intact(self) -> bool:
        """Whether the guards are as they were."""
        start = self.data.ctypes.data - self.whole.ctypes.data
        return bool((self.whole[:start] == PATTERN).all() and (self.whole[start + self.data.size:] == PATTERN).all())


@dataclass(frozen=True, eq=False)
class Memory:
    """A memref: elements at ``offset``, with ``sizes`` and ``strides``, all in elements of ``dtype``. The offset counts from ``base``, in
    bytes of the root; a ``memref.view`` has a base of its own."""

    root: Root
    dtype: np.dtype
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: int = 0

    @staticmethod
    def fresh(dtype: np.dtype, sizes: Sequence[int]) -> Memory:
        """New memory, contiguous, filled with what nobody should read."""
        if any(size < 0 for size in sizes):
            raise Misbehaved(f"an allocation has a negative size: {list(sizes)}")
        made = Memory(Root.allocate(math.prod(sizes) * dtype.itemsize), dtype, 0, tuple(sizes), contiguous(sizes))
        poison(made.array())
        return made

    @staticmethod
    def holding(array: np.ndarray) -> Memory:
        """New memory with a copy of an array."""
        made = Memory.fresh(array.dtype, array.shape)
        made.array()[...] = array
        return made

    def array(self) -> np.ndarray:
        """A view as an array. Misbehaved if it leaves the allocation."""
        if 0 in self.sizes:
            return np.empty(self.sizes, self.dtype)
        first, end = self.span()
        if first < 0 or end > self.root.data.size:
            raise Misbehaved(f"a view of {self.dtype}, of the bytes {first} to {end}, leaves its buffer of {self.root.data.size} bytes")
        width = self.dtype.itemsize
        start, steps = self.base + self.offset * width, [stride * width for stride in self.strides]
        return np.ndarray(self.sizes, self.dtype, self.root.data, start, steps)

    def span(self) -> tuple[int, int]:
        """The first byte of the root that an element covers, and the one behind the last; for a memref that has elements."""
        steps = [(size - 1) * stride for size, stride in zip(self.sizes, self.strides)]
        first, last = self.offset + sum(min(n, 0) for n in steps), self.offset + sum(max(n, 0) for n in steps)
        return self.base + first * self.dtype.itemsize, self.base + (last + 1) * self.dtype.itemsize

    @property
    def address(self) -> int:
        """Of the byte from which the offset counts."""
        return self.root.address + self.base


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of contiguous elements."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
