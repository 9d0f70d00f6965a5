"""Integers of a constant weight, and the panels of words that ``relax.matmul_quantized`` reads them from.

They are written panel by panel: what is made of one panel stays in a cache.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.core.weights import release_pages
from legato.dialects import relax
from legato.dialects.relax.ops.quantized import WORD_BITS, rows_per_word
from legato.passes.graph.functions import Constants

BYTE = 8    # bits


class Integers(Protocol):
    """A matrix of integers: ``low`` to ``high``, and its shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def low(self) -> int: ...

    @property
    def high(self) -> int: ...

    def write(self, panels: np.ndarray, less: int, bits: int, order: np.ndarray | None) -> None:
        """Writes the integers less ``less``, which are signed ones of ``bits``, to panels [panels, blocks, words, width], their rows in
        this order (None: theirs). Columns of the last panel that there are not stay as they are."""


class Whole:
    """Integers with an element each, of at most 255 in magnitude."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape
        self.low, self.high = int(array.min(initial=0)), int(array.max(initial=0))

    def write(self, panels: np.ndarray, less: int, bits: int, order: np.ndarray | None) -> None:
        """See ``Integers``."""
        depth = panels.shape[1] * panels.shape[2] * rows_per_word(bits)
        for panel, columns in _by_panels(panels, self.shape[1]):
            part = self.array[:, columns]
            part = _less(part if order is None else part[order], less)
            if depth > len(part):
                part = np.concatenate((part, np.zeros((depth - len(part), part.shape[1]), np.int8)))
            panel[:] = part if bits == BYTE else _words(part, bits)
        release_pages(self.array if self.array.flags.c_contiguous else self.array.T)


@dataclass(frozen=True)
class Unpacked:
    """Unsigned integers of 2 or 4 bits that the graph unpacks from bytes, along the rows of a column: ``packed``, [columns, bytes]."""

    packed: np.ndarray
    bits: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of the integers."""
        columns, size = self.packed.shape
        return size * (BYTE // self.bits), columns

    @property
    def low(self) -> int:
        """The smallest integer that there may be."""
        return 0

    @property
    def high(self) -> int:
        """The largest integer that there may be."""
        return (1 << self.bits) - 1

    def write(self, panels: np.ndarray, less: int, bits: int, order: np.ndarray | None) -> None:
        """See ``Integers``. The bytes are the words' already, but for the sign."""
        if order is not None or bits != self.bits or less != 1 << (bits - 1) or self.packed.shape[1] * BYTE % WORD_BITS:
            self.whole().write(panels, less, bits, order)
            return
        signs = np.uint8(sum(1 << place for place in range(bits - 1, BYTE, bits)))
        for panel, columns in _by_panels(panels, self.shape[1]):
            panel[:] = np.bitwise_xor(self.packed[columns], signs, order="C").view(np.int32).T
        release_pages(self.packed)

    def whole(self) -> Whole:
        """With a byte each."""
        shifts = np.arange(0, BYTE, self.bits, dtype=np.uint8)
        integers = (self.packed[..., None] >> shifts & np.uint8(self.high)).reshape(len(self.packed), -1)
        return Whole(integers.T)


def unpacked(value: ir.Value, constants: Constants) -> Unpacked | None:
    """The integers of a matrix with a column in each row that the graph unpacks from constant bytes; None for any other value."""
    ops = []
    for name in ("relax.reshape", "relax.bitwise_and", "relax.right_shift", "relax.expand_dims"):
        op = defining_op(value)
        if op is None or op.name != name or not op.operands[0].type.has_static_shape:
            return None
        ops.append(op)
        value = op.operands[0]
    mask, shifts = constants.array(ops[1].operands[1]), constants.array(ops[2].operands[1])
    if value.type.rank != 2 or mask is None or shifts is None or mask.size != 1 or shifts.size < 2 or BYTE % shifts.size:
        return None
    packed, bits = _bytes(value, constants), BYTE // shifts.size
    is_last = [axis % 3 for axis in relax.attributes_of(ops[3])["axis"]] == [2] and shifts.ndim == 1
    if packed is None or not is_last or not np.array_equal(shifts, range(0, BYTE, bits)) or mask.item() != (1 << bits) - 1:
        return None
    found = Unpacked(packed, bits)
    return found if list(ops[0].results[0].type.shape) == list(reversed(found.shape)) else None


def _bytes(value: ir.Value, constants: Constants) -> np.ndarray | None:
    """A constant of bytes, reshaped or not."""
    op, shape = defining_op(value), value.type.shape
    if op is not None and op.name == "relax.reshape":
        value = op.operands[0]
    array = constants.array(value)
    return array.reshape(shape) if array is not None and array.dtype == np.uint8 else None


def _by_panels(panels: np.ndarray, columns: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Each panel, as a matrix of words by the columns that there are, and these columns."""
    width = panels.shape[-1]
    for number, panel in enumerate(panels):
        first = number * width
        end = min(first + width, columns)
        yield panel.reshape(-1, width)[:, :end - first], slice(first, end)


def _less(integers: np.ndarray, less: int) -> np.ndarray:
    """The integers less one, as signed bytes, which hold the differences. Bytes stay such: they wrap around."""
    if integers.itemsize > 1:
        return (integers.astype(np.int16) - np.int16(less)).astype(np.int8)
    return (integers.view(np.uint8) - np.uint8(less % 256)).view(np.int8)


def _words(integers: np.ndarray, bits: int) -> np.ndarray:
    """Signed bytes with several rows in each word of 32 bits."""
    per, by_columns = BYTE // bits, integers.strides[0] < integers.strides[1]
    given = (np.ascontiguousarray(integers.T) if by_columns else np.ascontiguousarray(integers)).view(np.uint8)
    parts = [given[:, part::per] if by_columns else given[part::per] for part in range(per)]
    found = parts[0] & np.uint8((1 << bits) - 1)
    for part, rows in enumerate(parts[1:], 1):
        found |= (rows & np.uint8((1 << bits) - 1)) << np.uint8(part * bits)
    if by_columns:
        return found.view(np.int32).T
    quads = found.reshape(-1, WORD_BITS // BYTE, found.shape[1])
    return np.ascontiguousarray(quads.swapaxes(1, 2)).view(np.int32)[..., 0]
