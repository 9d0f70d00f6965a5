"""Gather and scatter."""

import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.assumed import never_equal
from legato.dialects.relax.distinct import distinct
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops.folding import is_at_least
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import MADE_ELEMENTS


def _fold_gather(node, data, indices):
    if indices.dtype.kind not in "iu":   # symbols, or what is refused
        return None
    return np.asarray(np.take(data, indices, axis=node.axis(node.integer("axis", 0), data.ndim)), data.dtype)


@op("Gather", 1, 11, 13, fold=_fold_gather)
def gather(node):
    """Gather. Constant indices are checked, those into an axis of symbolic size at calls."""
    axis, indices = node.axis(node.integer("axis", 0), node.rank()), node.value(1).known()
    size = node.dims()[axis]
    if size is not dims.UNKNOWN and indices is not None and indices.dtype != object and indices.size:
        first, last = int(indices.min()), int(indices.max())
        least = max(last + 1, -first)
        if isinstance(size, int) and size < least:
            raise Malformed(f"its indices are from {first} to {last}, but axis {axis} has size {size}")
        if not is_at_least(size, least):
            node.require_at_least(size, least, f"{size}, the size of axis {axis}, to hold its indices, from {first} to {last}")
    return relax.take(node.x(0), node.x(1), axis=axis)


@op("GatherElements", 11, 13)
def gather_elements(node):
    """GatherElements."""
    return relax.gather_elements(node.x(0), node.x(1), axis=node.axis(node.integer("axis", 0), node.rank()))


@op("GatherND", 11, 12, 13)
def gather_nd(node):
    """GatherND."""
    return relax.gather_nd(node.x(0), node.x(1), batch_dims=node.integer("batch_dims", 0))


def _scatter_elements(node):
    axis = node.axis(node.integer("axis", 0), node.rank())
    reduction = node.text("reduction", "none", "add", "mul", "max", "min")
    return relax.scatter_elements(node.x(0), node.x(1), node.x(2), axis=axis, reduction=reduction)


@op("ScatterND", 11, 13, 16, 18)
def scatter_nd(node):
    """ScatterND, with a reduction."""
    reduction = node.text("reduction", "none", "add", "mul", "max", "min")
    return relax.scatter_nd(node.x(0), node.x(1), node.x(2), reduction=reduction)


@op("OneHot", 9, 11, 28)
def one_hot(node):
    """OneHot; other values than 0 and 1 are selected by a where."""
    if node.by_data(1):
        depth = run_time.a_symbol(node, 1, "depth", floats=True)
    else:
        depth = node.size(1, "the depth")
    if node.rank(2) != 1 or never_equal(node.dims(2)[0], 2):
        raise Malformed(f"its values must be two, have the shape {list(node.dims(2))}")
    if node.dims(2) != (2,):
        node.require_equal(node.dims(2)[0], 2, f"{node.dims(2)[0]}, the number of its values, to be 2")
    dtype, indices = node.dtype(2), node.x(0)
    if kind(node.dtype()) == "float":
        indices = relax.astype(indices, dtype=np.int64)
    axis = node.axis(node.integer("axis", -1), node.rank() + 1)
    known = node.value(2).known()
    if known is not None and known.dtype != object and known.tolist() == [0, 1]:
        return relax.one_hot(indices, depth=depth, axis=axis, dtype=dtype)
    hot = relax.one_hot(indices, depth=depth, axis=axis, dtype=np.bool_)
    off, on = (relax.squeeze(relax.strided_slice(node.x(2), begin=[i], end=[i + 1], axes=[0]), axis=[0]) for i in (0, 1))
    return relax.where(hot, on, off)


def _fold_compress(node, data, condition):
    axis = node.integer("axis", None)
    if data.dtype == object or condition.ndim != 1:
        return None
    return np.compress(condition, data, None if axis is None else node.axis(axis, data.ndim))


@op("Compress", 9, 11, 28, fold=_fold_compress)
def compress(node):
    """Compress: a take at the nonzero positions of the condition; the size of the result depends on data."""
    data, axis, condition = node.x(0), node.integer("axis", None), node.x(1)
    if relax.TensorType.of(condition.type).rank != 1:
        raise Malformed(f"its condition is {condition.type}; it is a vector")
    if axis is None:
        data, axis = relax.reshape(data, shape=[-1]), 0
    axis = node.axis(axis, relax.TensorType.of(data.type).rank)
    (length,) = dims.dims(condition.type)
    within = dims.minimum(length, dims.dims(data.type)[axis])
    if within != length:    # onnxruntime does not look at conditions beyond the axis
        condition = relax.strided_slice(condition, begin=[0], end=[within], axes=[0])
    places = relax.nonzero(condition)
    places = relax.reshape(places, shape=[dims.dims(places.type)[1]])
    return relax.take(data, places, axis=axis)


