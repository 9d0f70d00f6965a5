"""Reductions of numbers, of nothing and of all axes, which the exporter writes with axes that do not exist, as others, or not at all."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _extreme(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce``: torch.amax or torch.amin."""
    def extreme(x: Any, axes: Sequence[int] = (), keepdim: bool = False) -> Any:
        if x.ndim == 0:
            return x.clone()
        return NotImplemented if axes else reduce(x, tuple(range(x.ndim)), keepdim)

    return extreme


def _vector_norm(x: Any, order: Any = 2, axes: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a number."""
    if x.ndim:
        return NotImplemented
    size = x.abs().to(dtype) if dtype is not None else x.abs()
    return (size != 0).to(size.dtype) if order == 0 else size


def _any(x: Any, *axes: Any, **options: Any) -> Any:
    """Whether not all are false; the exporter takes the greatest of them, which of nothing is true."""
    found = torch.logical_not(torch.all(torch.logical_not(x), *axes, **options))
    return found.to(x.dtype) if x.dtype == torch.uint8 else found


REDUCTIONS = {
    **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims), _any),
    aten.amax.default: _extreme(torch.amax),
    aten.amin.default: _extreme(torch.amin),
    aten.linalg_vector_norm.default: _vector_norm,
}
