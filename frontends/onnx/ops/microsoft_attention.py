"""Attentions of ``com.microsoft``: products, masks and softmax as graph ops, which a target may compute as one kernel."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims as sizes
from legato.dialects.relax.dims import Size, dims
from legato.frontends.onnx.broadcasting import expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import plus
from legato.frontends.onnx.ops.heads import (
    I64,
    Scores,
    additive,
    angles,
    attend,
    causal,
    columns,
    dtype_of,
    merge_heads,
    number,
    positions,
    rotated,
    split_heads,
    static_size,
)
from legato.frontends.onnx.ops.sequences import size_value, written_places
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.run_time import a_symbol, counted

_DOMAIN = "com.microsoft"


def _padding(node, index: int, keys: Size, of: ir.Value) -> ir.Value:
    """A mask of keys as a tensor to add to scores: 0, or mask_filter_value where they are masked."""
    mask, filler = node.x(index), node.number("mask_filter_value", -10000.0)
    zero = relax.constant(np.zeros((), dtype_of(mask)))
    if node.rank(index) == 1:
        return relax.expand_dims(additive(_between(node, index, keys, dims(of.type)[0]), filler, of), axis=[1, 2])
    if node.rank(index) not in (2, 3):
        raise Refused(f"a mask of rank {node.rank(index)} is not supported, only of rank 1, 2 and 3")
    kept = additive(relax.greater(mask, zero), filler, of)
    return relax.expand_dims(kept, axis=[1, 2] if node.rank(index) == 2 else [1])


def _between(node, index: int, keys: Size, batch: Size) -> ir.Value:
    """Whether a key is one of its example's, [batch, keys]: keys before a number that the mask has for each example; and, where it has two
    for each, from the second on. A mask of three for each and two more, for kernels of onnxruntime's on GPUs, begins with these numbers."""
    (count,) = node.dims(index)
    if count not in (batch, 2 * batch, 3 * batch + 2):
        if isinstance(count, int) and isinstance(batch, int):
            raise Refused(f"a mask of {count} numbers for {batch} examples is not supported, only one or two for each, or three and 2 more")
        node.require_equal(count, batch, "one number of keys in its mask for each example")
    first = relax.strided_slice(node.x(index), axes=[0], begin=[0], end=[batch])
    place, ends = positions(keys, 1), relax.expand_dims(relax.astype(first, dtype=I64), axis=[1])
    kept = relax.less(place, ends)
    if count != 2 * batch:
        return kept
    starts = relax.strided_slice(node.x(index), axes=[0], begin=[batch], end=[count])
    return relax.logical_and(kept, relax.greater_equal(place, relax.expand_dims(relax.astype(starts, dtype=I64), axis=[1])))


def _bias(node, index: int, q: ir.Value, keys: Size) -> list[ir.Value]:
    """A tensor to add to scores, whose batch and heads may be 1."""
    if not node.given(index):
        return []
    return [expanded_to(node.x(index), relax.broadcast_to(number(0, q), shape=[*dims(q.type)[:3], keys]))]


def _causal(node, rows: Size, keys: Size, before: Size) -> ir.Value | None:
    return causal(rows, keys, before) if node.flag("unidirectional") else None


def _scale(node) -> float | None:
    return node.number("scale", 0.0) or None


@op("MultiHeadAttention", 1, domain=_DOMAIN)
def multi_head_attention(node):
    """Attention of separate or packed queries, keys and values, with a bias, masks and earlier keys and values."""
    heads = node.integer("num_heads")
    q, k, v = _separate(node, heads) if node.rank() == 3 else _packed_queries(node)
    before: Size = 0
    if node.given(6):
        before = node.dims(6, rank=4)[2]
        k, v = (relax.concat([node.x(index), new], axis=2) for index, new in ((6, k), (7, v)))
    rows, keys = dims(q.type)[2], dims(k.type)[2]
    biases = [_padding(node, 4, keys, q)] if node.given(4) else node.ignore("mask_filter_value") or []
    biases += _bias(node, 5, q, keys)
    y = attend(q, k, v, Scores(_scale(node), biases=tuple(biases), kept=_causal(node, rows, keys, before)))
    return merge_heads(y), k, v


