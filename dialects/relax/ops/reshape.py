"""Ops that change the shape: reshape, permute_dims, expand_dims, squeeze, broadcast_to, dynamic_broadcast_to, tile."""

from collections.abc import Callable, Sequence

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.attributes import Ints, Shape
from legato.dialects.relax.axes import axes_of, check_length
from legato.dialects.relax.dims import Size, floor_divide, product
from legato.dialects.relax.op import MOVED, Operand, RelaxOp
from legato.dialects.relax.types import TensorType, broadcast


class Reshape(RelaxOp, name="reshape"):
    """The same elements in the same order, in another shape; one size may be -1 and is inferred.

    ```mlir
    %y = "relax.reshape"(%x) {shape = #relax.dims<["n", 12, 64]>}
        : (tensor<?x768xf32, #relax.dims<["n", 768]>>) -> tensor<?x12x64xf32, #relax.dims<["n", 12, 64]>>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    shape = Shape()

    @staticmethod
    def result_type(x: TensorType, shape) -> TensorType:
        sizes, total = list(shape), product(x.dims)
        if any(isinstance(s, int) and s < -1 for s in sizes) or sizes.count(-1) > 1:
            raise InferenceError(f"attribute 'shape' is {sizes}, expected sizes of 0 or more, and at most one -1")
        if -1 in sizes:
            rest = product(s for s in sizes if s != -1)
            if rest == 0:
                raise InferenceError(f"attribute 'shape' is {sizes}: beside a size of 0, -1 could be anything")
            resolved = [floor_divide(total, rest) if size == -1 else size for size in sizes]
            if not assume_equal(product(resolved), total, f"the number of elements of x, {list(x.dims)}, for the shape {sizes}"):
                raise InferenceError(f"attribute 'shape' is {sizes}: x has {total} elements ({list(x.dims)}), which {rest} does not divide")
            sizes = resolved
        elif not assume_equal(product(sizes), total, f"the number of elements of x, {list(x.dims)}"):
            raise InferenceError(f"attribute 'shape' is {sizes}, {product(sizes)} elements, but x has {total}: {list(x.dims)}")
        return x.with_dims(sizes)

    @staticmethod
    def compute(x, shape):
        return x.reshape(shape)


class PermuteDims(RelaxOp, name="permute_dims"):
    """The axes in another order: axis i of the result is axis `axes[i]` of x.

    ```mlir
    %y = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    axes = Ints()

    @staticmethod
    def result_type(x: TensorType, axes) -> TensorType:
        check_length(axes, x.rank, "axes", "one per axis of x")
        return x.with_dims(x.dims[a] for a in axes_of(axes, x.rank, "axes"))

    @staticmethod
    def compute(x, axes):
        return x.transpose(axes)


class ExpandDims(RelaxOp, name="expand_dims"):
    """x with axes of size 1 inserted; `axis` lists their positions in the result.

    ```mlir
    %y = "relax.expand_dims"(%x) {axis = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<1x2x1x3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    axis = Ints()

    @staticmethod
    def result_type(x: TensorType, axis) -> TensorType:
        rank = x.rank + len(axis)
        places, sizes = axes_of(axis, rank), iter(x.dims)
        return x.with_dims(1 if a in places else next(sizes) for a in range(rank))

    @staticmethod
    def compute(x, axis):
        return np.expand_dims(x, tuple(axis))


class Squeeze(RelaxOp, name="squeeze"):
    """x without some axes of size 1.

    ```mlir
    %y = "relax.squeeze"(%x) {axis = array<i64: 0>} : (tensor<1x3xf32>) -> tensor<3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    axis = Ints()

    @staticmethod
    def result_type(x: TensorType, axis) -> TensorType:
        places = axes_of(axis, x.rank)
        for place in places:
            if not assume_equal(x.dims[place], 1, f"the size of axis {place} of x, which is taken away"):
                raise InferenceError(f"attribute 'axis' is {axis}, but axis {place} of x has size {x.dims[place]}, expected 1")
        return x.with_dims(size for a, size in enumerate(x.dims) if a not in places)

    @staticmethod
    def compute(x, axis):
        return np.squeeze(x, tuple(axis))


class BroadcastTo(RelaxOp, name="broadcast_to"):
    """x repeated along new leading axes, and along axes where it has size 1, to a given shape.

    ```mlir
    %y = "relax.broadcast_to"(%x) {shape = #relax.dims<[2, 4, 3]>} : (tensor<4x1xf32>) -> tensor<2x4x3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    shape = Shape()

    @staticmethod
    def result_type(x: TensorType, shape) -> TensorType:
        _check_sizes(shape)
        broadcast(x.dims, tuple(shape))
        _check_broadcast(x, shape, _broadcasts)
        return x.with_dims(shape)

    @staticmethod
    def compute(x, shape):
        return np.broadcast_to(x, shape)


def _check_sizes(shape: Sequence[Size]) -> None:
    if any(isinstance(s, int) and s < 0 for s in shape):
        raise InferenceError(f"attribute 'shape' is {list(shape)}, expected sizes of 0 or more")


def _check_broadcast(x: TensorType, shape: Sequence[Size], fits: Callable[[Size, Size, Sequence[Size]], bool]) -> None:
    """InferenceError unless x has no more axes than the shape, and each of its sizes fits that of the shape at its axis. All are asked,
    since asking may assume an equality."""
    if x.rank > len(shape) or not all([fits(size, wanted, shape) for size, wanted in zip(x.dims, shape[len(shape) - x.rank:])]):
        raise InferenceError(f"attribute 'shape' is {list(shape)}, to which x of {list(x.dims)} does not broadcast")


def _broadcasts(size: Size, wanted: Size, shape: Sequence[Size]) -> bool:
    """Whether a size is 1, or may be the wanted one."""
    return size == 1 or assume_equal(size, wanted, f"that of {list(shape)}")


class DynamicBroadcastTo(RelaxOp, name="dynamic_broadcast_to"):
    """x repeated to a given shape, where only a call can tell along which axes: those where x has size 1 then.

    `broadcast_to` takes no symbol for 1: a symbolic size of x has to be that of the shape.

    ```mlir
    %y = "relax.dynamic_broadcast_to"(%x) {shape = #relax.dims<[3, 4]>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<3x4xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    shape = Shape()

    @staticmethod
    def result_type(x: TensorType, shape) -> TensorType:
        _check_sizes(shape)
        _check_broadcast(x, shape, _may_broadcast)
        return x.with_dims(shape)

    @staticmethod
    def compute(x, shape):
        return np.broadcast_to(x, shape)


def _may_broadcast(size: Size, wanted: Size, _: Sequence[Size]) -> bool:
    """Whether a size is 1 or the wanted one, or may be at a call."""
    if not isinstance(size, int):
        return True
    return size == 1 or assume_equal(wanted, size, "the size of x, which is not 1")


class Tile(RelaxOp, name="tile"):
    """x repeated `repeats` times along each axis.

    ```mlir
    %y = "relax.tile"(%x) {repeats = #relax.dims<[1, 2]>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    repeats = Shape()

    @staticmethod
    def result_type(x: TensorType, repeats) -> TensorType:
        check_length(repeats, x.rank, "repeats", "one per axis of x")
        if any(isinstance(r, int) and r < 0 for r in repeats):
            raise InferenceError(f"attribute 'repeats' is {list(repeats)}, expected values of 0 or more")
        return x.with_dims(0 if 0 in (size, r) else size * r for size, r in zip(x.dims, repeats))

    @staticmethod
    def compute(x, repeats):
        return np.tile(x, repeats)
