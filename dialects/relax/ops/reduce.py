"""Reductions, arg-reductions, top-k, and running sums and products."""

import numpy as np

from legato.core.errors import InferenceError, LegatoError
from legato.dialects.relax.attributes import Bool, Int, Ints, OneSize
from legato.dialects.relax.axes import axes_of, axis_of
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import ANY, NUMBER, Operand, RelaxOp
from legato.dialects.relax.ops.binary import truncating_divide
from legato.dialects.relax.types import TensorType


def _wide(x: np.ndarray) -> np.dtype:
    """The accumulator type of sums: f64 for floats, so that the reference is exact to a bit or two; integers wrap in their own type."""
    return np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype


def _sum(x, axis, keepdims):
    return np.asarray(x.sum(axis=axis, keepdims=keepdims, dtype=_wide(x))).astype(x.dtype)


def _mean(x, axis, keepdims):
    count = int(np.prod([x.shape[a] for a in axis], dtype=np.int64))
    total = np.asarray(x.sum(axis=axis, keepdims=keepdims, dtype=np.float64 if x.dtype.kind == "f" else np.int64))
    return (total / count if x.dtype.kind == "f" else truncating_divide(total, np.int64(count))).astype(x.dtype)


def _prod(x, axis, keepdims):
    return np.asarray(x.prod(axis=axis, keepdims=keepdims, dtype=_wide(x))).astype(x.dtype)


def _limits(dtype):
    if dtype.kind == "b":
        return False, True
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)


def _max(x, axis, keepdims):
    return x.max(axis=axis, keepdims=keepdims, initial=_limits(x.dtype)[0])


def _min(x, axis, keepdims):
    return x.min(axis=axis, keepdims=keepdims, initial=_limits(x.dtype)[1])


def reduced(x: TensorType, axes: list[int], keepdims: bool) -> TensorType:
    """x with some axes reduced to size 1, or removed."""
    if keepdims:
        return x.with_dims(1 if a in axes else size for a, size in enumerate(x.dims))
    return x.with_dims(size for a, size in enumerate(x.dims) if a not in axes)


def _reduction(name, summary, compute, kinds=NUMBER):
    def result_type(x: TensorType, axis, keepdims) -> TensorType:
        return reduced(x, axes_of(axis, x.rank), keepdims)

    def normalized(x, axis, keepdims):
        return compute(x, tuple(axes_of(axis, x.ndim)), keepdims)

    text = example(name, "%x", "axis = array<i64: 1>, keepdims = true", "tensor<2x3x4xf32>", "tensor<2x1x4xf32>")
    summary += "\n\n`axis` lists axes; without it all are reduced. An axis of length 0 gives the neutral element."
    define(name, summary, {"x": Operand(kinds)}, normalized, result_type, text, axis=Ints(None), keepdims=Bool(False))


_reduction("sum", "The sum over some axes; integers wrap around.", _sum)
_reduction("mean", "The mean over some axes; that of integers is truncated.", _mean)
_reduction("prod", "The product over some axes; integers wrap around.", _prod)
_reduction("max", "The greatest element over some axes; NaN if one is NaN.", _max, ANY)
_reduction("min", "The least element over some axes; NaN if one is NaN.", _min, ANY)


def _arg(name, summary, function):
    def result_type(x: TensorType, axis, keepdims, select_last) -> TensorType:
        axis = axis_of(axis, x.rank)
        if x.dims[axis] == 0:
            raise InferenceError(f"axis {axis} of x has size 0: there is no element to find")
        return reduced(x, [axis], keepdims).with_dtype(np.int64)

    def compute(x, axis, keepdims, select_last):
        axis = axis_of(axis, x.ndim)
        found = function(np.flip(x, axis) if select_last else x, axis=axis, keepdims=keepdims)
        return np.asarray(x.shape[axis] - 1 - found if select_last else found, np.int64)

    text = example(name, "%x", "axis = 1 : i64", "tensor<2x3xf32>", "tensor<2xi64>")
    define(name, summary, {"x": Operand(NUMBER)}, compute, result_type, text, axis=Int(), keepdims=Bool(False), select_last=Bool(False))


_arg("argmax", "The index of the greatest element along an axis: the first of equal ones, or with `select_last` the last.", np.argmax)
_arg("argmin", "The index of the least element along an axis: the first of equal ones, or with `select_last` the last.", np.argmin)


class Topk(RelaxOp, name="topk"):
    """The indices of the `k` greatest elements along an axis, in descending order; with `largest = false` of the least, ascending.

    Equal elements keep their order; a NaN is greater than every number. `gather_elements` fetches the elements themselves.

    ```mlir
    %y = "relax.topk"(%x) {axis = 1 : i64, k = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x2xi64>
    ```
    """

    x = Operand(NUMBER)
    k = OneSize()
    axis = Int(-1)
    largest = Bool(True)

    @staticmethod
    def result_type(x: TensorType, k, axis, largest) -> TensorType:
        axis = axis_of(axis, x.rank)
        size = x.dims[axis]
        if isinstance(k, int) and (k < 0 or (isinstance(size, int) and k > size)):
            raise InferenceError(f"attribute 'k' is {k}, expected from 0 to {size}, the size of axis {axis}")
        return x.with_dims((*x.dims[:axis], k, *x.dims[axis + 1 :])).with_dtype(np.int64)

    @staticmethod
    def compute(x, k, axis, largest):
        if k > x.shape[axis]:
            raise LegatoError(f"k is {k}, more than the {x.shape[axis]} elements of axis {axis}")
        if largest:  # sort the reversed axis, so that equal elements keep their order
            order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        else:
            order = np.argsort(x, axis, kind="stable")
        return order.take(range(k), axis).astype(np.int64)


def _cumulative(name: str, summary: str, accumulate, neutral: int):
    def result_type(x: TensorType, axis, exclusive, reverse) -> TensorType:
        axis_of(axis, x.rank)
        return x

    def compute(x, axis, exclusive, reverse):
        ordered = np.flip(x, axis) if reverse else x
        results = accumulate(ordered, axis=axis, dtype=_wide(x))
        if exclusive:
            results = np.roll(results, 1, axis=axis)
            results[(slice(None),) * axis_of(axis, x.ndim) + (slice(0, 1),)] = neutral
        return (np.flip(results, axis) if reverse else results).astype(x.dtype)

    text = example(name, "%x", "axis = 1 : i64, exclusive = true", "tensor<2x3xf32>", "tensor<2x3xf32>")
    summary += "; `exclusive` leaves the element itself out, `reverse` runs from the end."
    define(name, summary, {"x": Operand(NUMBER)}, compute, result_type, text, axis=Int(), exclusive=Bool(False), reverse=Bool(False))


_cumulative("cumsum", "Running sums along an axis", np.cumsum, 0)
_cumulative("cumprod", "Running products along an axis", np.cumprod, 1)
