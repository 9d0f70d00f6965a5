"""Mixtures of experts of ``com.microsoft``: each row goes through those layers that score highest for it.

A loop runs over the experts that any row needs, on the rows that need them: their numbers depend on data. So only weights of these experts
are read, and dequantized where they are integers.
"""
from collections.abc import Callable

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, product
from legato.frontends.onnx import regions
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.ops.halves import plus
from legato.frontends.onnx.ops.heads import like, number, static_size
from legato.frontends.onnx.ops.nbits import unpacked_values
from legato.frontends.onnx.problems import Malformed, Refused

_DOMAIN = "com.microsoft"
_F32, _BYTE = np.dtype(np.float32), np.dtype(np.uint8)
_Layer = Callable[[ir.Value, ir.Value], ir.Value]    # rows [R, K], the number of an expert: [R, N]
_Weight = Callable[[ir.Value], ir.Value]    # the number of an expert: its weight [N, K]


@op("MoE", 1, domain=_DOMAIN)
def mixture(node):
    """A mixture of experts whose weights are floats."""
    places = ((2, 3), (4, 5), (6, 7))
    layers = [_layer(_of_floats(node, weight), node, bias) if node.given(weight) else None for weight, bias in places]
    return _mixed(node, layers, None)


@op("QMoE", 1, domain=_DOMAIN)
def quantized_mixture(node):
    """A mixture of experts whose weights are integers of 2, 4 or 8 bits, in blocks of rows' elements or whole rows."""
    node.text("quant_type", "int")
    if node.integer("weights_prepacked", -1) not in (-1, 0):
        raise Refused("weights_prepacked = 1, weights in the layout of one device, is not supported")
    node.ignore("accuracy_level")
    bits, layers = node.integer("expert_weight_bits", 4), []
    for layer, (weight, zero) in enumerate(((2, 11), (5, 12), (8, 13)), 1):
        own = node.integer(f"fc{layer}_expert_weight_bits", bits)
        if own not in (2, 4, 8):
            raise Refused(f"weights of {own} bits are not supported, only of 2, 4 and 8")
        layers.append(_layer(_of_integers(node, weight, zero, own), node, weight + 2) if node.given(weight) else None)
    return _mixed(node, layers, 14)


def _layer(weight: _Weight, node: OnnxNode, bias: int) -> _Layer:
    """A product by the transpose of an expert's weight, plus its bias."""
    def layer(x: ir.Value, expert: ir.Value) -> ir.Value:
        y = relax.matmul(x, relax.permute_dims(like(weight(expert), x), axes=[1, 0]))
        return plus(y, like(regions.slice_of(node.x(bias), expert), x)) if node.given(bias) else y

    return layer


def _of_floats(node: OnnxNode, index: int) -> _Weight:
    node.dims(index, rank=3)
    return lambda expert: regions.slice_of(node.x(index), expert)


