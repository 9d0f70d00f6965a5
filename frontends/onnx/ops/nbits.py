"""Ops of ``com.microsoft`` with weights of few bits in blocks: what quantizers of language models write.

A weight is dequantized by graph ops, ``(integers - zero) * scale`` with a scale and zero taken for each row; the pass
``relax-quantized-weights`` keeps it in its bits in products.
"""
import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.markers import ROWS_IN_BYTES
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import WIDENED

_DOMAIN = "com.microsoft"
_IN_BYTES = 4   # the accuracy_level of bytes; of f32, f16 and bf16 it is 1 to 3
# the tables of bitsandbytes (https://arxiv.org/abs/2305.14314): 4-bit floats, and quantiles of the normal distribution
_FP4 = [sign * number / 12 for sign in (1, -1) for number in (0, 0.0625, 8, 12, 4, 6, 2, 3)]
_NF4 = (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
        -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
        0.5626170039176941, 0.7229568362236023, 1.0)
_BYTE, _F32 = np.dtype(np.uint8), np.dtype(np.float32)


def _bits(node, *allowed: int) -> int:
    bits = node.integer("bits", 4)
    if bits not in allowed:
        raise Refused(f"bits = {bits} is not supported, only {', '.join(map(str, allowed))}")
    return bits


def _block_size(node, default: int | None = None) -> int:
    block = node.integer("block_size") if default is None else node.integer("block_size", default)
    if block < 16 or block & (block - 1):
        raise Malformed(f"block_size = {block} must be a power of two, 16 or more")
    return block


def _unpacked(node, index: int, bits: int, shape: list[int], kept: int) -> ir.Value:
    """An input of bytes with several integers in each, the first in the lowest bits, as one integer a byte: the first ``kept`` of the last
    axis. ``shape``: the packed one, of as many elements as the input. Ops of the graph, since a large model's weights need not be in memory
    more than one at a time."""
    value = node.value(index)
    if value.dtype != _BYTE or not all(isinstance(size, int) for size in value.dims) or np.prod(value.dims) != np.prod(shape):
        raise Malformed(f"its input {index} must be uint8 of {' x '.join(map(str, shape))}, is {value.dtype} of {list(value.dims)}")
    x = relax.reshape(node.x(index), shape=shape)
    return _cut(x if bits == 8 else unpacked_values(node, x, bits), kept)


def _cut(x: ir.Value, size: int) -> ir.Value:
    """The first elements of the last axis."""
    last = x.type.rank - 1
    return x if x.type.shape[last] == size else relax.strided_slice(x, axes=[last], begin=[0], end=[size], strides=[1])


def _wide(node, index: int) -> ir.Value:
    """A float input as f32."""
    if kind(node.dtype(index)) != "float":
        raise Malformed(f"its input {index} must be of floats, is {node.dtype(index)}")
    return _as(node.x(index), _F32)


