"""Ops about the order of elements in terms of sorts and comparisons."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _topk(x: Any, count: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The one element of a number, which has no axis."""
    return NotImplemented if x.ndim else (x.clone(), torch.zeros_like(x, dtype=torch.int64))


def _sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """A number, which has no axis, is in order; flags are sorted as bytes."""
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype != torch.bool:
        return NotImplemented
    values, places = x.to(torch.uint8).sort(axis, descending)
    return values.to(torch.bool), places


def _mode(x: Any, axis: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The most frequent elements along an axis, the least of several, and the last place of each; a NaN is equal to nothing."""
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, places = x.movedim(axis, -1).sort(-1)
    numbers = torch.arange(x.shape[axis], device=x.device)
    counts = (values.unsqueeze(-1) == values.unsqueeze(-2)).to(torch.int64).sum(-1)
    first = counts.argmax(-1, keepdim=True)
    at = torch.where(values == values.gather(-1, first), numbers, first).amax(-1, keepdim=True)
    value, place = (found.gather(-1, at).movedim(-1, axis) for found in (values, places))
    return _dropped(value, axis, keepdim), _dropped(place, axis, keepdim)


def _stable_sort(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """The exporter's sort is stable."""
    return x.sort(dim, descending)


def _kthvalue(x: Any, k: int, axis: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The k-th least elements along an axis, and where they are."""
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, places = (value.narrow(axis, k - 1, 1) for value in x.sort(axis))
    return _dropped(values, axis, keepdim), _dropped(places, axis, keepdim)


def _median(x: Any) -> Any:
    """The median of all elements, the lower of two; NaN where one is NaN, and of none."""
    if x.is_floating_point() and guard_or_false(x.numel() == 0):
        return torch.full((), torch.nan, dtype=x.dtype)
    return _median_of_axis(x.reshape(-1), 0)[0]


def _median_of_axis(x: Any, axis: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """Medians along an axis, and where they are; NaN where an element is NaN."""
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, places = x.sort(axis)
    middle = torch.full_like(values.narrow(axis, 0, 1), (x.shape[axis] - 1) // 2, dtype=torch.int64)
    nan = x.isnan()
    lost = nan.any(axis, keepdim=True)
    at = torch.where(lost, nan.to(torch.int64).argmax(axis, keepdim=True), places.gather(axis, middle))
    return _dropped(x.gather(axis, at), axis, keepdim), _dropped(at, axis, keepdim)


def _nanmedian(x: Any) -> Any:
    """The median of all elements that are numbers; NaN of none."""
    if x.is_floating_point() and guard_or_false(x.numel() == 0):
        return torch.full((), torch.nan, dtype=x.dtype)
    return _nanmedian_of_axis(x.reshape(-1), 0)[0]


def _nanmedian_of_axis(x: Any, axis: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """Medians along an axis of the elements that are numbers, and where they are."""
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    nan = x.isnan()
    numbers = (~nan).to(torch.int64).sum(axis, keepdim=True)
    values, _ = torch.where(nan, torch.full_like(x, torch.inf), x).sort(axis) if x.is_floating_point() else x.sort(axis)
    value = values.gather(axis, ((numbers - 1) // 2).clamp(min=0))
    at = (x == value).to(torch.int64).argmax(axis, keepdim=True)
    return _dropped(x.gather(axis, at), axis, keepdim), _dropped(at, axis, keepdim)


def _dropped(value: Any, axis: int, keepdim: bool) -> Any:
    return value if keepdim else value.squeeze(axis)


def _searchsorted(rows: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                  sorter: Any = None) -> Any:
    """For each value the number of elements of its row that are less, or, for ``right``, no greater. A NaN is greater than all numbers, and
    stands at the end of a row that is sorted; torch's own search skips what is before a NaN that it meets."""
    if sorter is not None:
        rows = rows.gather(-1, sorter)
    rows, wanted = rows.unsqueeze(-2), values.reshape(-1, 1) if rows.ndim == 1 else values.unsqueeze(-1)
    from_right = right or side == "right"
    before = rows <= wanted if from_right else rows < wanted
    if values.is_floating_point() or rows.is_floating_point():
        before = before | wanted.isnan()
    return before.to(torch.int64).sum(-1).reshape(values.shape).to(torch.int32 if out_int32 else torch.int64)


def _searchsorted_number(rows: Any, value: Any, **options: Any) -> Any:
    """The same of one number."""
    return _searchsorted(rows, torch.full((), value), **options)


def _bucketize(values: Any, bounds: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """For each value the number of bounds below it."""
    return _searchsorted(bounds, values, out_int32=out_int32, right=right)


ORDER = {
    aten.topk.default: _topk,
    aten.sort.default: _sort,
    aten.sort.stable: _stable_sort,
    aten.kthvalue.default: _kthvalue,
    aten.mode.default: _mode,
    aten.median.default: _median,
    aten.median.dim: _median_of_axis,
    aten.nanmedian.default: _nanmedian,
    aten.nanmedian.dim: _nanmedian_of_axis,
    aten.searchsorted.Tensor: _searchsorted,
    aten.searchsorted.Scalar: _searchsorted_number,
    aten.bucketize.Tensor: _bucketize,
}
