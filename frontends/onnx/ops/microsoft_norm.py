"""Normalizations of onnxruntime: those that its optimizer inserts. ``SimplifiedLayerNormalization`` has ONNX's domain there."""
from collections.abc import Callable

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.broadcasting import expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import is_half, wide
from legato.frontends.onnx.ops.norm import last_axes, root_mean_square_norm, statistics
from legato.frontends.onnx.problems import Refused

_DOMAIN = "com.microsoft"
_NOWHERE = 1 << 10    # the index of an input that no node has


def _sum(node, bias: int) -> ir.Value:
    """The first two inputs and a bias, added; of f16 in f32, as which onnxruntime normalizes them before it rounds them."""
    total = relax.add(wide(node.x(0)), expanded_to(wide(node.x(1)), node.x(0)))
    return relax.add(total, wide(node.x(bias))) if node.given(bias) else total


def _rounded(node, value: ir.Value) -> ir.Value:
    """A value in the type of the first input."""
    return relax.astype(value, dtype=node.dtype()) if is_half(node.x().type) else value


def _zeros(node, index: int) -> ir.Value:
    return relax.broadcast_to(node.literal(0, node.dtype(index)), shape=node.dims(index))


@op("SkipLayerNormalization", 1, domain=_DOMAIN)
def skip_layer_norm(node):
    """Layer normalization of x + skip + bias; the sum is an output, too."""
    total, epsilon = _sum(node, 4), node.number("epsilon", 1e-12)
    beta = wide(node.x(3) if node.given(3) else _zeros(node, 2))
    y, found = _rounded(node, relax.layer_norm(total, wide(node.x(2)), beta, epsilon=epsilon)), _rounded(node, total)
    if not any(node.used[1:3]):
        return y, None, None, found
    mean, inverse = statistics(node, total, epsilon, [-1])
    return y, mean, inverse, found


@op("SkipSimplifiedLayerNormalization", 1, domain=_DOMAIN)
def skip_rms_norm(node):
    """Normalization of x + skip + bias by the root of the mean square; the sum is an output, too."""
    total, epsilon = _sum(node, 3), node.number("epsilon", 1e-12)
    y, found = _rounded(node, relax.rms_norm(total, wide(node.x(2)), epsilon=epsilon)), _rounded(node, total)
    if not any(node.used[1:3]):
        return y, None, None, found
    if node.used[1]:
        raise Refused("its output 'mean' is used, which onnxruntime does not compute")
    return y, None, statistics(node, total, epsilon, [-1], simple=True)[1], found


@op("SimplifiedLayerNormalization", 1)
def rms_norm(node):
    """Normalization by the root of the mean square."""
    node.only("stash_type", 1)
    axes, epsilon = last_axes(node), node.number("epsilon", 1e-5)
    y = root_mean_square_norm(node, axes, epsilon)
    return (y, statistics(node, node.x(), epsilon, axes, simple=True)[1]) if any(node.used[1:]) else y


@op("EmbedLayerNormalization", 1, domain=_DOMAIN)
def embed_layer_norm(node):
    """Layer normalization of the sum of embeddings of words, places and segments."""
    node.ignore("mask_index_type")
    y, total = _embedded(node, lambda index, x: x, 8)
    return y, _lengths(node), total


def _embedded(node, number: Callable[[int, ir.Value], ir.Value], places: int) -> tuple[ir.Value, ir.Value]:
    """The layer normalization of the sum of embeddings, and the sum. ``number(index, x)``: what is read of an input, as floats;
    ``places``: the index of the input that has places."""
    ids, epsilon = node.x(0), node.number("epsilon", 1e-12)
    total = number(2, relax.take(node.x(2), ids, axis=0))
    if node.given(places):
        rows = relax.take(node.x(3), node.x(places), axis=0)
    else:
        rows = relax.strided_slice(node.x(3), axes=[0], begin=[0], end=[node.dims(0)[1]])
    total = relax.add(total, number(3, rows))
    if node.given(1) and node.given(4):
        total = relax.add(total, number(4, relax.take(node.x(4), node.x(1), axis=0)))
    return relax.layer_norm(total, number(5, node.x(5)), number(6, node.x(6)), epsilon=epsilon), total


def _lengths(node) -> ir.Value:
    """How many elements of each row of the mask are not 0."""
    i32 = np.dtype(np.int32)
    if not node.given(7):
        return relax.broadcast_to(node.literal(0, i32), shape=node.dims(0)[:1])
    return relax.sum(relax.astype(relax.not_equal(node.x(7), node.literal(0, node.dtype(7))), dtype=i32), axis=[1])


@op("QEmbedLayerNormalization", 1, domain=_DOMAIN)
def quantized_embed_layer_norm(node):
    """EmbedLayerNormalization of parameters in bytes: each has a scale and a zero point. Only what is taken is dequantized."""
    def dequantized(index: int, x: ir.Value) -> ir.Value:
        scale, zero = (relax.reshape(node.x(at), shape=[]) for at in (index + 6, index + 11))
        exact = relax.subtract(relax.astype(x, dtype=np.int32), relax.astype(zero, dtype=np.int32))
        return relax.multiply(relax.astype(exact, dtype=node.dtype(index + 6)), scale)

    if not (node.given(1) and node.given(4)):    # numbers of tables that are not there
        for index in (4, 10, 15):
            node.ignore_input(index)
    y, _ = _embedded(node, dequantized, _NOWHERE)
    return y, _lengths(node)


ENTRIES = (skip_layer_norm, skip_rms_norm, rms_norm, embed_layer_norm, quantized_embed_layer_norm)
