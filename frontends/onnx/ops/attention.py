"""Attention of ONNX: products, masks and softmax as graph ops, which a target may compute as one kernel. Keys and values of grouped heads
are read where they lie; the definition in ONNX's schema repeats them."""
import math

import numpy as np
from onnx import TensorProto

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, dims
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.heads import I64, Scores, attend, causal, merge_heads, number, split_heads
from legato.frontends.onnx.ops.sequences import size_value
from legato.frontends.onnx.problems import ByDefinition, Malformed
from legato.frontends.onnx.run_time import counted
from legato.frontends.onnx.tensors import dtype_of

_PADDED = 24  # from this version on a mask may have fewer keys than there are


@op("Attention", 23, 24, 25)
def attention(node):
    """Attention with masks, earlier keys and values, and heads that share keys. A row that sees no key is 0."""
    precision = node.integer("softmax_precision", 0)
    if precision not in TensorProto.DataType.values():
        raise Malformed(f"attribute 'softmax_precision' is {precision}, which is no element type")
    if any(node.used[3:]) or (precision and dtype_of(precision) not in (node.dtype(), np.dtype(np.float32))):
        raise ByDefinition
    if node.integer("left_window_size", -1) >= 0 or node.integer("right_window_size", -1) >= 0:
        raise ByDefinition
    node.ignore("qk_matmul_output_mode")
    if node.given(4) != node.given(5) or (node.given(4) and node.given(6)):
        raise Malformed("it needs past_key with past_value, and neither with nonpad_kv_seqlen")
    flat = node.rank() == 3
    q, k, v = _heads(node, flat)
    before: Size = 0
    if node.given(4):
        before = node.dims(4, rank=4)[2]
        k, v = (relax.concat([node.x(index), new], axis=2) for index, new in ((4, k), (5, v)))
    if not all(isinstance(size, int) for size in (dims(q.type)[1], dims(k.type)[1], dims(q.type)[3])):
        raise ByDefinition
    rows, keys = dims(q.type)[2], dims(k.type)[2]
    bias, kept = _mask(node, q, rows, keys)
    first: Size | ir.Value = before
    if node.given(6):
        lengths = relax.reshape(relax.astype(node.x(6), dtype=I64), shape=[dims(q.type)[0], 1, 1, 1])
        kept = _both(kept, relax.less(counted(keys), lengths))
        first = relax.subtract(lengths, size_value(rows))
    sees_none = _sees_none(bias, kept, q)
    if node.flag("is_causal"):
        kept = _both(kept, causal(rows, keys, first))
        sees_none = _sees_none(bias, kept, q) if sees_none is not None else None   # otherwise each row sees the first key
    scale = node.number("scale", 0.0) or 1 / math.sqrt(max(dims(q.type)[3], 1))
    how = Scores(1.0, node.number("softcap", 0.0), () if bias is None else (bias,), kept)
    y = attend(relax.multiply(q, number(scale, q)), k, v, how)   # scaled before the product, which may be too large for f16
    y = relax.where(sees_none, number(0, y), y) if sees_none is not None else y
    return merge_heads(y) if flat else y, k, v


def _heads(node, flat: bool) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Queries, keys and values as [B, heads, rows, features]."""
    for index in range(3):
        node.dims(index, rank=3 if flat else 4)
    if not flat:
        node.ignore("q_num_heads", "kv_num_heads")
        return node.x(0), node.x(1), node.x(2)
    heads, shared = node.integer("q_num_heads"), node.integer("kv_num_heads")
    if shared < 1 or heads % shared:
        raise Malformed(f"q_num_heads = {heads} must be a multiple of kv_num_heads = {shared}")
    return split_heads(node.x(0), heads), split_heads(node.x(1), shared), split_heads(node.x(2), shared)


def _mask(node, q: ir.Value, rows: Size, keys: Size) -> tuple[ir.Value | None, ir.Value | None]:
    """What is added to scores, and which of them are kept, as tensors of rank 4: one of both, or none."""
    if not node.given(3):
        return None, None
    mask, batch, heads = node.x(3), dims(q.type)[0], dims(q.type)[1]
    mask = relax.expand_dims(mask, axis=list(range(4 - node.rank(3)))) if node.rank(3) < 4 else mask
    chosen = kind(node.dtype(3)) == "bool"
    *outer, last = dims(mask.type)
    if any(size not in (1, wanted) for size, wanted in zip(outer, (batch, heads, rows))):
        raise ByDefinition   # a size that a call may broadcast
    if last != keys and node.version >= _PADDED:
        hidden = relax.constant(np.asarray(False)) if chosen else number(-math.inf, mask)
        mask = relax.concat([mask, relax.broadcast_to(hidden, shape=[*outer, keys - last])], axis=3)
    elif last not in (1, keys):
        if not node.given(4) or isinstance(last, int):
            raise ByDefinition
        node.require_equal(last, keys, f"a mask of {last} keys to have one for each of {keys}")
        mask = relax.reshape(mask, shape=[*outer, keys])
    return (None, mask) if chosen else (mask, None)


def _both(one: ir.Value | None, other: ir.Value) -> ir.Value:
    return other if one is None else relax.logical_and(one, other)


def _sees_none(bias: ir.Value | None, kept: ir.Value | None, of: ir.Value) -> ir.Value | None:
    """Whether masks hide all keys from a row, [B, heads, S, 1]; None without masks."""
    if bias is None and kept is None:
        return None
    hidden = number(-math.inf, of)
    whole = bias if bias is not None else number(0, of)
    whole = whole if kept is None else relax.where(kept, whole, hidden)
    return relax.equal(relax.max(whole, axis=[-1], keepdims=True), hidden)


ENTRIES = (attention,)
