"""Matrix products and convolutions of quantized integers: exact integer sums, scaled and rounded once at the end."""
import math

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.windows import read_window
from legato.frontends.onnx.problems import Malformed, Refused

_EXACT_IN_F32 = 1 << 24
_GREATEST = 255  # of the difference of two integers of 8 bits


def _less_zero_point(node, index: int, zero: int, axis: int | None, dtype: np.dtype) -> ir.Value:
    """An input minus its zero point, if it has one: a single one, or one per index of an axis."""
    if kind(node.dtype(index)) not in ("int", "uint") or node.dtype(index).itemsize != 1:
        raise Refused(f"{node.dtype(index)} is not supported, only integers of 8 bits")
    x = relax.astype(node.x(index), dtype=dtype)
    if not node.given(zero):
        return x
    return relax.subtract(x, _per_place(node, zero, relax.astype(node.x(zero), dtype=dtype), node.rank(index), axis))


def _per_place(node, index: int, value: ir.Value, rank: int, axis: int | None) -> ir.Value:
    """A scale or zero point, shaped to broadcast to a tensor of a rank; a vector has one value per index of the axis."""
    if node.rank(index) == 0:
        return value
    if node.rank(index) == 1 and node.dims(index) == (1,):
        return relax.reshape(value, shape=[])
    if node.rank(index) != 1:
        return value  # broadcasts as it is
    if axis is None:
        raise Refused("a scale or zero point for each place of an axis is not supported here")
    after = rank - 1 - axis % rank
    return relax.expand_dims(value, axis=list(range(1, after + 1))) if after else value


@op("MatMulInteger", 10)
def matmul_integer(node):
    """MatMulInteger, computed in int32."""
    wide = np.dtype(np.int32)
    return relax.matmul(_less_zero_point(node, 0, 2, -2, wide), _less_zero_point(node, 1, 3, -1, wide))


@op("QLinearMatMul", 10, 21)
def qlinear_matmul(node):
    """QLinearMatMul, computed in int32."""
    wide = np.dtype(np.int32)
    sums = relax.matmul(_less_zero_point(node, 0, 2, -2, wide), _less_zero_point(node, 3, 5, -1, wide))
    return _requantized(node, sums, (1, -2), (4, -1), 6)


def _convolution(node, x: int, w: int, x_zero: int, w_zero: int) -> ir.Value:
    """The sums, in floats wide enough to be exact. Padding counts as the zero point."""
    window = read_window(node, node.dims(w)[2:])
    channels = node.dims(w)[1]
    if not isinstance(channels, int):
        raise Refused(f"the number of its channels, {channels}, is known only at run time")
    fits = math.prod(window.kernel) * channels * _GREATEST**2 < _EXACT_IN_F32
    wide = np.dtype(np.float32 if fits else np.float64)
    return getattr(relax, f"conv{window.rank}d")(
        _less_zero_point(node, x, x_zero, None, wide), _less_zero_point(node, w, w_zero, 0, wide), strides=window.strides,
        padding=window.padding, dilations=window.dilations, groups=node.integer("group", 1))


@op("ConvInteger", 10)
def conv_integer(node):
    """ConvInteger, computed in floats that hold the sums exactly."""
    return relax.astype(_convolution(node, 0, 1, 2, 3), dtype=np.int32)


@op("QLinearConv", 10)
def qlinear_conv(node):
    """QLinearConv, computed in floats that hold the sums exactly."""
    sums = relax.astype(_convolution(node, 0, 3, 2, 5), dtype=np.int32)
    if node.given(8):
        if node.rank(8) != 1 or node.dtype(8) != np.int32:
            raise Malformed(f"its bias must be a vector of int32, is {node.dtype(8)} of rank {node.rank(8)}")
        sums = relax.add(sums, relax.expand_dims(node.x(8), axis=list(range(1, node.rank() - 1))))
    return _requantized(node, sums, (1, None), (4, 1), 6)


def _requantized(node, sums: ir.Value, a: tuple[int, int | None], b: tuple[int, int | None], out: int) -> ir.Value:
    """The sums times the inputs' scales, divided by the output's, rounded, plus its zero point. ``a``, ``b``: the index of a scale
    input and its axis."""
    wide, rank, target = np.dtype(np.float32), sums.type.rank, node.dtype(out + 1)
    if kind(target) not in ("int", "uint") or target.itemsize != 1:
        raise Refused(f"quantizing to {target} is not supported, only to integers of 8 bits")
    scales = []
    for index, axis in (a, b, (out, None)):
        scale = node.x(index) if node.dtype(index) == wide else relax.astype(node.x(index), dtype=wide)
        scales.append(_per_place(node, index, scale, rank, axis))
    factor = relax.divide(relax.multiply(scales[0], scales[1]), scales[2])
    y = relax.round(relax.multiply(relax.astype(sums, dtype=wide), factor))
    y = relax.add(y, _per_place(node, out + 1, relax.astype(node.x(out + 1), dtype=wide), rank, None))
    limits = np.iinfo(target)
    return relax.astype(relax.clip(y, min=limits.min, max=limits.max), dtype=target)


ENTRIES = (matmul_integer, qlinear_matmul, conv_integer, qlinear_conv)
