"""Boxes of elements, as intervals along each dimension, and whether boxes cover a tensor."""
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from legato.analysis.indices.sizes import never_negative

Size = Any  # an int or an expression of symbols
MOST_PAINTED = 1 << 22  # elements of a tensor on which boxes that differ in several dimensions are painted


@dataclass(frozen=True)
class Interval:
    """Each ``step``-th index from ``low`` on, below ``high``."""

    low: Size
    high: Size
    step: int = 1

    def spans(self, size: Size) -> bool:
        """Whether all indices of a dimension of this size are in the interval."""
        return self.step == 1 and at_most(self.low, 0) and at_most(size, self.high)


Box = tuple[Interval, ...]


def whole(shape: Sequence[Size]) -> Box:
    """The box of all elements."""
    return tuple(Interval(0, size) for size in shape)


def covers(boxes: Sequence[Box], shape: Sequence[Size]) -> bool:
    """Whether each element of a tensor is certain to be in a box."""
    if any(isinstance(size, int) and size == 0 for size in shape) or whole(shape) in boxes:
        return True
    if any(_along(axis, boxes, shape) for axis in range(len(shape))):
        return True
    known = all(isinstance(n, int) for box in boxes for i in box for n in (i.low, i.high)) and all(isinstance(s, int) for s in shape)
    return known and len(boxes) > 1 and prod(shape) <= MOST_PAINTED and _painted(boxes, shape)


def at_most(a: Size, b: Size) -> bool:
    """Whether a size is certain to be at most another."""
    return never_negative(b - a)


def _along(axis: int, boxes: Sequence[Box], shape: Sequence[Size]) -> bool:
    """Whether boxes that are whole in the other dimensions cover this one."""
    rest = [box[axis] for box in boxes
            if box[axis].step == 1 and all(i.spans(s) for n, (i, s) in enumerate(zip(box, shape)) if n != axis)]
    reached: Size = 0
    while not at_most(shape[axis], reached):
        step = next((i for i in rest if at_most(i.low, reached)), None)
        if step is None:
            return False
        rest.remove(step)
        if not at_most(step.high, reached):
            reached = step.high
    return True


def _painted(boxes: Sequence[Box], shape: Sequence[int]) -> bool:
    painted = np.zeros(tuple(shape), bool)
    for box in boxes:
        painted[tuple(slice(i.low, i.high, i.step) for i in box)] = True
    return bool(painted.all())
