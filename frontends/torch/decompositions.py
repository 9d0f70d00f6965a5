"""Ops that torch's ONNX exporter lacks, or takes for others, in terms of others."""
import math
from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

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


def _avg_pool(x: Any, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,), ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: int | None = None) -> Any:
    """Average pooling with a divisor of its own, which the exporter drops: sums of whole windows, of an image with all its padding."""
    if divisor_override is None:
        return NotImplemented
    axes = len(kernel)
    stride, padding = (list(given) * (axes // len(given)) for given in (stride or kernel, padding))
    added: list[Any] = []
    for size, window, step, pad in zip(x.shape[-axes:], kernel, stride, padding):
        whole = size + 2 * pad
        if ceil_mode:
            count = (whole - window + step - 1) // step + 1
            count -= int((count - 1) * step >= size + pad)
            whole = max(whole, (count - 1) * step + window)
        added = [pad, whole - size - pad, *added]
    pool = functional.avg_pool2d if axes == 2 else functional.avg_pool3d
    return pool(functional.pad(x, added), list(kernel), stride) * (math.prod(kernel) / divisor_override)


def _scatter_reduce(x: Any, axis: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Means, of which the exporter takes the last element: sums divided by counts, which are 1 where nothing is written."""
    if reduce != "mean":
        return NotImplemented
    total = x.scatter_reduce(axis, index, source, "sum", include_self=include_self)
    count = torch.ones_like(x).scatter_reduce(axis, index, torch.ones_like(source), "sum", include_self=include_self)
    return torch.div(total, count, rounding_mode=None if x.is_floating_point() else "floor")


def _rounded(x: Any) -> Any:
    """Rounding, which ONNX has of floats only: integers are what they are."""
    return NotImplemented if x.is_floating_point() else x.clone()


def _isnan(x: Any) -> Any:
    """Whether elements are NaN, which no integer is."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else torch.zeros_like(x, dtype=torch.bool)


_BATCH_NORM = aten._native_batch_norm_legit_functional.default
_OF_TORCH = torch._decomp.get_decompositions([_BATCH_NORM])
DECOMPOSITIONS = {
    aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    _BATCH_NORM: _batch_norm,
    **dict.fromkeys((aten.avg_pool2d.default, aten.avg_pool3d.default), _avg_pool),
    aten.scatter_reduce.two: _scatter_reduce,
    aten.isnan.default: _isnan,
    **dict.fromkeys((aten.ceil.default, aten.floor.default, aten.trunc.default, aten.round.default), _rounded),
}
