"""Sums of neighbours along axes, by indices and weights that are computed at run time, as weighted rows of a matrix."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.onnx import run_time

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
    index, weights = _read_where_weighted(index, relax.astype(relax.astype(weights, dtype=dtype), dtype=wide), wide)
    rows = relax.reshape(x, [dims.product(sizes[:axis]), sizes[axis], dims.product(sizes[axis + 1:])])
    turned = (relax.expand_dims(relax.permute_dims(value, axes=[1, 0]), axis=[0]) for value in (index, weights))
    sizes[axis] = dims.dims(index.type)[0]
    return relax.reshape(relax.gather_weighted(rows, *turned), sizes)


def _read_where_weighted(index: ir.Value, weights: ir.Value, dtype: np.dtype) -> tuple[ir.Value, ir.Value]:
    """The same sums, where an element of weight 0 is not read, so that NaN and infinity stay where they are: it is the heaviest tap's
    element instead, with half of the heaviest one's weight, the next one with a quarter of it, whose sum is exact."""
    taps = weights.type.shape[1]
    zero, unread = relax.constant(np.zeros((), dtype)), relax.constant(np.zeros((), np.int64))
    is_unread = relax.equal(weights, zero)
    number = relax.cumsum(relax.astype(is_unread, dtype=run_time.I64), axis=1)
    heaviest = relax.equal(relax.constant(np.arange(taps)[None]), relax.argmax(relax.abs(weights), axis=1, keepdims=True))
    parts = relax.constant((0.5 ** np.arange(taps + 1)).astype(dtype))
    whole = relax.sum(relax.where(heaviest, weights, zero), axis=[1], keepdims=True)
    left = relax.take(parts, relax.max(number, axis=[1], keepdims=True), axis=0)
    shared = relax.where(heaviest, relax.multiply(weights, left), weights)
    element = relax.sum(relax.where(heaviest, index, unread), axis=[1], keepdims=True)
    return (relax.where(is_unread, element, index),
            relax.where(is_unread, relax.multiply(whole, relax.take(parts, number, axis=0)), shared))