def _of_integers(node: OnnxNode, index: int, zero: int, bits: int) -> _Weight:
    """Weights of bytes [E, N, K bits / 8], with scales [E, N] or [E, N, blocks], and zero points of as many bits as the weights."""
    block, packed = node.integer("block_size", 0), node.dims(index, rank=3)
    rows = static_size(packed[1], "the number of rows of its weights")
    depth = static_size(packed[2], "the size of its weights") * 8 // bits
    if node.dtype(index) != _BYTE:
        raise Refused(f"weights of {node.dtype(index)} are not supported, only of uint8")
    if block and (block < 16 or depth % block):
        raise Malformed(f"block_size = {block} must be 16 or more, and divide the {depth} elements of a row of its weights")
    blocks = [depth // block] if block else []
    node.require_shape(index + 1, "scale", [packed[0], rows, *blocks])

    def spread(x: ir.Value) -> ir.Value:
        """Numbers of rows or blocks, for each element."""
        return relax.take(x, node.literal(np.arange(depth) // block), axis=1) if block else relax.expand_dims(x, axis=[1])

    def weight(expert: ir.Value) -> ir.Value:
        q = _unpacked(node, regions.slice_of(node.x(index), expert), bits, depth)
        if node.given(zero):
            zeros = spread(_unpacked(node, regions.slice_of(node.x(zero), expert), bits, blocks[0] if block else rows))
        else:
            zeros = node.literal(1 << (bits - 1), _F32)
        scales = spread(like(regions.slice_of(node.x(index + 1), expert), zeros))
        return relax.multiply(relax.subtract(q, zeros), scales)

    return weight


def _unpacked(node: OnnxNode, x: ir.Value, bits: int, kept: int) -> ir.Value:
    """Bytes with several integers in each as f32, one for each integer: the first ``kept`` of the last axis."""
    x = relax.astype(unpacked_values(node, x, bits) if bits < 8 else x, dtype=_F32)
    last = x.type.rank - 1
    return x if x.type.shape[last] == kept else relax.strided_slice(x, axes=[last], begin=[0], end=[kept])


def _mixed(node: OnnxNode, layers: list[_Layer | None], of_shares: int | None) -> ir.Value:
    """The sum of what each row's best experts give, times their shares. ``of_shares``: the input that has other scores for these."""
    node.only("use_sparse_mixer", 0)
    node.only("swiglu_limit_after_activation", 0)
    activated = _activation(node, layers)
    *outer, width = node.dims()
    count, dtype = product(outer), node.dtype()
    flat = relax.reshape(node.x(), shape=[count, width])
    shares = _shares(node, count, of_shares)
    needed = relax.not_equal(shares, number(0, shares))
    used = _places(relax.max(needed, axis=[0]))
    total = relax.broadcast_to(relax.constant(np.zeros((), _F32)), shape=[count, width])
    last = layers[1]
    if last is None:
        raise Malformed("it needs weights of its second layer")

    def turn(at: regions.Turn, before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        expert = regions.slice_at(used, at.index)
        share = relax.take(shares, expert, axis=1)      # [rows]
        rows = _places(relax.not_equal(share, number(0, share)))
        y = last(activated(relax.take(flat, rows, axis=0), expert), expert)
        y = relax.multiply(relax.astype(y, dtype=_F32), relax.expand_dims(relax.take(share, rows, axis=0), axis=[1]))
        return [relax.scatter_nd(before[0], relax.expand_dims(rows, axis=[1]), y, reduction="add")], []

    ((total,), _) = regions.loop(node.emitter, relax.dims.dims(used.type)[0], [total], turn)
    return relax.astype(relax.reshape(total, shape=[*outer, width]), dtype=dtype)


def _places(flags: ir.Value) -> ir.Value:
    """Where a vector of flags is true: a vector whose size depends on data."""
    found = relax.nonzero(flags)
    return relax.reshape(found, shape=[relax.dims.dims(found.type)[1]])


def _shares(node: OnnxNode, count: Size, of_shares: int | None) -> ir.Value:
    """For each row the shares of all experts, in f32; 0 for those that are not its best."""
    experts = static_size(node.dims(2)[0], "the number of its experts")

    def table(index: int, name: str) -> ir.Value:
        """An input with a number for each row and expert, in f32."""
        node.require_shape(index, name, [count, experts])
        return relax.reshape(relax.astype(node.x(index), dtype=_F32), shape=[count, experts])

    scores = table(1, "router_probs")
    k, normalized = node.integer("k", 1), node.flag("normalize_routing_weights")
    if not 1 <= k <= experts:
        raise Malformed(f"k = {k} of {experts} experts")
    best = relax.topk(scores, k=k, axis=1)
    if of_shares is not None and node.given(of_shares):
        taken = relax.gather_elements(table(of_shares, "router_weights"), best, axis=1)
        taken = relax.divide(taken, relax.sum(taken, axis=[1], keepdims=True)) if normalized else taken
    elif normalized:
        taken = relax.softmax(relax.gather_elements(scores, best, axis=1), axis=1)
    else:
        taken = relax.gather_elements(relax.softmax(scores, axis=1), best, axis=1)
    none = relax.broadcast_to(relax.constant(np.zeros((), _F32)), shape=[count, experts])
    return relax.scatter_elements(none, best, taken, axis=1)


def _activation(node: OnnxNode, layers: list[_Layer | None]) -> _Layer:
    """What the second layer takes: the first one's result activated, times the third one's, where there is one."""
    name = node.text("activation_type", "relu", "gelu", "silu", "swiglu", "identity")
    first, third = layers[0], layers[2]
    if first is None:
        raise Malformed("it needs weights of its first layer")
    fusion = node.integer("swiglu_fusion", 0)
    alpha, beta = node.number("activation_alpha", 1.0), node.number("activation_beta", 0.0)
    limit = node.number("swiglu_limit", np.inf)
    if name != "swiglu":
        function = {"relu": relax.relu, "gelu": lambda x: relax.gelu(x, approximate="tanh"), "silu": relax.silu,
                    "identity": lambda x: x}[name]

        def plain(x: ir.Value, expert: ir.Value) -> ir.Value:
            y = function(first(x, expert))
            return y if third is None else relax.multiply(y, third(x, expert))

        return plain
    if (fusion == 0) != (third is not None) or fusion not in (0, 1, 2):
        raise Malformed(f"swiglu_fusion = {fusion} {'with' if third else 'without'} weights of a third layer")

    def gated(x: ir.Value, expert: ir.Value) -> ir.Value:
        y = first(x, expert)
        gate, linear = (y, third(x, expert)) if third is not None else _halves(y, fusion == 1)
        if limit < np.inf:
            gate, linear = relax.minimum(gate, number(limit, gate)), relax.clip(linear, min=-limit, max=limit)
        scaled = gate if alpha == 1 else relax.multiply(gate, number(alpha, gate))
        linear = linear if beta == 0 else relax.add(linear, number(beta, linear))
        return relax.multiply(relax.multiply(gate, relax.sigmoid(scaled)), linear)

    return gated


def _halves(x: ir.Value, interleaved: bool) -> tuple[ir.Value, ir.Value]:
    """Every second column, and the others; or the first half of the columns, and the others."""
    rows, columns = relax.dims.dims(x.type)
    half = static_size(columns, "the size of its first layer") // 2
    pairs = relax.reshape(x, shape=[rows, half, 2] if interleaved else [rows, 2, half])
    axis = 2 if interleaved else 1
    parts = [relax.squeeze(relax.strided_slice(pairs, axes=[axis], begin=[at], end=[at + 1]), axis=[axis]) for at in (0, 1)]
    return parts[0], parts[1]


ENTRIES = (mixture, quantized_mixture)
