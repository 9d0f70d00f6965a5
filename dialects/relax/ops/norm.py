"""Normalizations and softmax."""

import math

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_divides, assume_equal
from legato.dialects.relax.attributes import Float, Int, Ints
from legato.dialects.relax.axes import axes_of, axis_of
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import FLOAT, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


def _check_parameters(expected: tuple, where: str, **parameters: TensorType) -> None:
    for name, parameter in parameters.items():
        fits = [assume_equal(a, b, f"the size of x, {where}") for a, b in zip(parameter.dims, expected)]
        if parameter.rank != len(expected) or not all(fits):
            raise InferenceError(f"operand '{name}' must have the shape {list(expected)}, {where}, has {list(parameter.dims)}")


def _check_channels(x: TensorType, axis: int, **parameters: TensorType) -> None:
    if x.rank <= axis:
        raise InferenceError(f"operand 'x' must have rank {axis + 1} or more, has {list(x.dims)}")
    _check_parameters((x.dims[axis],), "the channels of x", **parameters)


def _along(parameter: np.ndarray, rank: int, axes: list[int]) -> np.ndarray:
    """The parameter, shaped to broadcast along some axes of a tensor."""
    shape = [1] * rank
    for axis, size in zip(sorted(axes), parameter.shape):
        shape[axis] = size
    return parameter.reshape(shape)


def _normalized(x: np.ndarray, axes, epsilon: float) -> np.ndarray:
    centered = x - _mean(x, axes)
    return centered / np.sqrt(_mean(np.square(centered), axes) + x.dtype.type(epsilon))


