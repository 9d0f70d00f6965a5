"""The sizes of what loops over the columns of channels-first images compute at once."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from legato.analysis.structured.column_convolution import ColumnConvolutionForm
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine

MOST_PRODUCTS = 320     # of vectors, which are written out
VECTORS = 4             # of columns, at most
MOST_ROWS = 8           # of a tile
LEAST = 4               # rows that are computed from those that are kept
PARTS = 4               # of the result for each thread


@dataclass(frozen=True)
class ColumnTile:
    """The sums that stay in registers: of so many features, rows and vectors of columns. ``unrolled``: whether the rows of a window are
    written out."""

    features: int
    rows: int
    vectors: int
    unrolled: bool

    @classmethod
    def of(cls, features: int, axes: Sequence[WindowAxis], rows: int, registers: int, lanes: int) -> ColumnTile:
        """The tile of a convolution, of so many rows that are computed one after the other. Elements of the filter that several rows are
        multiplied with need registers, too."""
        columns, taps = axes[-1], axes[-2].taps if len(axes) > 1 else 1
        features = evenly(features, max(1, (registers - 2) // 3))
        most = min(VECTORS if len(axes) > 1 else 2 * VECTORS, (registers - 2) // (features + 1))
        widest = evenly(-(-columns.count // lanes), most)
        products = features * taps * columns.taps
        # of one feature, each vector is read for one sum, if not for those of several rows: these come before many vectors
        for vectors in (widest, *((evenly(widest, 2), 1) if features == 1 else ())):
            several = [count for count in range(min(MOST_ROWS, rows), 1, -1)
                       if features * (taps + count * vectors) + vectors + 1 <= registers and count * vectors * products <= MOST_PRODUCTS]
            if several:
                return cls(features, min(several, key=lambda count: -(-rows // count) * count), vectors, True)
        return cls(features, 1, widest, widest * products <= MOST_PRODUCTS)


def evenly(count: int, most: int) -> int:
    """The size of as few parts as there can be, of at most so many, that are about equal."""
    return -(-count // -(-count // most))


def rows_read(across: Sequence[WindowAxis], counts: Sequence[int]) -> list[int]:
    """The rows of the image that so many positions are computed from, by the dimensions across rows."""
    return [(count - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 for axis, count in zip(across, counts)]


def counts_of_part(form: ColumnConvolutionForm, machine: CpuMachine, threads: int) -> list[int]:
    """The positions, by the dimensions across rows, that are computed from the rows that are kept: as many of the first as have rows that
    fit into half of the first cache, if few of these are read for another part, too, else into half of the second. Threads want several
    parts."""
    *across, columns = form.axes
    if not across:
        return []
    axis, lanes = across[0], machine.lanes(32)
    inner = [axis.count for axis in across[1:]]
    row = 4 * form.channels * prod(rows_read(across[1:], inner)) * (columns.size + columns.begin + 2 * lanes * columns.stride)
    shared = (axis.taps - 1) * axis.dilation + 1 - axis.stride
    first, second = ((size // row - shared) // axis.stride for size in (machine.l1_bytes // 2, machine.l2_bytes // 2))
    part = first if first * axis.stride >= 4 * shared else second
    if threads > 1:
        part = min(part, -(-axis.count * form.groups // (PARTS * threads)))
    return [evenly(axis.count, max(part, 1 if inner else LEAST)), *inner]
