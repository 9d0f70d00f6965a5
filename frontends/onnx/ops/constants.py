"""Ops that create tensors: constants, ranges, and indices of nonzero elements."""
import math

import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Dim
from legato.frontends.onnx import run_time
from legato.frontends.onnx.differences import difference
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.folding import is_at_least
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import MADE_ELEMENTS, ConstantValue

_VALUES = ("value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
STORED_BYTES = 1 << 30   # larger constants of one value are filled at run time


@op("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(node):
    """Constant, of a tensor, floats or ints."""
    given = [name for name in _VALUES if node.has(name)]
    if len(given) > 1:
        raise Malformed(f"it has several values: {', '.join(given)}")
    if node.has("value"):
        return node.tensor("value")
    if node.has("value_float"):
        return np.array(node.number("value_float"), np.float32)
    if node.has("value_floats"):
        return np.array(node.numbers("value_floats"), np.float32)
    if node.has("value_int"):
        return np.array(node.integer("value_int"), np.int64)
    if node.has("value_ints"):
        return np.array(node.integers("value_ints"), np.int64)
    if node.has("sparse_value"):
        return node.sparse_tensor("sparse_value")
    if not given:
        raise Malformed(f"it has no value: it needs one of the attributes {', '.join(_VALUES)}")
    raise Refused("only tensors, floats and ints are supported as constants, no strings")


@op("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(node):
    """ConstantOfShape: a broadcast constant; its shape may have symbols."""
    value = node.tensor("value").array if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        raise Malformed(f"its value must be one element, has the shape {list(value.shape)}")
    shape = run_time.symbols(node, run_time.integers(node, 0, "sizes"), "shape") if node.by_data(0) else node.sizes(0, "the shape")
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise Malformed(f"there is no tensor of the shape {shape}")
    known = [size for size in shape if isinstance(size, int)]
    if len(known) < len(shape) or math.prod(known) * value.itemsize > STORED_BYTES:
        return relax.broadcast_to(node.literal(value.reshape(())), shape=shape)
    return ConstantValue(node.name, np.broadcast_to(value.reshape(()), known))  # a view of one element


@op("EyeLike", 9, 22)
def eye_like(node):
    """EyeLike."""
    dtype = dtype_of(node.integer("dtype")) if node.has("dtype") else node.dtype()
    sizes = node.dims()
    if len(sizes) != 2:
        raise Malformed(f"its input must have two axes, has the shape {list(sizes)}")
    if not all(isinstance(size, int) for size in sizes) or math.prod(sizes) > MADE_ELEMENTS:
        rows = relax.expand_dims(run_time.counted(sizes[0], start=node.integer("k", 0)), axis=[1])
        return _in(relax.equal(rows, relax.expand_dims(run_time.counted(sizes[1]), axis=[0])), np.dtype(dtype))
    return np.eye(*sizes, k=node.integer("k", 0), dtype=dtype)


@op("Range", 11, 27)
def range_(node):
    """Range. With symbolic sizes it is ``relax.arange``."""
    if node.version >= 27:
        node.only("stash_type", 1)
    dtype = node.dtype()
    if node.by_data(0, 1, 2) or isinstance(_one(node, 2), Dim):
        return _range_by_data(node)
    given = [node.known(index, what) for index, what in enumerate(("the start", "the limit", "the delta"))]
    if any(array.size != 1 for array in given):
        raise Malformed(f"its start, limit and delta are scalars, and have the shapes {', '.join(str(list(a.shape)) for a in given)}")
    start, limit, delta = (array.item() for array in given)
    if delta == 0:
        raise Malformed("its delta is 0")
    if not any(isinstance(value, Dim) for value in (start, limit, delta)):
        spans = limit - start, delta
        count = max(-(-spans[0] // delta) if all(isinstance(span, int) for span in spans) else math.ceil(spans[0] / delta), 0)
        if count <= MADE_ELEMENTS:
            wide = np.float64 if kind(dtype) == "float" else np.int64
            return (np.arange(count, dtype=wide) * wide(delta) + wide(start)).astype(dtype)
    else:
        count = dims.steps_between(start, limit, delta)
    return relax.arange(relax.reshape(node.x(0), shape=[]), node.literal(delta, dtype), shape=[count])


def _one(node, index: int):
    """The only element of a known input, which may be a size; None if it has others."""
    array = node.known(index, "a number")
    return array.item() if array.size == 1 else None


def _range_by_data(node):
    """Range of a length that is data, or by a delta that is a size, in f64 or int64: its elements are computed as those of a constant."""
    wide = np.dtype(np.float64) if kind(node.dtype()) == "float" else np.dtype(np.int64)
    start, limit, delta = (relax.reshape(_in(node.x(i), wide), shape=[1]) for i in range(3))
    length = _length(node, start, limit)
    if length is not None:
        return _in(relax.arange(relax.reshape(start, shape=[]), run_time.literal(1), shape=[length]), node.dtype())
    zero = node.literal(0, wide)
    is_zero = relax.equal(delta, zero)
    step = relax.where(is_zero, node.literal(1, wide), delta)
    if kind(wide) == "float":
        steps = relax.astype(relax.ceil(relax.divide(relax.subtract(limit, start), step)), dtype=run_time.I64)
    else:
        steps = _whole_steps(node, start, limit, step)
    steps = relax.where(is_zero, run_time.literal(-1), relax.maximum(steps, run_time.literal(0)))
    (length,) = run_time.symbols(node, steps, "length")
    return _in(relax.arange(*(relax.reshape(x, shape=[]) for x in (start, delta)), shape=[length]), node.dtype())


def _whole_steps(node, start, limit, step):
    """How many steps lead from one integer of 64 bits to another: their difference may need all of these, without a sign."""
    wide, zero, one = np.dtype(np.uint64), run_time.literal(0), node.literal(1, np.dtype(np.uint64))
    is_upward = relax.greater(step, zero)
    first, last = relax.where(is_upward, start, limit), relax.where(is_upward, limit, start)
    difference, size = _in(relax.subtract(last, first), wide), _in(relax.where(is_upward, step, relax.negative(step)), wide)
    steps = relax.add(relax.floor_divide(relax.subtract(difference, one), size), one)
    counted = _in(relax.minimum(steps, node.literal(np.iinfo(np.int64).max, wide)), run_time.I64)
    return relax.where(relax.less(first, last), counted, zero)


def _length(node, start, limit) -> dims.Size | None:
    """The length of integers that count up one by one from data, where it depends on sizes alone: that of ``range(at, at + n)`` is n."""
    known = node.value(2).known()
    if known is None or known.size != 1 or known.item() != 1 or kind(node.dtype()) == "float":
        return None
    length = difference(limit, start)
    return length if length is None or is_at_least(length, 0) else dims.maximum(length, 0)


def _in(x, dtype: np.dtype):
    """A tensor with another element type."""
    return x if relax.TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


def _fold_nonzero(node, data):
    return None if data.dtype == object else np.array(np.nonzero(data), np.int64).reshape(data.ndim, -1)


@op("NonZero", 9, 13, fold=_fold_nonzero)
def nonzero(node):
    """NonZero, whose number of columns is a new symbol."""
    if node.rank() == 0:
        raise Refused("of a scalar it gives a tensor without rows")
    return relax.nonzero(node.x(0))


ENTRIES = (constant, constant_of_shape, eye_like, range_, nonzero)
