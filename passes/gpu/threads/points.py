"""The threads of a block, and iterations of loops in it, as points at which indices are evaluated."""
from collections.abc import Callable, Sequence

import numpy as np

from legato.analysis.indices.points import Points
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, constant_of
from legato.passes.gpu.threads.launch import LaunchAxis


def points_of(axes: Sequence[LaunchAxis], steps: Sequence[ForOp], uniform: Callable[[ir.Value], bool]) -> Points:
    """All combinations of the indices on some axes of a launch and the iterations of some loops, of constant extent.

    ``uniform(value)``: whether a value is the same for all threads.
    """
    return Points([*((a.id, 0, a.extent) for a in axes),
                   *((loop.variable, constant_of(loop.bounds[0]) or 0, loop.extent or 0) for loop in steps)], uniform)


def thread_numbers(points: Points, axes: Sequence[LaunchAxis]) -> np.ndarray:
    """The number of the thread at each point, the first axis varying fastest."""
    number, stride = np.zeros([1] * len(points.shape), np.int64), 1
    for axis in axes:
        number = number + points.values[axis.id] * stride
        stride *= axis.extent
    return number


def as_keys(rows: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Rows of several columns, at least one, as one number each, equal for equal rows of all tables."""
    totals = [np.zeros(len(table[0]), np.int64) for table in rows]
    for columns in zip(*rows):
        low = min((int(c.min()) for c in columns if c.size), default=0)
        width = max((int(c.max()) for c in columns if c.size), default=0) - low + 1
        totals = [t * width + (c - low) for t, c in zip(totals, columns)]
    return totals
