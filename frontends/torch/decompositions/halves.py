"""Ops on f16 and bf16 that torch computes in f32, and rounds once at the end; its exporter rounds each step."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

HALVES = (torch.float16, torch.bfloat16)    # the types of such
aten = torch.ops.aten
_EXACT = ("amin", "amax")      # reductions that round nothing


def _in_f32(op: Callable[..., Any]) -> Callable[..., Any]:
    """The op on halves as that on f32, whose results are rounded."""
    def function(x: Any, *others: Any, **options: Any) -> Any:
        if x.dtype not in HALVES or any(one in _EXACT for one in others if isinstance(one, str)):
            return NotImplemented
        found = op(x.float(), *map(_widened, others), **options)
        return tuple(one.to(x.dtype) for one in found) if isinstance(found, tuple) else found.to(x.dtype)

    return function


def _widened(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in HALVES else value


def _transposed_convolution(x: Any, weight: Any, bias: Any, *others: Any) -> Any:
    """A transposed convolution whose sums are rounded behind the bias. ``others``: stride, padding, dilation, transposed, output_padding
    and groups, as of ``aten.convolution``."""
    if x.dtype not in HALVES or bias is None or not others[3]:
        return NotImplemented
    found = aten.convolution.default(x.float(), weight.float(), None, *others)
    return (found + bias.float().reshape(-1, *[1] * (weight.ndim - 2))).to(x.dtype)


WIDENED = {
    **{op: _in_f32(op) for op in (aten.lerp.Scalar, aten.lerp.Tensor, aten.scatter_add.default, aten.scatter_reduce.two,
                                  aten.index_add.default, aten.native_group_norm.default, aten.group_norm.default, aten.histc.default,
                                  aten._adaptive_avg_pool3d.default, aten.logcumsumexp.default, aten.upsample_linear1d.vec,
                                  aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec, aten.upsample_trilinear3d.vec)},
    aten.convolution.default: _transposed_convolution,
}