def _separate(node, heads: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Queries [B, S, N D] with keys and values of the same form, packed as [B, T, N, 2, D], or as heads [B, N, T, D]."""
    if not node.given(1):
        raise Refused("queries [B, S, hidden] without keys are not supported; packed ones have the shape [B, S, heads, 3, size]")
    q = node.x(0)
    if node.rank(1) == 5:
        k, v = (_of_pack(node.x(1), place) for place in (0, 1))
    elif node.rank(1) == 4:
        k, v = node.x(1), node.x(2)
    else:
        k, v = node.x(1), node.x(2)
    if node.given(3):
        width = static_size(node.dims(0, rank=3)[2], "the size of its queries")
        q = relax.add(q, columns(node.x(3), 0, width))
        total = static_size(node.dims(3)[0], "the size of its bias")
        if node.rank(1) == 3:
            depth = static_size(node.dims(1, rank=3)[2], "the size of its keys")
            k, v = relax.add(k, columns(node.x(3), width, width + depth)), relax.add(v, columns(node.x(3), width + depth, total))
        elif node.rank(1) == 5:
            middle = width * 2
            k, v = (relax.add(x, _bias_of_heads(node, begin, begin + width, heads)) for x, begin in ((k, width), (v, middle)))
    q = split_heads(q, heads)
    return (q, split_heads(k, heads), split_heads(v, heads)) if node.rank(1) == 3 else (q, k, v)


def _bias_of_heads(node, begin: int, end: int, heads: int) -> ir.Value:
    part = columns(node.x(3), begin, end)
    return relax.expand_dims(relax.reshape(part, shape=[heads, (end - begin) // heads]), axis=[1])


def _of_pack(x: ir.Value, place: int) -> ir.Value:
    """Queries, keys or values of [B, S, N, 3 or 2, D], as [B, N, S, D]."""
    part = relax.strided_slice(x, axes=[3], begin=[place], end=[place + 1])
    return relax.permute_dims(relax.squeeze(part, axis=[3]), axes=[0, 2, 1, 3])


def _packed_queries(node) -> tuple[ir.Value, ir.Value, ir.Value]:
    if node.rank() != 5:
        raise Malformed(f"its queries must have rank 3 or 5, have rank {node.rank()}")
    heads, depth = (static_size(node.dims()[axis], "the size of its heads") for axis in (2, 4))
    parts = [_of_pack(node.x(0), place) for place in range(3)]
    if node.given(3):
        parts = [relax.add(x, _bias_of_heads(node, place * heads * depth, (place + 1) * heads * depth, heads))
                 for place, x in enumerate(parts)]
    return parts[0], parts[1], parts[2]


@op("Attention", 1, domain=_DOMAIN)
def attention(node):
    """Attention with the product that makes queries, keys and values of one input."""
    node.ignore("rotary_embedding_dim")
    node.dims(0, rank=3)
    node.dims(1, rank=2)
    x = relax.matmul(node.x(0), node.x(1))
    x = plus(x, node.x(2)) if node.given(2) else x
    return of_product(node, x, mask=3, past=4, bias=5)


def of_product(node, x: ir.Value, mask: int, past: int, bias: int | None):
    """Attention of the product that has queries, keys and values [B, S, 3 N D], and what the next call begins with. ``mask``, ``past``,
    ``bias``: the indices of inputs."""
    node.only("do_rotary", 0)
    node.only("past_present_share_buffer", 0)
    heads = node.integer("num_heads")
    total = static_size(dims(x.type)[2], "the size of its weight")
    widths = node.integers("qkv_hidden_sizes", [total // 3] * 3)
    if len(widths) != 3 or sum(widths) != total:
        raise Malformed(f"qkv_hidden_sizes = {widths}, but its weight makes {total} features")
    ends = np.cumsum([0, *widths]).tolist()
    q, k, v = (split_heads(columns(x, ends[i], ends[i + 1]), heads) for i in range(3))
    before: Size = 0
    if node.given(past):
        before = node.dims(past, rank=5)[3]
        k, v = (relax.concat([_half(node.x(past), place), new], axis=2) for place, new in ((0, k), (1, v)))
    rows, keys = dims(q.type)[2], dims(k.type)[2]
    biases = [_padding(node, mask, keys, q)] if node.given(mask) else node.ignore("mask_filter_value") or []
    biases += [] if bias is None else _bias(node, bias, q, keys)
    y = attend(q, k, v, Scores(_scale(node), biases=tuple(biases), kept=_causal(node, rows, keys, before)))
    present = relax.concat([relax.expand_dims(k, axis=[0]), relax.expand_dims(v, axis=[0])], axis=0) if any(node.used[1:]) else None
    return merge_heads(y), present


def _half(past: ir.Value, place: int) -> ir.Value:
    return relax.squeeze(relax.strided_slice(past, axes=[0], begin=[place], end=[place + 1]), axis=[0])


@op("GroupQueryAttention", 1, domain=_DOMAIN)
def group_query_attention(node):
    """Causal attention whose queries share keys and values in groups, with a cache of these and rotary embeddings inside."""
    heads, shared = node.integer("num_heads"), node.integer("kv_num_heads")
    if shared < 1 or heads % shared:
        raise Malformed(f"num_heads = {heads} must be a multiple of kv_num_heads = {shared}")
    q, k, v = _grouped(node, heads, shared)
    batch, _, rows, _ = dims(q.type)
    total = [a_symbol(node, 6, "total")] if node.by_data(6) else node.sizes(6, "its total_sequence_length")
    if len(total) != 1:
        raise Malformed(f"its total_sequence_length has {len(total)} elements, must have one")
    seen = relax.reshape(relax.astype(node.x(5), dtype=I64), shape=[batch])  # of each example: the place of its last key
    before = relax.subtract(relax.add(seen, relax.constant(np.int64(1))), size_value(rows))
    first = relax.equal(size_value(total[0]), size_value(rows))  # of a prompt: examples are padded at their ends
    before = relax.where(first, relax.constant(np.int64(0)), before)
    places = relax.add(relax.expand_dims(before, axis=[1]), counted(rows))  # [B, S]
    if node.flag("do_rotary"):
        at = relax.astype(node.x(9), dtype=I64) if node.given(9) else places
        if not (node.given(7) and node.given(8)):
            raise Malformed("do_rotary = 1 needs tables of cosines and sines")
        width, interleaved = 2 * static_size(node.dims(7)[1], "the size of its table of cosines"), node.flag("rotary_interleaved")
        cos, sin = angles(node.x(7), at), angles(node.x(8), at)
        q, k = rotated(q, cos, sin, interleaved, width), rotated(k, cos, sin, interleaved, width)
    else:
        node.ignore("rotary_interleaved")
        for index in (7, 8, 9):
            node.ignore_input(index)
    if node.given(3):
        k, v = (_cached(node, index, new, before, total[0]) for index, new in ((3, k), (4, v)))
    keys = dims(k.type)[2]
    row, key = relax.expand_dims(places, axis=[1, 3]), counted(keys)  # [B, 1, S, 1], [T]
    kept = relax.less_equal(key, row)
    window = node.integer("local_window_size", -1)
    if window > 0:
        kept = relax.logical_and(kept, relax.greater(key, relax.subtract(row, relax.constant(np.int64(window)))))
    sink = None
    if node.given(11):
        sink = relax.reshape(node.x(11), shape=[1, heads, 1, 1])
    elif node.integer("smooth_softmax", 0) > 0:
        sink = number(0, q)
    biases = (_first_keys(node, 10, keys),) if node.given(10) else ()
    how = Scores(_scale(node), node.number("softcap", 0.0), biases, kept, sink)
    return merge_heads(attend(q, k, v, how)), k, v


def _first_keys(node, index: int, keys: Size) -> ir.Value:
    """A bias of as many keys as there are, which adds nothing to those behind its own: rows of the cache that no query sees."""
    bias = node.x(index)
    *outer, last = node.dims(index, rank=4)
    if last == keys:
        return bias
    if isinstance(last, int) and isinstance(keys, int) and last > keys:
        raise Malformed(f"its bias has {last} keys, and there are {keys}")
    return relax.concat([bias, relax.broadcast_to(number(0, bias), shape=[*outer, keys - last])], axis=3)


def _grouped(node, heads: int, shared: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Queries, keys and values as heads; of one input where they are packed."""
    if node.given(1):
        return split_heads(node.x(0), heads), split_heads(node.x(1), shared), split_heads(node.x(2), shared)
    width = static_size(node.dims(0, rank=3)[2], "the size of its queries")
    if width % (heads + 2 * shared):
        raise Malformed(f"{width} features are no {heads} heads of queries and twice {shared} of keys and values")
    depth = width // (heads + 2 * shared)
    ends = [0, heads * depth, (heads + shared) * depth, width]
    q, k, v = (split_heads(columns(node.x(0), ends[i], ends[i + 1]), n) for i, n in enumerate((heads, shared, shared)))
    return q, k, v


def _cached(node, index: int, new: ir.Value, before: ir.Value, total: Size) -> ir.Value:
    """The cache with new rows behind those of each example, in as many rows as there are in all, or as it has, if more."""
    batch, heads, size, depth = node.dims(index)
    room = sizes.maximum(size, total) if not (isinstance(size, int) and isinstance(total, int)) else max(size, total)
    more = room - size
    old = node.x(index)
    if not (isinstance(more, int) and more == 0):
        old = relax.concat([old, relax.broadcast_to(number(0, old), shape=[batch, heads, more, depth])], axis=2)
    return relax.scatter_nd(old, written_places(node.with_inputs(old, new, before), 2, circular=False), new)


ENTRIES = (multi_head_attention, attention, group_query_attention)
