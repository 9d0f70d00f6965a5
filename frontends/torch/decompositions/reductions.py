"""Reductions of numbers, of nothing and of all axes, which the exporter writes with axes that do not exist, as others, or not at all."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES

aten = torch.ops.aten


def _extreme(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce``: torch.amax or torch.amin."""
    def extreme(x: Any, axes: Sequence[int] = (), keepdim: bool = False) -> Any:
        if x.ndim == 0:
            return x.clone()
        return NotImplemented if axes else reduce(x, tuple(range(x.ndim)), keepdim)

    return extreme


def _vector_norm(x: Any, order: Any = 2, axes: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a number; of halves, whose powers are in f32; and of all axes, which stay where ``keepdim`` asks for it."""
    if x.ndim and x.dtype in HALVES and order != 0 and abs(order) != float("inf"):
        wide = torch.float32 if dtype is None or dtype in HALVES else dtype
        return torch.linalg.vector_norm(x.to(wide), order, axes, keepdim).to(dtype or x.dtype)
    if x.ndim and keepdim and not axes:
        return torch.linalg.vector_norm(x, order, tuple(range(x.ndim)), True, dtype=dtype)
    if x.ndim:
        return NotImplemented
    size = x.abs().to(dtype) if dtype is not None else x.abs()
    return (size != 0).to(size.dtype) if order == 0 else size


def _of_number(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce`` of a number along an axis, which it lacks: as of one element."""
    def of_number(x: Any, *axes: Any, **options: Any) -> Any:
        if x.ndim:
            return NotImplemented
        found = reduce(x.reshape(1), 0, **{name: value for name, value in options.items() if name != "dim"})
        return tuple(one.reshape(()) for one in found) if isinstance(found, tuple) else found.reshape(())

    return of_number


def _all(x: Any, *axes: Any, **options: Any) -> Any:
    """Whether a number is not zero; of bytes, which torch answers with bytes."""
    if x.ndim and x.dtype != torch.uint8:
        return NotImplemented
    found = torch.all(x != 0, *axes, **options) if x.ndim else x != 0
    return found.to(torch.uint8) if x.dtype == torch.uint8 else found


def _prod(x: Any, axis: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product of a number, which has no axis."""
    return NotImplemented if x.ndim else x.prod(dtype=dtype)


def _any(x: Any, *axes: Any, **options: Any) -> Any:
    """Whether not all are false; the exporter takes the greatest of them, which of nothing is true."""
    found = torch.logical_not(torch.all(torch.logical_not(x), *axes, **options))
    return found.to(x.dtype) if x.dtype == torch.uint8 else found


def _histogram(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements each of equal parts of a range has; of the range of the elements, where none is given."""
    if guard_or_false(x.numel() == 0):
        return torch.zeros(bins, dtype=x.dtype)
    x = x.reshape(-1)
    if min != max:
        return NotImplemented
    low, high = x.amin(), x.amax()
    low, high = torch.where(low == high, low - 1, low), torch.where(low == high, high + 1, high)
    part = ((x - low) / (high - low) * bins).to(torch.int64).clamp(0, bins - 1)
    return torch.zeros(bins, dtype=x.dtype).scatter_add(0, part, torch.ones_like(x))


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Sums of the weights of each number, as many as there are counts; the exporter writes the counts."""
    if weights is None:
        return NotImplemented
    dtype = weights.dtype if weights.dtype == torch.float32 else torch.float64
    return torch.zeros_like(torch.bincount(x, minlength=minlength), dtype=dtype).scatter_add(0, x.to(torch.int64), weights.to(dtype))


REDUCTIONS = {
    aten.bincount.default: _bincount,
    aten.histc.default: _histogram,
    **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims), _any),
    **dict.fromkeys((aten.all.default, aten.all.dim, aten.all.dims), _all),
    aten._is_all_true.default: torch.all,
    aten._is_any_true.default: torch.any,
    aten.prod.dim_int: _prod,
    aten.var.correction: _of_number(torch.var),
    aten.std.correction: _of_number(torch.std),
    aten.var_mean.correction: _of_number(torch.var_mean),
    aten.std_mean.correction: _of_number(torch.std_mean),
    aten.amax.default: _extreme(torch.amax),
    aten.amin.default: _extreme(torch.amin),
    aten.linalg_vector_norm.default: _vector_norm,
}