@op("Unique", 11, 28)
def unique(node):
    """Unique elements, or parts along an axis; sorted, or in the order of their first occurrences."""
    return distinct_parts(node, node.integer("axis", None), node.flag("sorted", True))


def distinct_parts(node, axis: int | None, in_order: bool, equal_nan: bool = True):
    """The distinct elements, or parts along an axis, of the input; where each occurs first; which of them each is; and how often it occurs.
    ``in_order``: they are sorted, else in the order of their first occurrences. ``equal_nan``: all NaN are one element. Parts along an axis
    that have NaN are different ones, as in numpy."""
    x = node.x(0)
    equal_nan = equal_nan and axis is None
    if axis is None:
        x, axis = relax.reshape(x, shape=[-1]), 0
    axis = node.axis(axis, x.type.rank)
    values, first, which, counts = distinct(x if x.type.rank == 1 else _order_of_parts(node, x, axis), equal_nan)
    values = values if x.type.rank == 1 else relax.take(x, first, axis=axis)
    if in_order:
        return values, first, which, counts
    (length,) = dims.dims(first.type)
    order = relax.topk(first, k=length, axis=0, largest=False)
    places = relax.topk(order, k=length, axis=0, largest=False)     # of each in the order of first occurrences
    values, first, counts = (relax.take(value, order, axis=along) for value, along in ((values, axis), (first, 0), (counts, 0)))
    return values, first, relax.take(places, which, axis=0), counts


def _order_of_parts(node, x, axis: int):
    """For each part along an axis the number of parts that are less than it, element by element: [parts]."""
    sizes = list(dims.dims(x.type))
    size = sizes.pop(axis)
    length, pairs = dims.product(sizes), dims.product([size, size, *sizes])
    if isinstance(pairs, int) and pairs > MADE_ELEMENTS:
        raise Refused(f"distinct parts among {size} of {length} elements are not supported: all pairs are compared")
    if length == 0 and isinstance(size, int):
        return relax.constant(np.zeros(size, np.int64))
    if node.dtype() == np.bool_:
        x = relax.astype(x, dtype=np.int8)
    rows = relax.reshape(relax.permute_dims(x, axes=[axis, *(a for a in range(x.type.rank) if a != axis)]), shape=[size, length])
    mine, other = relax.expand_dims(rows, axis=[1]), relax.expand_dims(rows, axis=[0])
    nan = relax.isnan(mine) if kind(node.dtype()) == "float" else None
    unequal, above = relax.not_equal(mine, other), relax.greater(mine, other)
    if nan is not None:      # NaN are equal to each other here, and greater than all numbers
        unequal = relax.logical_and(unequal, relax.logical_not(relax.logical_and(nan, relax.isnan(other))))
        above = relax.logical_or(above, nan)
    differ = relax.astype(unequal, dtype=np.int64)
    leading = relax.equal(relax.cumsum(differ, axis=2), node.literal(1))    # from the first difference up to the second
    decides = relax.logical_and(relax.logical_and(leading, relax.equal(differ, node.literal(1))), above)
    greater = relax.max(relax.astype(decides, dtype=np.int64), axis=[2])
    if nan is not None:      # parts that have NaN are in the order in which they occur
        number = run_time.counted(size)
        earlier = relax.greater(relax.expand_dims(number, axis=[1]), relax.expand_dims(number, axis=[0]))
        same = relax.logical_and(relax.equal(relax.sum(differ, axis=[2]), node.literal(0)), earlier)
        has_nan = relax.max(relax.astype(nan, dtype=np.int64), axis=[2])
        greater = relax.add(greater, relax.multiply(relax.astype(same, dtype=np.int64), has_nan))
    return relax.sum(greater, axis=[1])


ENTRIES = (
    gather,
    unique,
    compress,
    gather_elements,
    gather_nd,
    Entry("Scatter", (9, 11), _scatter_elements),
    Entry("ScatterElements", (11, 13, 16, 18), _scatter_elements),
    scatter_nd,
    one_hot,
)
