"""Reading and writing by index: take, gather_elements, gather_nd, gather_weighted, one_hot, scatter_elements,
scatter_nd."""

import math
from collections.abc import Iterable

import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError, LegatoError, StaticSizeError
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.attributes import DType, Int, OneSize, Str
from legato.dialects.relax.axes import axis_of
from legato.dialects.relax.dims import Size, product
from legato.dialects.relax.op import FLOAT, INTEGER, MOVED, Operand, RelaxOp
from legato.dialects.relax.types import TensorType

_REDUCTIONS = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _wrapped(indices: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Indices counted from the front. LegatoError if one is out of range."""
    indices = indices.astype(np.int64)
    outside = indices[(indices < -size) | (indices >= size)]
    if outside.size:
        raise LegatoError(f"index {outside.flat[0]} lies outside axis {axis} of size {size}")
    return np.where(indices < 0, indices + size, indices)


def _places(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> tuple:
    """The full index for each of the indices along one axis."""
    grid = list(np.ogrid[tuple(slice(0, n) for n in indices.shape)])
    grid[axis] = _wrapped(indices, shape[axis], axis)
    return tuple(grid)


def _check_filled(x: TensorType, axes: Iterable[int], count: Size) -> None:
    """InferenceError where some elements are indexed along an axis that has none."""
    for axis in axes:
        if x.dims[axis] == 0 and isinstance(count, int) and count > 0:
            raise InferenceError(f"axis {axis} of operand 'x' has no elements, and there are {count} indices into it")


class Take(RelaxOp, name="take"):
    """The slices of x at integer indices along an axis; the axis is replaced by the axes of `indices`.

    Negative indices count from the end; results for indices out of range are undefined.

    ```mlir
    %y = "relax.take"(%x, %indices) : (tensor<100x16xf32>, tensor<2x7xi64>) -> tensor<2x7x16xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    indices = Operand(INTEGER, own_dtype=True)
    axis = Int(0)

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, axis) -> TensorType:
        axis = axis_of(axis, x.rank)
        _check_filled(x, [axis], product(indices.dims))
        return x.with_dims((*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :]))

    @staticmethod
    def compute(x, indices, axis):
        axis = axis_of(axis, x.ndim)
        return np.take(x, _wrapped(indices, x.shape[axis], axis), axis=axis)


class GatherElements(RelaxOp, name="gather_elements"):
    """Elements of x: each is at the position of its index, with the coordinate along the axis replaced by the index.

    The result has the indices' shape.

    ```mlir
    %y = "relax.gather_elements"(%x, %indices) {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    indices = Operand(INTEGER, own_dtype=True)
    axis = Int(0)

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, axis) -> TensorType:
        _check_elements(x, indices, axis)
        return x.with_dims(indices.dims)

    @staticmethod
    def compute(x, indices, axis):
        return x[_places(indices, x.shape, axis_of(axis, x.ndim))]


def _check_elements(x: TensorType, indices: TensorType, axis: int) -> None:
    axis = axis_of(axis, x.rank)
    if indices.rank != x.rank:
        raise InferenceError(f"operand 'indices' must have x's rank {x.rank}, has {list(indices.dims)}")
    for a, (size, count) in enumerate(zip(x.dims, indices.dims)):
        if a != axis and isinstance(size, int) and isinstance(count, int) and count > size:
            raise InferenceError(f"operand 'indices' has {count} elements along axis {a}, more than x's {size}")
    _check_filled(x, [axis], product(indices.dims))


class GatherNd(RelaxOp, name="gather_nd"):
    """The elements or slices of x at tuples of indices.

    Each row of the last axis of `indices` is a tuple, for the axes of x after `batch_dims` leading ones, which x and indices share.

    ```mlir
    %y = "relax.gather_nd"(%x, %indices) : (tensor<4x5x6xf32>, tensor<3x2xi64>) -> tensor<3x6xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    indices = Operand(INTEGER, own_dtype=True)
    batch_dims = Int(0)

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, batch_dims) -> TensorType:
        depth = _index_depth(x, indices, batch_dims)
        for a in range(batch_dims):
            if not assume_equal(x.dims[a], indices.dims[a], f"that of indices at axis {a}"):
                raise InferenceError(f"x and indices must agree on batch axis {a}, have {x.dims[a]} and {indices.dims[a]}")
        return x.with_dims((*indices.dims[:-1], *x.dims[batch_dims + depth :]))

    @staticmethod
    def compute(x, indices, batch_dims):
        batch, each = math.prod(x.shape[:batch_dims]), math.prod(indices.shape[batch_dims:-1])
        flat_x = x.reshape(batch, *x.shape[batch_dims:])
        flat_indices = indices.reshape(batch, each, indices.shape[-1])
        places = [_wrapped(flat_indices[..., i], x.shape[batch_dims + i], batch_dims + i) for i in range(indices.shape[-1])]
        rows = np.arange(batch)[:, None]
        return flat_x[(rows, *places)].reshape((*indices.shape[:-1], *x.shape[batch_dims + indices.shape[-1] :]))


def _index_depth(x: TensorType, indices: TensorType, batch_dims: int) -> int:
    """The number of axes of x that a tuple of indices covers."""
    if indices.rank == 0:
        raise InferenceError("operand 'indices' must have rank 1 or more, is a scalar")
    if not 0 <= batch_dims < indices.rank or batch_dims > x.rank:
        raise InferenceError(f"attribute 'batch_dims' is {batch_dims}, expected from 0 to less than the ranks, {x.rank} and {indices.rank}")
    depth = indices.dims[-1]
    if not isinstance(depth, int):
        raise StaticSizeError(f"the last axis of indices must have a static size, has {depth}")
    if not 1 <= depth <= x.rank - batch_dims:
        most = x.rank - batch_dims
        raise InferenceError(f"the last axis of indices has size {depth}, expected from 1 to {most}, x's axes after the batch")
    _check_filled(x, range(batch_dims, batch_dims + depth), product(indices.dims[:-1]))
    return depth


class GatherWeighted(RelaxOp, name="gather_weighted"):
    """Weighted sums of rows of x: what samplings between rows are. Each place has `taps` indices of rows, and their weights.

    Negative indices count from the end; results for indices out of range are undefined. Indices and weights of a batch of 1 are those of
    all batches of x.

    ```mlir
    %y = "relax.gather_weighted"(%x, %indices, %weights)
        : (tensor<2x9x16xf32>, tensor<2x4x7xi64>, tensor<2x4x7xf32>) -> tensor<2x7x16xf32>
    ```
    """

    PROMOTES = False
    x = Operand(FLOAT, "[batch, rows, width]")
    indices = Operand(INTEGER, "of rows, [batch, taps, places], or of a batch of 1", own_dtype=True)
    weights = Operand(FLOAT, "of the shape of indices", own_dtype=True)

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, weights: TensorType) -> TensorType:
        for name, operand in (("x", x), ("indices", indices), ("weights", weights)):
            if operand.rank != 3:
                raise InferenceError(f"operand '{name}' must have rank 3, has {list(operand.dims)}")
        if not _all_equal(weights, indices.dims):
            raise InferenceError(f"operand 'weights' must have the shape {list(indices.dims)} of indices, has {list(weights.dims)}")
        if indices.dims[0] != 1 and not assume_equal(x.dims[0], indices.dims[0], "that of indices at axis 0"):
            raise InferenceError(f"x and indices must agree on axis 0, have {x.dims[0]} and {indices.dims[0]}")
        _check_filled(x, [1], product(indices.dims))
        return x.with_dims((x.dims[0], indices.dims[2], x.dims[2]))

    @staticmethod
    def compute(x, indices, weights):
        kind = np.float32 if x.dtype.itemsize == 2 else x.dtype.type
        found = x[np.arange(len(x))[:, None, None], _wrapped(indices, x.shape[1], 1)].astype(kind)
        return (found * weights.astype(kind)[..., None]).sum(1, dtype=kind).astype(x.dtype)


class OneHot(RelaxOp, name="one_hot"):
    """1 at each index along a new axis of size `depth`, 0 elsewhere. Negative indices count from the end; those out of range give zeros.

    ```mlir
    %y = "relax.one_hot"(%indices) {depth = 5 : i64, dtype = f32} : (tensor<2x3xi64>) -> tensor<2x3x5xf32>
    ```
    """

    indices = Operand(INTEGER)
    depth = OneSize()
    axis = Int(-1)
    dtype = DType(np.dtype(np.float32))

    @staticmethod
    def result_type(indices: TensorType, depth, axis, dtype) -> TensorType:
        if isinstance(depth, int) and depth < 0:
            raise InferenceError(f"attribute 'depth' is {depth}, expected 0 or more")
        axis = axis_of(axis, indices.rank + 1)
        return TensorType((*indices.dims[:axis], depth, *indices.dims[axis:]), dtype)

    @staticmethod
    def compute(indices, depth, axis, dtype):
        axis = axis_of(axis, indices.ndim + 1)
        indices = np.expand_dims(indices.astype(np.int64), axis)
        steps = np.arange(depth).reshape([depth if a == axis else 1 for a in range(indices.ndim)])
        return ((steps == indices) | (steps == indices + depth)).astype(dtype)


class ScatterElements(RelaxOp, name="scatter_elements"):
    """x with each element of `updates` stored at its own position, with the coordinate along the axis replaced by its index.

    `reduction` combines it with the element there. Without a reduction no two updates may have the same target.

    ```mlir
    %y = "relax.scatter_elements"(%x, %indices, %updates) {axis = 1 : i64, reduction = "add"}
        : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>
    ```
    """

    x = Operand(MOVED)
    indices = Operand(INTEGER, own_dtype=True)
    updates = Operand(MOVED)
    axis = Int(0)
    reduction = Str("none", tuple(_REDUCTIONS))

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, updates: TensorType, axis, reduction) -> TensorType:
        _check_reduction(x, reduction)
        _check_elements(x, indices, axis)
        if updates.rank != indices.rank or not _all_equal(updates, indices.dims):
            raise InferenceError(f"operand 'updates' must have the shape of indices, {list(indices.dims)}, has {list(updates.dims)}")
        return x

    @staticmethod
    def compute(x, indices, updates, axis, reduction):
        return _scatter(x, _places(indices, x.shape, axis_of(axis, x.ndim)), updates, reduction)


class ScatterNd(RelaxOp, name="scatter_nd"):
    """x with elements or slices of `updates` stored at tuples of indices, or combined by `reduction` with what is there.

    Each row of the last axis of `indices` is a tuple. Without a reduction no two may be equal.

    ```mlir
    %y = "relax.scatter_nd"(%x, %indices, %updates) : (tensor<4x6xf32>, tensor<3x1xi64>, tensor<3x6xf32>) -> tensor<4x6xf32>
    ```
    """

    x = Operand(MOVED)
    indices = Operand(INTEGER, own_dtype=True)
    updates = Operand(MOVED)
    reduction = Str("none", tuple(_REDUCTIONS))

    @staticmethod
    def result_type(x: TensorType, indices: TensorType, updates: TensorType, reduction) -> TensorType:
        _check_reduction(x, reduction)
        depth = _index_depth(x, indices, 0)
        expected = (*indices.dims[:-1], *x.dims[depth:])
        if updates.rank != len(expected) or not _all_equal(updates, expected):
            raise InferenceError(f"operand 'updates' must have the shape {list(expected)}, has {list(updates.dims)}")
        return x

    @staticmethod
    def compute(x, indices, updates, reduction):
        return _scatter(x, tuple(_wrapped(indices[..., i], x.shape[i], i) for i in range(indices.shape[-1])), updates, reduction)


def _check_reduction(x: TensorType, reduction: str) -> None:
    if reduction != "none" and dtypes.kind(x.dtype) == "narrow":
        raise InferenceError(f"attribute 'reduction' is '{reduction}', but nothing computes in {dtypes.spelling(x.dtype)}")


def _all_equal(updates: TensorType, expected) -> bool:
    """Whether updates have, or may have, the sizes that are expected."""
    return all([assume_equal(a, b, f"that of indices and x at axis {axis}") for axis, (a, b) in enumerate(zip(updates.dims, expected))])


def _scatter(x: np.ndarray, places: tuple, updates: np.ndarray, reduction: str) -> np.ndarray:
    y, combine = x.copy(), _REDUCTIONS[reduction]
    if combine is None:
        y[places] = updates
    else:
        combine.at(y, places, updates)
    return y