def _mean(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The mean over some axes, kept as size 1; NaN over no elements, without numpy's warning."""
    return x.sum(axis=axes, keepdims=True) / x.dtype.type(math.prod(x.shape[a] for a in axes))


class LayerNorm(RelaxOp, name="layer_norm"):
    """x minus its mean over some axes, divided by its standard deviation there, times gamma, plus beta.

    gamma and beta have the sizes of those axes, in the order of x's.

    ```mlir
    %y = "relax.layer_norm"(%x, %gamma, %beta) {epsilon = 1.0e-12 : f64}
        : (tensor<2x7x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x7x16xf32>
    ```
    """

    x = Operand(FLOAT)
    gamma = Operand(FLOAT)
    beta = Operand(FLOAT)
    axes = Ints([-1])
    epsilon = Float(1e-5)

    @staticmethod
    def result_type(x: TensorType, gamma: TensorType, beta: TensorType, axes, epsilon) -> TensorType:
        found = sorted(axes_of(axes, x.rank, "axes"))
        _check_parameters(tuple(x.dims[a] for a in found), f"the axes {found} of x", gamma=gamma, beta=beta)
        return x

    @staticmethod
    def compute(x, gamma, beta, axes, epsilon):
        axes = axes_of(axes, x.ndim)
        return _normalized(x, tuple(axes), epsilon) * _along(gamma, x.ndim, axes) + _along(beta, x.ndim, axes)


class RmsNorm(RelaxOp, name="rms_norm"):
    """x divided by the root of its mean square over some axes, times gamma.

    ```mlir
    %y = "relax.rms_norm"(%x, %gamma) : (tensor<2x7x16xf32>, tensor<16xf32>) -> tensor<2x7x16xf32>
    ```
    """

    x = Operand(FLOAT)
    gamma = Operand(FLOAT)
    axes = Ints([-1])
    epsilon = Float(1e-5)

    @staticmethod
    def result_type(x: TensorType, gamma: TensorType, axes, epsilon) -> TensorType:
        found = sorted(axes_of(axes, x.rank, "axes"))
        _check_parameters(tuple(x.dims[a] for a in found), f"the axes {found} of x", gamma=gamma)
        return x

    @staticmethod
    def compute(x, gamma, axes, epsilon):
        axes = axes_of(axes, x.ndim)
        return x / np.sqrt(_mean(np.square(x), tuple(axes)) + x.dtype.type(epsilon)) * _along(gamma, x.ndim, axes)


class BatchNorm(RelaxOp, name="batch_norm"):
    """Inference form: (x - mean) / sqrt(var + epsilon) * gamma + beta, each parameter one value per channel.

    ```mlir
    %y = "relax.batch_norm"(%x, %gamma, %beta, %mean, %var)
        : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
    ```
    """

    x = Operand(FLOAT)
    gamma = Operand(FLOAT)
    beta = Operand(FLOAT)
    mean = Operand(FLOAT)
    var = Operand(FLOAT)
    axis = Int(1)
    epsilon = Float(1e-5)

    @staticmethod
    def result_type(x, gamma, beta, mean, var, axis, epsilon) -> TensorType:
        _check_channels(x, axis_of(axis, x.rank), gamma=gamma, beta=beta, mean=mean, var=var)
        return x

    @staticmethod
    def compute(x, gamma, beta, mean, var, axis, epsilon):
        axes = [axis_of(axis, x.ndim)]
        gamma, beta, mean, var = (_along(p, x.ndim, axes) for p in (gamma, beta, mean, var))
        return (x - mean) / np.sqrt(var + x.dtype.type(epsilon)) * gamma + beta


class InstanceNorm(RelaxOp, name="instance_norm"):
    """Each channel of each example normalized over its spatial axes.

    x is [N, C, spatial...]; gamma and beta have one value per channel.

    ```mlir
    %y = "relax.instance_norm"(%x, %gamma, %beta) : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
    ```
    """

    x = Operand(FLOAT)
    gamma = Operand(FLOAT)
    beta = Operand(FLOAT)
    epsilon = Float(1e-5)

    @staticmethod
    def result_type(x, gamma, beta, epsilon) -> TensorType:
        if x.rank < 3:
            raise InferenceError(f"operand 'x' must have rank 3 or more, has {list(x.dims)}")
        _check_channels(x, 1, gamma=gamma, beta=beta)
        return x

    @staticmethod
    def compute(x, gamma, beta, epsilon):
        return _normalized(x, tuple(range(2, x.ndim)), epsilon) * _along(gamma, x.ndim, [1]) + _along(beta, x.ndim, [1])


class GroupNorm(RelaxOp, name="group_norm"):
    """Groups of channels of each example normalized over channels and spatial axes.

    x is [N, C, spatial...]; gamma and beta have one value per channel.

    ```mlir
    %y = "relax.group_norm"(%x, %gamma, %beta) {num_groups = 2 : i64}
        : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
    ```
    """

    x = Operand(FLOAT)
    gamma = Operand(FLOAT)
    beta = Operand(FLOAT)
    num_groups = Int()
    epsilon = Float(1e-5)

    @staticmethod
    def result_type(x, gamma, beta, num_groups, epsilon) -> TensorType:
        _check_channels(x, 1, gamma=gamma, beta=beta)
        if num_groups < 1 or not assume_divides(num_groups, x.dims[1], f"the channels of x: {num_groups} groups divide them"):
            raise InferenceError(f"attribute 'num_groups' is {num_groups}, expected a divisor of x's {x.dims[1]} channels")
        return x

    @staticmethod
    def compute(x, gamma, beta, num_groups, epsilon):
        grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
        normalized = _normalized(grouped, tuple(range(2, grouped.ndim)), epsilon).reshape(x.shape)
        return normalized * _along(gamma, x.ndim, [1]) + _along(beta, x.ndim, [1])


class Lrn(RelaxOp, name="lrn"):
    """Local response normalization: x / (bias + alpha / size * s) ** beta, with s the sum of squares over the `size` nearest channels.

    ```mlir
    %y = "relax.lrn"(%x) {size = 5 : i64, alpha = 2.0e-4 : f64, bias = 2.0 : f64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    x = Operand(FLOAT)
    size = Int()
    alpha = Float(1e-4)
    beta = Float(0.75)
    bias = Float(1.0)
    axis = Int(1)

    @staticmethod
    def result_type(x, size, alpha, beta, bias, axis) -> TensorType:
        axis_of(axis, x.rank)
        if size < 1:
            raise InferenceError(f"attribute 'size' is {size}, expected 1 or more")
        return x

    @staticmethod
    def compute(x, size, alpha, beta, bias, axis):
        axis = axis_of(axis, x.ndim)
        widths = [(0, 0)] * x.ndim
        widths[axis] = ((size - 1) // 2, size - 1 - (size - 1) // 2)
        if x.size == 0:
            return x
        squares = np.pad(np.square(x), widths)
        total = np.lib.stride_tricks.sliding_window_view(squares, size, axis=axis).sum(axis=-1)
        return x / np.power(x.dtype.type(bias) + x.dtype.type(alpha / size) * total, x.dtype.type(beta))


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    return x - x.max(axis=axis, keepdims=True, initial=-np.inf)


def _softmax(name: str, summary: str, compute):
    def result_type(x: TensorType, axis) -> TensorType:
        axis_of(axis, x.rank)
        return x

    text = example(name, "%x", "axis = 1 : i64", "tensor<2x3x4xf32>", "tensor<2x3x4xf32>")
    define(name, summary, {"x": Operand(FLOAT)}, compute, result_type, text, axis=Int(-1))


def _of_exponentials(x, axis):
    e = np.exp(_shifted(x, axis))
    return e / e.sum(axis=axis, keepdims=True)


def _logarithm(x, axis):
    shifted = _shifted(x, axis)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


_softmax("softmax", "exp(x) divided by its sum along an axis.", _of_exponentials)
_softmax("log_softmax", "The logarithm of softmax, accurate where softmax underflows.", _logarithm)
