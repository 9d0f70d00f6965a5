"""Ops on flags that ONNX has of numbers only."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _limit(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """``combine``: the greater flag of two is set where one of them is, the lesser where both are."""
    def limit(x: Any, bound: Any) -> Any:
        return combine(x, bound) if x.dtype == bound.dtype == torch.bool else NotImplemented

    return limit


def _extreme(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Greatest or least flags along an axis, and where they are, as of bytes."""
    def extreme(x: Any, axis: int, keepdim: bool = False) -> Any:
        if x.dtype != torch.bool:
            return NotImplemented
        values, places = reduce(x.to(torch.uint8), axis, keepdim)
        return values.to(torch.bool), places

    return extreme


def _addr(x: Any, column: Any, row: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """An outer product of flags, beside others."""
    if not x.dtype == column.dtype == row.dtype == torch.bool:
        return NotImplemented
    product = torch.logical_and(column.unsqueeze(-1), row) if alpha else torch.zeros(*column.shape, *row.shape, dtype=torch.bool)
    return torch.logical_or(x, product) if beta else product


def _power(x: Any, exponent: Any) -> Any:
    """Powers of flags are those of integers."""
    return x.to(torch.int64).pow(exponent) if x.dtype == torch.bool and type(exponent) is int else NotImplemented


FLAGS = {
    aten.clamp_max.Tensor: _limit(torch.logical_and),
    aten.clamp_min.Tensor: _limit(torch.logical_or),
    aten.max.dim: _extreme(torch.max),
    aten.min.dim: _extreme(torch.min),
    aten.addr.default: _addr,
    aten.pow.Tensor_Scalar: _power,
}
