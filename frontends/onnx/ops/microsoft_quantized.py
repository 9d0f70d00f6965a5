"""Ops of ``com.microsoft`` on quantized integers, as onnxruntime's quantizer writes them.

Elementwise ops, pools and softmax are computed in f32 on dequantized values and quantized again; products are sums of integers.
"""
from collections.abc import Sequence

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import product
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import quantize
from legato.frontends.onnx.ops.microsoft_attention import of_product
from legato.frontends.onnx.ops.microsoft_images import channels_first, channels_last
from legato.frontends.onnx.ops.pool import average_pool
from legato.frontends.onnx.problems import Malformed, Refused

_DOMAIN = "com.microsoft"
_F32, _I32 = np.dtype(np.float32), np.dtype(np.int32)
_WITH_BLOCKS = 21  # the version of QuantizeLinear and DequantizeLinear that has the attribute block_size


def _as(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if relax.TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


def _single(node, index: int, what: str) -> ir.Value:
    """A scale or zero point of one element, as a scalar."""
    if any(size != 1 for size in node.dims(index)):
        raise Refused(f"its {what} of the shape {list(node.dims(index))} is not supported, only a single number")
    return relax.reshape(node.x(index), shape=[]) if node.rank(index) else node.x(index)


def _integers(node, index: int, zero: int, zeros: ir.Value | None = None) -> ir.Value:
    """An input of bytes less its zero point, in i32."""
    if kind(node.dtype(index)) not in ("int", "uint") or node.dtype(index).itemsize != 1:
        raise Refused(f"{node.dtype(index)} is not supported, only integers of 8 bits")
    x = relax.astype(node.x(index), dtype=_I32)
    if zeros is None and node.given(zero):
        zeros = _single(node, zero, "zero point")
    return x if zeros is None else relax.subtract(x, relax.astype(zeros, dtype=_I32))


def _dequantized(node, index: int, scale: int, zero: int) -> ir.Value:
    """An input of bytes as f32."""
    return relax.multiply(_as(_integers(node, index, zero), _F32), _as(_single(node, scale, "scale"), _F32))


def _quantized(node, y: ir.Value, scale: int, zero: int, target: np.dtype | None = None, last: bool = False) -> ir.Value:
    """A result in f32 as bytes of the type of its zero point, or ``target`` where it has none.

    ``last``: it is rounded with its zero point added, which differs in ties; onnxruntime's kernels do either.
    """
    return _rounded(relax.divide(y, _as(_single(node, scale, "scale"), _F32)),
                    _single(node, zero, "zero point") if node.given(zero) else None, target, last)


def _rounded(y: ir.Value, zero: ir.Value | None, target: np.dtype | None = None, last: bool = False) -> ir.Value:
    """Rounded numbers plus a zero point, in its type."""
    y = y if last else relax.round(y)
    if zero is not None:
        target = relax.TensorType.of(zero.type).dtype
        y = relax.add(y, _as(zero, _F32))
    y = relax.round(y) if last else y
    assert target is not None
    limits = np.iinfo(target)
    return relax.astype(relax.clip(y, min=limits.min, max=limits.max), dtype=target)


@op("QLinearAdd", 1, domain=_DOMAIN)
def qlinear_add(node):
    """A sum of quantized tensors."""
    return _quantized(node, relax.add(_dequantized(node, 0, 1, 2), _dequantized(node, 3, 4, 5)), 6, 7, node.dtype(), last=True)


@op("QLinearMul", 1, domain=_DOMAIN)
def qlinear_mul(node):
    """A product of quantized tensors."""
    return _quantized(node, relax.multiply(_dequantized(node, 0, 1, 2), _dequantized(node, 3, 4, 5)), 6, 7, node.dtype(), last=True)


@op("QLinearConcat", 1, domain=_DOMAIN)
def qlinear_concat(node):
    """Quantized tensors, each with a scale and zero point, one after the other."""
    if len(node) < 5 or (len(node) - 2) % 3:
        raise Malformed(f"it has {len(node)} inputs; it takes a scale, a zero point, and three for each tensor")
    parts = [_dequantized(node, at, at + 1, at + 2) for at in range(2, len(node), 3)]
    return _quantized(node, relax.concat(parts, axis=node.axis(node.integer("axis"), node.rank(2))), 0, 1)


@op("QLinearSigmoid", 1, domain=_DOMAIN)
def qlinear_sigmoid(node):
    """Sigmoid of a quantized tensor."""
    return _quantized(node, relax.sigmoid(_dequantized(node, 0, 1, 2)), 3, 4, node.dtype())


@op("QLinearLeakyRelu", 1, domain=_DOMAIN)
def qlinear_leaky_relu(node):
    """LeakyRelu of a quantized tensor."""
    return _quantized(node, relax.leaky_relu(_dequantized(node, 0, 1, 2), alpha=node.number("alpha", 0.01)), 3, 4, node.dtype())


@op("QLinearSoftmax", 1, domain=_DOMAIN)
def qlinear_softmax(node):
    """Softmax of a quantized tensor; in models before opset 13 over all axes from ``axis`` on."""
    opset, rank = node.integer("opset"), node.rank()
    axis = node.axis(node.integer("axis", -1), rank)
    x = _dequantized(node, 0, 1, 2)
    if opset >= 13:
        return _quantized(node, relax.softmax(x, axis=axis), 3, 4, node.dtype())
    sizes = list(node.dims())
    flat = relax.softmax(relax.reshape(x, shape=[product(sizes[:axis]), product(sizes[axis:])]), axis=1)
    return _quantized(node, relax.reshape(flat, shape=sizes), 3, 4, node.dtype())


@op("QLinearGlobalAveragePool", 1, domain=_DOMAIN)
def qlinear_global_average_pool(node):
    """The average over all axes but the batch and the channels."""
    last = node.flag("channels_last")
    spatial = list(range(1, node.rank() - 1) if last else range(2, node.rank()))
    return _quantized(node, relax.mean(_dequantized(node, 0, 1, 2), axis=spatial, keepdims=True), 3, 4, node.dtype())


@op("QLinearAveragePool", 1, domain=_DOMAIN)
def qlinear_average_pool(node):
    """AveragePool of a quantized tensor."""
    last, x, target = node.flag("channels_last"), _dequantized(node, 0, 1, 2), node.dtype()
    y = average_pool.build(node.with_inputs(channels_first(x) if last else x))
    return _quantized(node, channels_last(y) if last else y, 3, 4, target, last=True)


@op("QGemm", 1, domain=_DOMAIN)
def qgemm(node):
    """alpha A B + C of quantized matrices, where C is in i32; quantized, or in f32 where the result has no scale."""
    a = _integers(node, 0, 2)
    along = 0 if node.flag("transB") else 1
    zeros = _of_columns(node, 5, along) if node.given(5) else None
    b = _integers(node, 3, 5, zeros)
    a, b = (relax.permute_dims(x, axes=[1, 0]) if node.flag(name) else x for x, name in ((a, "transA"), (b, "transB")))
    sums = relax.matmul(a, b)
    if node.given(6):
        sums = relax.add(sums, node.x(6))
    factor = relax.multiply(_as(_single(node, 1, "scale"), _F32), _of_columns(node, 4, 1))
    alpha = node.number("alpha", 1.0)
    factor = factor if alpha == 1 else relax.multiply(factor, node.literal(alpha, _F32))
    y = relax.multiply(_as(sums, _F32), factor)
    return _quantized(node, y, 7, 8, node.dtype()) if node.given(7) else y


def _of_columns(node, index: int, axis: int) -> ir.Value:
    """A scale or zero point of a matrix: a single one, or one for each index of an axis."""
    if all(size == 1 for size in node.dims(index)):
        return _single(node, index, "scale or zero point")
    if node.rank(index) != 1:
        raise Refused(f"a scale or zero point of the shape {list(node.dims(index))} is not supported")
    return node.x(index) if axis == 1 else relax.expand_dims(node.x(index), axis=[1])


def _per_column(node, index: int) -> ir.Value:
    """A scale or zero point of the last axis of a weight, broadcast to its product."""
    value = node.x(index)
    return _single(node, index, "scale or zero point") if all(size == 1 for size in node.dims(index)) else value


@op("MatMulIntegerToFloat", 1, domain=_DOMAIN)
def matmul_integer_to_float(node):
    """A matrix product of integers of 8 bits, scaled to floats."""
    y = _scaled_product(node, scales=(2, 3), zeros=(4, 5))
    return relax.add(y, node.x(6)) if node.given(6) else y


def _scaled_product(node, scales: tuple[int, int], zeros: tuple[int, int]) -> ir.Value:
    """The product of inputs 0 and 1 of 8 bits, times their scales, in the type of the first of these. ``scales``, ``zeros``: the indices of
    inputs that have one number for input 0, and one, or one for each column, for input 1."""
    a = _integers(node, 0, zeros[0], _single(node, zeros[0], "zero point of A") if node.given(zeros[0]) else None)
    b = _integers(node, 1, zeros[1], _per_column(node, zeros[1]) if node.given(zeros[1]) else None)
    factor = relax.multiply(_as(_single(node, scales[0], "scale of A"), _F32), _as(_per_column(node, scales[1]), _F32))
    return _as(relax.multiply(_as(relax.matmul(a, b), _F32), factor), node.dtype(scales[0]))


@op("QAttention", 1, domain=_DOMAIN)
def qattention(node):
    """Attention whose queries, keys and values are a product of integers of 8 bits."""
    node.dims(0, rank=3)
    node.dims(1, rank=2)
    x = relax.add(_scaled_product(node, scales=(3, 4), zeros=(6, 7)), node.x(2))
    return of_product(node, x, mask=5, past=8, bias=None)


def quantized_to_its_range(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A tensor of f32 in 256 steps from its smallest to its largest element, less its zero point, in i32; and the scale."""
    zero, top = (relax.constant(np.array(number, _F32)) for number in (0, 255))
    axes = list(range(x.type.rank))
    low, high = relax.minimum(relax.min(x, axis=axes), zero), relax.maximum(relax.max(x, axis=axes), zero)
    span = relax.divide(relax.subtract(high, low), top)
    scale = relax.where(relax.equal(span, zero), relax.constant(np.array(1, _F32)), span)
    of_zero = relax.astype(relax.clip(relax.round(relax.divide(relax.negative(low), scale)), min=0, max=255), dtype=np.dtype(np.uint8))
    q = _rounded(relax.divide(x, scale), of_zero)
    return relax.subtract(relax.astype(q, dtype=_I32), relax.astype(of_zero, dtype=_I32)), scale


@op("DynamicQuantizeMatMul", 1, domain=_DOMAIN)
def dynamic_quantize_matmul(node):
    """A matrix product of a tensor that is quantized to its range at run time, and a quantized weight."""
    if node.dtype() != _F32:
        raise Refused(f"A of {node.dtype()} is not supported, only of float32")
    a, scale = quantized_to_its_range(node.x())
    b = _integers(node, 1, 3, _per_column(node, 3) if node.given(3) else None)
    y = relax.multiply(_as(relax.matmul(a, b), _F32), relax.multiply(scale, _per_column(node, 2)))
    return relax.add(y, node.x(4)) if node.given(4) else y


@op("QLinearWhere", 1, domain=_DOMAIN)
def qlinear_where(node):
    """Elements of one or the other of two quantized tensors."""
    return _quantized(node, relax.where(node.x(0), _dequantized(node, 1, 2, 3), _dequantized(node, 4, 5, 6)), 7, 8, node.dtype(1))


@op("QuantizeLinear", 1, domain=_DOMAIN)
def quantize_linear(node):
    """QuantizeLinear as ONNX's, with 16 bits too."""
    return quantize.quantize.build(node.of_version(_WITH_BLOCKS))


@op("DequantizeLinear", 1, domain=_DOMAIN)
def dequantize_linear(node):
    """DequantizeLinear as ONNX's, with 4 and 16 bits too."""
    return quantize.dequantize.build(node.of_version(_WITH_BLOCKS))


ENTRIES: Sequence = (
    qlinear_add, qlinear_mul, qlinear_concat, qlinear_sigmoid, qlinear_leaky_relu, qlinear_softmax, qlinear_global_average_pool,
    qlinear_average_pool, qgemm, matmul_integer_to_float, qattention, dynamic_quantize_matmul, qlinear_where, quantize_linear,
    dequantize_linear,
)
