"""QuantizeLinear and DequantizeLinear as arithmetic."""
import ml_dtypes
import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Dim
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.broadcasting import expanded
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.casts import converted
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.tensors import dtype_of

_POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)   # of scales only
_VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)


def _along(node, index: int, axis: int):
    """A scale or zero point, shaped to broadcast to x: a single one, one per index of the axis, or one per block of indices."""
    value, rank, block = node.x(index), node.rank(index), _block(node)
    if block and rank == node.rank():
        axis = node.axis(axis, rank)
        size = node.dims()[axis]
        if not isinstance(size, int):
            raise Refused(f"blocks along an axis of size {size}, known only at run time, are not supported")
        blocks = [*node.dims()[:axis], -(-size // block), *node.dims()[axis + 1:]]
        node.require_shape(index, "scale" if index == 1 else "zero point", blocks)
        return relax.take(value, node.literal(np.arange(size) // block), axis=axis)
    if rank == 0:
        return value
    if rank != 1:
        raise Refused(f"a scale or zero point of rank {rank} is not supported without blocks")
    if node.dims(index) == (1,):
        return relax.reshape(value, shape=[])
    size = node.dims()[axis] if axis < node.rank() else 1
    if isinstance(node.dims(index)[0], Dim) and node.dims(index) != (size,):
        value = expanded(value, [size])
    else:
        node.require_shape(index, "scale" if index == 1 else "zero point", [size])
    after = node.rank() - 1 - axis
    return relax.expand_dims(value, axis=list(range(1, after + 1))) if after else value


def _block(node) -> int:
    block = node.integer("block_size", 0) if node.version >= 21 else 0
    if block < 0:
        raise Malformed(f"block_size = {block}: expected 0, for none, or more")
    return block


def _axis(node) -> int:
    axis = node.integer("axis", 1) if node.version >= 13 else 1
    _block(node)
    return axis + node.rank() if axis < 0 else axis


@op("DequantizeLinear", *_VERSIONS)
def dequantize(node):
    """DequantizeLinear: (x - zero point) * scale, computed in f32."""
    node.widen(0, 2)
    axis = _axis(node)
    x, scale, of_scale = node.x(), _along(node, 1, axis), node.dtype(1)
    if kind(node.dtype()) not in ("int", "uint", "narrow"):
        raise Refused(f"{node.dtype()} is not supported, only integers and narrow floats")
    if node.given(2):
        exact = np.dtype(np.float32 if is_float(node.dtype()) else np.int32)
        x = relax.subtract(relax.astype(x, dtype=exact), relax.astype(_along(node, 2, axis), dtype=exact))
    target = dtype_of(node.integer("output_dtype")) if node.version >= 23 and node.integer("output_dtype", 0) else of_scale
    wide = np.dtype(np.float32)
    y = relax.multiply(_in(x, wide), _in(scale, wide))
    return _in(y, target)


@op("QuantizeLinear", *_VERSIONS)
def quantize(node):
    """QuantizeLinear: round(x / scale) + zero point, clipped to the integer's range; narrow floats are rounded to their own numbers."""
    axis, x = _axis(node), node.x()
    saturate = node.flag("saturate", True) if node.version >= 19 else True
    target = np.dtype(np.uint8)
    if node.version >= 21 and node.integer("output_dtype", 0):
        target = dtype_of(node.integer("output_dtype"))
    if node.given(2):
        target = node.dtype(2)
    if kind(target) not in ("int", "uint", "narrow") or target.itemsize > 2 or target == _POWERS:
        raise Refused(f"quantizing to {target} is not supported, only to integers of up to 16 bits and narrow floats")
    wide = np.dtype(np.float32)
    exact = node.dtype() if kind(node.dtype()) == "float" else wide
    if node.version >= 23 and node.integer("precision", 0):
        exact = dtype_of(node.integer("precision"))
    y = relax.divide(_in(x, exact), _in(_along(node, 1, axis), exact))
    if is_float(target):
        if node.given(2):
            y = relax.add(_in(y, wide), _in(_along(node, 2, axis), wide))
        return converted(y, target, saturate)
    y = _in(relax.round(y), wide)
    if node.given(2):
        y = relax.add(y, relax.astype(_along(node, 2, axis), dtype=wide))
    limits = ml_dtypes.iinfo(target)
    return relax.astype(relax.clip(y, min=limits.min, max=limits.max), dtype=target)


def is_float(dtype: np.dtype) -> bool:
    """Whether a type that is quantized to is a narrow float."""
    return kind(dtype) == "narrow" and "float" in dtype.name


def _in(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


ENTRIES = (dequantize, quantize)
