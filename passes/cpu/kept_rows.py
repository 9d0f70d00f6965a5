"""Rows of channels-first images that loops over their columns keep: with a border, and apart by the windows' stride.

With a stride of s, a row is kept as s rows, of which each has every s-th column: what neighbouring windows take from it are neighbours.
Where s is large a row is kept as it is, and windows are read one by one.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from legato.analysis.structured.window import WindowAxis
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, minus, most, plus, quotient, remainder, rounded_up, scratch, times
from legato.passes.cpu.sized_axes import SizedAxis


class KeptRows:
    """The memory of rows, made at the insertion point. ``columns``: the windows along a row; ``border``: a vector of what lies around the
    image; ``shape``: how many rows there are, as the dimensions of their places, the first the threads; ``whole``: rows are kept as they
    are."""

    def __init__(self, vectors: Vectors, columns: WindowAxis | SizedAxis, border: ir.Value, *shape: Size, whole: bool = False):
        self.vectors, self.columns, self.border = vectors, columns, border
        self.apart = stride = 1 if whole else columns.stride
        self.group = stride * vectors.lanes      # columns, of which one vector is made for each of the rows that are kept
        reach = (columns.taps - 1) * columns.dilation
        if isinstance(columns.count, int):
            read = plus(times(columns.count - 1, columns.stride), reach)
        else:   # all windows begin in the row, or in padding
            read = plus(columns.size, columns.begin + max(columns.end, reach))
        written = plus(times(rounded_up(columns.size, self.group), self.group), columns.begin)
        self.width = plus(rounded_up(most(read, written), stride), 2 * vectors.lanes)
        self.shape: list[Size] = [*shape, stride]
        self.memory = scratch(*self.shape, self.width, element=border.type.element_type)

    def empty(self, thread: Size) -> None:
        """Writes the border to all rows of a thread."""
        lanes, last = self.vectors.lanes, minus(self.width, self.vectors.lanes)

        def row(number: ir.Value) -> None:
            places: list[Size] = []
            left: Size = number
            for size in reversed(self.shape[1:]):
                places.insert(0, remainder(left, size))
                left = quotient(left, size)
            places.insert(0, thread)
            loop(0, plus(last, 1), lanes, lambda at: self.vectors.store(self.border, self.memory, *places, at))
            self.vectors.store(self.border, self.memory, *places, last)

        loop(0, reduce(times, self.shape[1:]), 1, row)

    def keep(self, row: Sequence[Size], values: Sequence[ir.Value], start: Size) -> None:
        """Writes neighbouring vectors of a row of the image, of which the first begins at column ``start``, a multiple of ``group``."""
        stride, lanes, begin = self.apart, self.vectors.lanes, self.columns.begin
        for number in range(0, len(values), stride):
            group = [*values[number:number + stride], *[self.border] * (number + stride - len(values))]
            for first in range(stride):
                place, shift = (first + begin) % stride, (first + begin) // stride
                at = plus(plus(quotient(start, stride), number // stride * lanes), shift)
                self.vectors.store(every(group, first), self.memory, *row, place, at)

    def load(self, row: Sequence[Size], tap: Size, at: Size) -> ir.Value:
        """What neighbouring windows, the first at column ``at`` of the result, have at a tap. Of rows that are ``apart``."""
        offset = times(tap, self.columns.dilation)
        place, shift = remainder(offset, self.columns.stride), quotient(offset, self.columns.stride)
        return self.vectors.load(self.memory, *row, place, plus(at, shift))

    def load_window(self, row: Sequence[Size], tap: Size, at: Size) -> ir.Value:
        """Neighbouring columns of the window at column ``at`` of the result, from a tap on. Of rows that are ``whole``."""
        return self.vectors.load(self.memory, *row, 0, plus(times(at, self.columns.stride), tap))


def every(vectors: Sequence[ir.Value], first: int) -> ir.Value:
    """One vector of every n-th element of n vectors, from the element ``first`` on."""
    stride, lanes = len(vectors), vectors[0].type.shape[0]
    value = vectors[0]
    for number in range(1, stride):     # the first elements are those of the vectors before, in order
        at = [first + lane * stride for lane in range(lanes)]
        taken = [place - number * lanes + lanes if place >= number * lanes else lane if number > 1 else place
                 for lane, place in enumerate(at)]
        value = vector.ShuffleOp(value, vectors[number], [min(place, 2 * lanes - 1) for place in taken]).result
    return value
