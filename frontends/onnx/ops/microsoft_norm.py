"""Normalizations of onnxruntime: those that its optimizer inserts. ``SimplifiedLayerNormalization`` has ONNX's domain there."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.broadcasting import expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.norm import last_axes, root_mean_square_norm
from legato.frontends.onnx.problems import Refused

_DOMAIN = "com.microsoft"
_F32 = np.dtype(np.float32)


def _sum(node, bias: int) -> ir.Value:
    """The first two inputs and a bias, added."""
    total = relax.add(node.x(0), expanded_to(node.x(1), node.x(0)))
    return relax.add(total, node.x(bias)) if node.given(bias) else total


def _zeros(node, index: int) -> ir.Value:
    return relax.broadcast_to(node.literal(0, node.dtype(index)), shape=node.dims(index))


def _statistics(node, x: ir.Value, epsilon: float, axes: list[int], simple: bool = False) -> tuple[ir.Value | None, ir.Value]:
    """The mean, and the inverse of the standard deviation (``simple``: of the root of the mean square), in f32."""
    x = x if relax.TensorType.of(x.type).dtype == _F32 else relax.astype(x, dtype=_F32)
    mean = None if simple else relax.mean(x, axis=axes, keepdims=True)
    square = relax.mean(relax.square(x if mean is None else relax.subtract(x, mean)), axis=axes, keepdims=True)
    return mean, relax.rsqrt(relax.add(square, node.literal(epsilon, _F32)))


@op("SkipLayerNormalization", 1, domain=_DOMAIN)
def skip_layer_norm(node):
    """Layer normalization of x + skip + bias; the sum is an output, too."""
    total, epsilon = _sum(node, 4), node.number("epsilon", 1e-12)
    y = relax.layer_norm(total, node.x(2), node.x(3) if node.given(3) else _zeros(node, 2), epsilon=epsilon)
    if not any(node.used[1:3]):
        return y, None, None, total
    mean, inverse = _statistics(node, total, epsilon, [-1])
    return y, mean, inverse, total


@op("SkipSimplifiedLayerNormalization", 1, domain=_DOMAIN)
def skip_rms_norm(node):
    """Normalization of x + skip + bias by the root of the mean square; the sum is an output, too."""
    total, epsilon = _sum(node, 3), node.number("epsilon", 1e-12)
    y = relax.rms_norm(total, node.x(2), epsilon=epsilon)
    if not any(node.used[1:3]):
        return y, None, None, total
    if node.used[1]:
        raise Refused("its output 'mean' is used, which onnxruntime does not compute")
    return y, None, _statistics(node, total, epsilon, [-1], simple=True)[1], total


@op("SimplifiedLayerNormalization", 1)
def rms_norm(node):
    """Normalization by the root of the mean square."""
    node.only("stash_type", 1)
    axes, epsilon = last_axes(node), node.number("epsilon", 1e-5)
    y = root_mean_square_norm(node, axes, epsilon)
    return (y, _statistics(node, node.x(), epsilon, axes, simple=True)[1]) if any(node.used[1:]) else y


@op("EmbedLayerNormalization", 1, domain=_DOMAIN)
def embed_layer_norm(node):
    """Layer normalization of the sum of embeddings of words, places and segments."""
    ids, epsilon = node.x(0), node.number("epsilon", 1e-12)
    node.ignore("mask_index_type")
    total = relax.take(node.x(2), ids, axis=0)
    if node.given(8):
        places = relax.take(node.x(3), node.x(8), axis=0)
    else:
        places = relax.strided_slice(node.x(3), axes=[0], begin=[0], end=[node.dims(0)[1]])
    total = relax.add(total, places)
    if node.given(1) and node.given(4):
        total = relax.add(total, relax.take(node.x(4), node.x(1), axis=0))
    y = relax.layer_norm(total, node.x(5), node.x(6), epsilon=epsilon)
    i32 = np.dtype(np.int32)
    if node.given(7):
        kept = relax.astype(relax.not_equal(node.x(7), node.literal(0, node.dtype(7))), dtype=i32)
        return y, relax.sum(kept, axis=[1]), total
    return y, relax.broadcast_to(node.literal(0, i32), shape=node.dims(0)[:1]), total


ENTRIES = (skip_layer_norm, skip_rms_norm, rms_norm, embed_layer_norm)
