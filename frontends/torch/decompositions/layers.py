"""Layers in terms of other ops."""
import math
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.empty import is_empty
from legato.frontends.torch.decompositions.halves import HALVES

aten = torch.ops.aten


def _attention(x: Any, heads: int, qkv_weight: Any, qkv_bias: Any, out_weight: Any, out_bias: Any, mask: Any, mask_type: int | None) -> Any:
    """Self-attention of x [batch, length, width]. The mask is true where nothing is attended to; its type: 0, [length, length]; 1, [batch,
    length] of keys; 2, of all heads."""
    batch, length, width = x.shape
    parts = functional.linear(x, qkv_weight, qkv_bias).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    if mask is not None:
        shape = {0: (1, 1, length, length), 1: (batch, 1, 1, length)}.get(mask_type if mask_type is not None else 2)
        mask = ~(mask.view(shape) if shape is not None else mask)
    attended = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=mask)
    return functional.linear(attended.transpose(1, 2).reshape(batch, length, width), out_weight, out_bias)


def _encoder_layer(x: Any, width: int, heads: int, qkv_weight: Any, qkv_bias: Any, out_weight: Any, out_bias: Any, use_gelu: bool,
                   norm_first: bool, eps: float, scale_1: Any, shift_1: Any, scale_2: Any, shift_2: Any, weight_1: Any, bias_1: Any,
                   weight_2: Any, bias_2: Any, mask: Any = None, mask_type: int | None = None) -> Any:
    """torch.nn.TransformerEncoderLayer."""
    activation = functional.gelu if use_gelu else functional.relu

    def attend(x: Any) -> Any:
        return _attention(x, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, mask_type)

    def feed_forward(x: Any) -> Any:
        return functional.linear(activation(functional.linear(x, weight_1, bias_1)), weight_2, bias_2)

    def norm_1(x: Any) -> Any:
        return functional.layer_norm(x, (width,), scale_1, shift_1, eps)

    def norm_2(x: Any) -> Any:
        return functional.layer_norm(x, (width,), scale_2, shift_2, eps)

    if norm_first:
        x = x + attend(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float) -> Any:
    """Batch normalization by the batch's own statistics, which the exporter takes for one by the given statistics."""
    return _OF_TORCH[_BATCH_NORM](x, weight, bias, mean, variance, training, momentum, eps) if training else NotImplemented


def _own_batch_norm(x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> tuple[Any, Any, Any]:
    """Batch normalization of halves by the batch's own statistics, of which the exporter squares distances from the mean in halves."""
    if x.dtype not in HALVES:
        return NotImplemented
    axes, shape = [0, *range(2, x.ndim)], [1, -1, *[1] * (x.ndim - 2)]
    wide = x.float()
    mean = wide.mean(axes, keepdim=True)
    inverse = torch.rsqrt((wide - mean).square().mean(axes, keepdim=True) + eps)
    found = (wide - mean) * inverse
    found = found if weight is None else found * weight.view(shape)
    found = found if bias is None else found + bias.view(shape)
    return found.to(x.dtype), mean.flatten().to(x.dtype), inverse.flatten().to(x.dtype)


def _masked_attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
                      scale: float | None = None) -> tuple[Any, Any]:
    """Attention with a mask, of several heads to each of the keys and values, or of another rank than 4: the exporter makes NaN of rows
    that are masked as a whole, which are 0, takes as many keys as queries, and batches of heads only. It makes NaN of scales that are not
    above 0, too, and reshapes what has no elements to a -1 beside a 0. And of halves, whose scores torch keeps in f32, it rounds these."""
    shares, dtype = query.ndim > 2 and key.shape[-3] != query.shape[-3], query.dtype
    halves, known = dtype in HALVES, not isinstance(scale, torch.SymFloat)
    if is_empty(*query.shape[:-1], *key.shape[:-1], value.shape[-1]):
        return query.new_zeros((*query.shape[:-1], value.shape[-1])), query.new_full(query.shape[:-1], -torch.inf, dtype=torch.float32)
    if is_empty(query.shape[-1]) and not dropout_p:
        scale = 1.0     # of sums of nothing
    elif dropout_p or (attn_mask is None and query.ndim == 4 and not shares and not halves and (scale is None or (known and scale > 0))):
        return NotImplemented
    if shares:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    if scale is None:
        scale, known = query.shape[-1] ** -0.5, isinstance(query.shape[-1], int)
    whole = query
    same = query.ndim == 4 and all(guard_or_false(a == b) for x in (key, value) for a, b in zip(query.shape[:2], x.shape[:2], strict=True))
    if same and attn_mask is not None and attn_mask.ndim == 4 and all(guard_or_false(size == 1) for size in attn_mask.shape[:2]):
        attn_mask = attn_mask[0, 0]
    if same and (attn_mask is None or attn_mask.ndim == 2):    # reshapes between the two products would keep them apart
        query, key, value = (x.flatten(0, 1) for x in (query, key, value))
    if halves:
        scores = torch.matmul(query.float(), key.mT.float()) * scale
    elif not known:
        scores = torch.matmul(query, key.mT) * scale
    else:
        root = math.sqrt(abs(scale))
        scores = torch.matmul(query * math.copysign(root, scale), key.mT * root)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask, 0.0, -torch.inf).to(scores.dtype)
    if attn_mask is not None:
        scores = scores + attn_mask
    found = torch.matmul(scores.softmax(-1).to(dtype), value)
    if query is not whole:
        found, scores = (x.unflatten(0, whole.shape[:2]) for x in (found, scores))
    moves = _follows_rows(whole, found)
    found = found.transpose(1, 2) if moves else found
    if attn_mask is not None and not is_causal:
        empty = (attn_mask == -torch.inf).all(-1, keepdim=True)
        while moves and empty.ndim < 4:
            empty = empty.unsqueeze(0)
        found = torch.where(empty.transpose(1, 2) if moves else empty, 0, found)
    return found.contiguous().transpose(1, 2) if moves else found, scores.logsumexp(-1)


def _follows_rows(query: Any, found: Any) -> bool:
    """Whether torch's kernel leaves results in memory row by row, heads inside, as the query has them: views in the graph rely on it."""
    return query.ndim == 4 and query.shape[-1] == found.shape[-1] and guard_or_false(query.stride(1) < query.stride(2))


def _attend(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
            scale: float | None = None, enable_gqa: bool = False) -> Any:
    """The same op as torch.export leaves it."""
    found = _masked_attention(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    return found if found is NotImplemented else found[0]


_BATCH_NORM = aten._native_batch_norm_legit_functional.default
_OF_TORCH = torch._decomp.get_decompositions([_BATCH_NORM])
LAYERS = {
    aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    _BATCH_NORM: _batch_norm,
    aten._native_batch_norm_legit.no_stats: _own_batch_norm,
    aten.scaled_dot_product_attention.default: _attend,
    aten._scaled_dot_product_flash_attention_for_cpu.default: _masked_attention,
}