def _as(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if relax.TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


@op("MatMulNBits", 1, domain=_DOMAIN)
def matmul_nbits(node):
    """A matrix product by the transpose of a weight of few bits, computed in f32, or of rows in bytes where ``accuracy_level`` says that
    these suffice."""
    depth, columns, bits, block = node.integer("K"), node.integer("N"), _bits(node, 2, 4, 8), _block_size(node)
    node.only("weight_prepacked", 0)
    if isinstance(node.dims()[-1], int) and node.dims()[-1] != depth:
        raise Malformed(f"the last size of its A must be K = {depth}, its shape is {list(node.dims())}")
    blocks = -(-depth // block)
    q = _unpacked(node, 1, bits, [columns, blocks * block * bits // 8], depth)
    groups = np.arange(depth) // block
    if node.given(4):
        groups = node.constant(4, "g_idx").ravel()[:depth].astype(np.int64)
        if groups.size != depth or groups.min(initial=0) < 0 or groups.max(initial=0) >= blocks:
            raise Malformed(f"its g_idx must have {depth} numbers of blocks from 0 to {blocks - 1}")
    scale = relax.reshape(_wide(node, 2), shape=[columns, blocks])
    if not node.given(3):
        zero = node.literal(1 << (bits - 1), _F32)
    elif kind(node.dtype(3)) == "float":
        zero = relax.reshape(_wide(node, 3), shape=[columns, blocks])
    else:
        zero = relax.astype(_unpacked(node, 3, bits, [columns, -(-blocks * bits // 8)], blocks), dtype=_F32)
    which = node.literal(groups)
    zero = zero if not node.given(3) else relax.take(zero, which, axis=1)
    w = relax.multiply(relax.subtract(relax.astype(q, dtype=_F32), zero), relax.take(scale, which, axis=1))
    y = relax.matmul(_as(node.x(), _F32), relax.permute_dims(w, axes=[1, 0]))
    if node.integer("accuracy_level", 0) == _IN_BYTES:
        y.owner.attributes[ROWS_IN_BYTES] = ir.UnitAttr.get()
    return _as(relax.add(y, _as(node.x(5), _F32)) if node.given(5) else y, node.dtype())


@op("MatMulBnb4", 1, domain=_DOMAIN)
def matmul_bnb4(node):
    """A matrix product by the transpose of a weight whose elements are numbers of one of two tables, times the greatest of each block of
    the flattened weight."""
    depth, columns, block, kind_ = node.integer("K"), node.integer("N"), _block_size(node), node.integer("quant_type")
    node.ignore("training_mode")
    node.only("transB", 1)
    if kind_ not in (0, 1):
        raise Malformed(f"quant_type = {kind_} must be 0, for FP4, or 1, for NF4")
    count, (bytes_,) = depth * columns, node.dims(1, rank=1)
    if node.dtype(1) != _BYTE or bytes_ != (count + 1) // 2:
        raise Malformed(f"its weight must be {(count + 1) // 2} bytes, is {bytes_} of {node.dtype(1)}")
    blocks = -(-count // block)
    node.require_shape(2, "absmax", [blocks])
    pairs = relax.expand_dims(node.x(1), axis=[1])      # the first of two elements is in the upper bits
    places = relax.bitwise_and(relax.right_shift(pairs, node.literal(np.array([4, 0], np.uint8))), node.literal(np.uint8(15)))
    table = node.literal(np.array((_FP4, _NF4)[kind_], np.float32))
    values = relax.take(table, relax.astype(_cut(relax.reshape(places, shape=[2 * bytes_]), count), dtype=np.int32), axis=0)
    w = relax.multiply(values, relax.take(_wide(node, 2), node.literal(np.arange(count) // block), axis=0))
    y = relax.matmul(_as(node.x(), _F32), relax.permute_dims(relax.reshape(w, shape=[columns, depth]), axes=[1, 0]))
    return _as(y, node.dtype())


@op("GatherBlockQuantized", 1, domain=_DOMAIN)
def gather_block_quantized(node):
    """Slices of a tensor of few bits, dequantized: only what is gathered."""
    bits, block = _bits(node, 2, 4, 8), _block_size(node, 128)
    data = node.value(0)
    rank = len(data.dims)
    axis, along = node.axis(node.integer("gather_axis", 0), rank), node.axis(node.integer("quantize_axis", 1), rank)
    if axis == along:
        raise Refused(f"gather_axis = quantize_axis = {axis} is not supported")
    if not all(isinstance(size, int) for size in data.dims):
        raise Refused(f"its data of sizes {list(data.dims)}, known only at run time, is not supported")
    narrow = data.dtype in WIDENED
    sizes = [int(size) for size in data.dims]
    if narrow:
        node.widen(0)
    elif data.dtype != _BYTE:
        raise Refused(f"data of {data.dtype} is not supported, only of uint8, int4 and uint4")
    elif bits < 8:
        if along != rank - 1:
            raise Refused(f"quantize_axis = {along} is not supported for packed uint8, only the last axis")
        sizes[-1] *= 8 // bits
    picked = relax.take(node.x(0), node.x(1), axis=axis)
    at = along + node.rank(1) - 1 if along > axis else along
    if not narrow and bits < 8:
        picked = unpacked_values(node, picked, bits)
    groups = node.literal(np.arange(sizes[along]) // block)

    def of_blocks(value: ir.Value) -> ir.Value:
        return relax.take(relax.take(value, node.x(1), axis=axis), groups, axis=at)

    dtype = node.dtype(2)
    wide = relax.astype(picked, dtype=_F32)
    if node.given(3):
        node.widen(3)
        zeros = node.x(3)
        if not narrow and bits < 8:
            count = -(-sizes[along] // block)
            zeros = _cut(unpacked_values(node, zeros, bits), count)
        wide = relax.subtract(wide, of_blocks(relax.astype(zeros, dtype=_F32)))
    elif not narrow:
        wide = relax.subtract(wide, node.literal(1 << (bits - 1), _F32))
    return _as(relax.multiply(wide, of_blocks(_wide(node, 2))), dtype)


def unpacked_values(node, x: ir.Value, bits: int) -> ir.Value:
    """A tensor of bytes with several integers in each of the last axis, as one integer a byte."""
    shape = list(relax.dims.dims(x.type))
    shifts, mask = np.arange(0, 8, bits, dtype=np.uint8), np.uint8((1 << bits) - 1)
    parts = relax.bitwise_and(relax.right_shift(relax.expand_dims(x, axis=[x.type.rank]), node.literal(shifts)), node.literal(mask))
    return relax.reshape(parts, shape=[*shape[:-1], shape[-1] * (8 // bits)])


ENTRIES = (matmul_nbits, matmul_bnb4, gather_block_quantized)
