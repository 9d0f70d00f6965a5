"""Sums of neighbours along axes, by indices and weights that are computed at run time, as weighted rows of a matrix."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.taps import read_taps

Neighbours = tuple[int, ir.Value, ir.Value]     # an axis, and for each of its places so many indices and weights: [count, taps], taps known


def weighted_rows(x: ir.Value, neighbours: Sequence[Neighbours]) -> ir.Value:
    """x with axes of weighted sums of neighbours, the last first. What is neither resized nor the batch is put behind the axes, as channels
    are where convolutions work: a neighbour is a row of all of that."""
    rank, resized = x.type.rank, [axis for axis, _, _ in neighbours]
    others = [axis for axis in range(rank) if axis not in resized]
    order = [0, *resized, *others[1:]] if len(others) > 1 and others[0] == 0 else [*resized, *others]
    moved = order != list(range(rank))
    value = relax.permute_dims(x, axes=order) if moved else x
    for axis, index, weights in reversed(neighbours):
        value = _along(value, order.index(axis), index, weights)
    return relax.permute_dims(value, axes=[order.index(axis) for axis in range(rank)]) if moved else value


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
