"""QuantizeLinear and DequantizeLinear as arithmetic."""
import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.tensors import dtype_of

_VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)


def _along(node, index: int, axis: int):
    """A scale or zero point, shaped to broadcast to x: a single one, one per index of the axis, or one per block of indices."""
    value, rank, block = node.x(index), node.rank(index), _block(node)
    if block and rank == node.rank():
        size = node.dims()[axis]
        if not isinstance(size, int):
            raise Refused(f"blocks along an axis of size {size}, known only at run time, are not supported")
        return relax.take(value, node.literal(np.arange(size) // block), axis=axis)
    if rank == 0:
        return value
    if rank != 1:
        raise Refused(f"a scale or zero point of rank {rank} is not supported without blocks")
    if node.dims(index) == (1,):
        return relax.reshape(value, shape=[])
    after = node.rank() - 1 - axis
    return relax.expand_dims(value, axis=list(range(1, after + 1))) if after else value


def _block(node) -> int:
    return node.integer("block_size", 0) if node.version >= 21 else 0


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
    if kind(node.dtype()) not in ("int", "uint"):
        raise Refused(f"{node.dtype()} is not supported, only integers")
    if node.given(2):
        x = relax.subtract(relax.astype(x, dtype=np.int32), relax.astype(_along(node, 2, axis), dtype=np.int32))
    target = dtype_of(node.integer("output_dtype")) if node.version >= 23 and node.integer("output_dtype", 0) else of_scale
    wide = np.dtype(np.float32)
    y = relax.multiply(relax.astype(x, dtype=wide), scale if of_scale == wide else relax.astype(scale, dtype=wide))
    return y if target == wide else relax.astype(y, dtype=target)


@op("QuantizeLinear", *_VERSIONS)
def quantize(node):
    """QuantizeLinear: round(x / scale) + zero point, clipped to the integer's range."""
    axis, x = _axis(node), node.x()
    node.ignore("saturate")  # concerns 8-bit floats only
    if node.version >= 21:
        node.only("precision", 0)
    target = np.dtype(np.uint8)
    if node.version >= 21 and node.integer("output_dtype", 0):
        target = dtype_of(node.integer("output_dtype"))
    if node.given(2):
        target = node.dtype(2)
    if kind(target) not in ("int", "uint") or target.itemsize > 2:
        raise Refused(f"quantizing to {target} is not supported, only to integers of 8 and 16 bits")
    wide, limits = np.dtype(np.float32), np.iinfo(target)
    if kind(node.dtype()) != "float":
        x = relax.astype(x, dtype=wide)
    scale = _along(node, 1, axis)
    if node.dtype(1) != (node.dtype() if kind(node.dtype()) == "float" else wide):
        scale = relax.astype(scale, dtype=node.dtype() if kind(node.dtype()) == "float" else wide)
    y = relax.round(relax.divide(x, scale))
    y = y if str(y.type.element_type) == "f32" else relax.astype(y, dtype=wide)
    if node.given(2):
        y = relax.add(y, relax.astype(_along(node, 2, axis), dtype=wide))
    return relax.astype(relax.clip(y, min=limits.min, max=limits.max), dtype=target)


ENTRIES = (dequantize, quantize)
