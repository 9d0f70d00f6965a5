"""Weighted sums of rows, of which those of weight 0 are not read."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims

LEAST = 100    # halvings of a weight, far more than a float has digits


def read_taps(indices: ir.Value, weights: ir.Value, is_unread: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The indices and weights of a ``gather_weighted`` without the taps of weight 0 that ``is_unread`` names, so that NaN and infinity stay
    where they are; all of [batch, taps, places].

    Such a tap reads the row of the heaviest one, and they share its weight: the last of them has half of it, the one in front a quarter,
    and so on; the first has as much as the second. Added in their order, all sums are exact where other taps are 0. No share is less than
    2^-``LEAST``: so little is lost beside the others.
    """
    taps, dtype = dims.dims(weights.type)[1], relax.TensorType.of(weights.type).dtype
    one = relax.constant(np.ones((), np.int64))
    heaviest = relax.equal(_numbers(taps), relax.argmax(relax.abs(weights), axis=1, keepdims=True))
    shares = relax.logical_or(heaviest, is_unread)
    number = relax.cumsum(relax.astype(shares, dtype=np.dtype(np.int64)), axis=1)     # from 1
    halvings = relax.subtract(relax.max(number, axis=[1], keepdims=True), relax.maximum(relax.subtract(number, one), one))
    if not isinstance(taps, int) or taps > LEAST:
        halvings = relax.minimum(halvings, relax.constant(np.array(LEAST)))
    shares_of = 0.5 ** np.arange(LEAST + 1 if not isinstance(taps, int) else min(taps, LEAST + 1))
    part = relax.take(relax.constant(shares_of.astype(dtype)), halvings, axis=0)
    return (relax.where(shares, _at(heaviest, indices), indices),
            relax.where(shares, relax.multiply(_at(heaviest, weights), part), weights))


def _numbers(taps: dims.Size) -> ir.Value:
    """The number of each tap: [taps, 1]."""
    if isinstance(taps, int):
        return relax.constant(np.arange(taps)[:, None])
    first, step = (relax.constant(np.array(number)) for number in (0, 1))
    return relax.expand_dims(relax.arange(first, step, shape=[taps]), axis=[1])


def _at(heaviest: ir.Value, values: ir.Value) -> ir.Value:
    """[batch, 1, places]: the values of the one tap of each place that ``heaviest`` names."""
    zero = relax.constant(np.zeros((), relax.TensorType.of(values.type).dtype))
    return relax.sum(relax.where(heaviest, values, zero), axis=[1], keepdims=True)
