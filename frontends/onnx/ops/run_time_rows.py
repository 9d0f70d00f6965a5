"""Sums of neighbours along axes, by indices and weights that are computed at run time, as weighted rows of a matrix."""
from collections.abc import Callable, Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.taps import read_taps

Neighbours = tuple[int, ir.Value, ir.Value]     # an axis, and for each of its places so many indices and weights: [count, taps]

FEW = 16    # elements behind an axis that are no row: a vector would hold little else than them


def weighted_rows(x: ir.Value, neighbours: Sequence[Neighbours]) -> ir.Value:
    """x with axes of weighted sums of neighbours.

    A neighbour is a row of all that is behind it. What is neither resized nor the batch is put behind the axes, as channels are where
    convolutions work, and the last axis comes first; unless that is too few elements: then axes stay where they are, and the first
    comes first.
    """
    rank, resized = x.type.rank, [axis for axis, _, _ in neighbours]
    others = [axis for axis in range(rank) if axis not in resized]
    order = [0, *resized, *others[1:]] if len(others) > 1 and others[0] == 0 else [*resized, *others]
    if _is_few(dims.product([dims.dims(x.type)[axis] for axis in order if axis not in (0, *resized)])):
        for axis, index, weights in neighbours:
            x = _in_place(x, axis, index, weights)
        return x

    def rows(value: ir.Value) -> ir.Value:
        for axis, index, weights in reversed(neighbours):
            value = _along(value, order.index(axis), index, weights)
        return value

    return _permuted(x, order, rows)


def _is_few(size: dims.Size) -> bool:
    return isinstance(size, int) and size < FEW


def _in_place(x: ir.Value, axis: int, index: ir.Value, weights: ir.Value) -> ir.Value:
    """x with one axis of weighted sums. If few elements are behind it, all the others are put there."""
    if not _is_few(dims.product(dims.dims(x.type)[axis + 1:])):
        return _along(x, axis, index, weights)
    order = [axis, *(other for other in range(x.type.rank) if other != axis)]
    return _permuted(x, order, lambda value: _along(value, 0, index, weights))


def _permuted(x: ir.Value, order: list[int], build: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """What is built of x with its axes in an order, with the axes as they were."""
    if order == sorted(order):
        return build(x)
    return relax.permute_dims(build(relax.permute_dims(x, axes=order)), axes=[order.index(axis) for axis in range(len(order))])


def _along(x: ir.Value, axis: int, index: ir.Value, weights: ir.Value) -> ir.Value:
    """x with one axis of weighted sums. Weights are rounded to the elements' type, and multiplied in f32 at least."""
    dtype, sizes = relax.TensorType.of(x.type).dtype, list(dims.dims(x.type))
    wide = np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)
    weights = relax.astype(relax.astype(weights, dtype=dtype), dtype=wide)
    index, weights = (relax.expand_dims(relax.permute_dims(value, axes=[1, 0]), axis=[0]) for value in (index, weights))
    taps = read_taps(index, weights, relax.equal(weights, relax.constant(np.zeros((), wide))))
    rows = relax.reshape(x, [dims.product(sizes[:axis]), sizes[axis], dims.product(sizes[axis + 1:])])
    sizes[axis] = dims.dims(index.type)[2]
    return relax.reshape(relax.gather_weighted(rows, *taps), sizes)
