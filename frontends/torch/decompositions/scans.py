"""Running products, maxima, minima and sums of exponentials along an axis.

Along an axis of known size, in steps that double what each element covers; along one that only a call knows, by a matrix of what each
element covers.
"""
from collections.abc import Callable
from operator import ge, le
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _cumprod(x: Any, axis: int, *, dtype: Any = None) -> Any:
    """Running products; those of integers are int64."""
    x = x.to(dtype if dtype is not None else x.dtype if x.is_floating_point() or x.is_complex() else torch.int64)
    return _running(x, axis, torch.mul, lambda rows: rows.prod(-1), 1)


def _logcumsumexp(x: Any, axis: int) -> Any:
    """Logarithms of running sums of exponentials, none of which overflows."""
    return _running(x, axis, lambda new, old: _sum_of_exponentials(torch.stack([new, old], -1)), _sum_of_exponentials, -torch.inf)


def _running(x: Any, axis: int, combine: Callable[[Any, Any], Any], reduce: Callable[[Any], Any], neutral: Any) -> Any:
    """What ``combine(new, old)`` makes of each element and those before it along an axis; ``reduce``: of the last axis, where ``neutral``
    changes nothing."""
    if x.ndim == 0:
        return x.clone()
    axis %= x.ndim
    size = x.shape[axis]
    if not isinstance(size, int):
        rows = x.movedim(axis, -1).unsqueeze(-2)
        return reduce(torch.where(_covers(size, x), rows, torch.full_like(rows, neutral))).movedim(-1, axis)
    made, done = x.clone(), 1
    while done < size:
        rest = combine(made.narrow(axis, done, size - done), made.narrow(axis, 0, size - done))
        made = torch.cat([made.narrow(axis, 0, done), rest], axis)
        done *= 2
    return made


def _sum_of_exponentials(x: Any) -> Any:
    """The logarithm of the sum of the exponentials along the last axis."""
    greatest = x.amax(-1, keepdim=True)
    shift = torch.where(greatest.isinf(), torch.zeros_like(greatest), greatest)
    return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)


def _extreme(replaces: Callable[[Any, Any], Any], reduce: Callable[..., Any], least: Callable[[Any], Any]) -> Callable[..., Any]:
    """Running extremes, and the places of their last occurrence. ``replaces(new, old)``: whether a number takes the place of one before
    it, as a NaN always does; ``reduce``: of an axis; ``least(dtype)``: what changes none."""
    def cumulative(x: Any, axis: int) -> tuple[Any, Any]:
        if x.dtype == torch.bool:
            values, places = cumulative(x.to(torch.uint8), axis)
            return values.to(torch.bool), places
        if x.ndim == 0:
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        axis %= x.ndim
        return doubled(x, axis) if isinstance(x.shape[axis], int) else of_matrix(x, axis)

    def doubled(values: Any, axis: int) -> tuple[Any, Any]:
        size, done = values.shape[axis], 1
        places = torch.arange(size, device=values.device).view([-1 if i == axis else 1 for i in range(values.ndim)])
        values, places = values.clone(), places.expand(values.shape).clone()
        while done < size:
            new, old = values.narrow(axis, done, size - done), values.narrow(axis, 0, size - done)
            later = new.isnan() | (~old.isnan() & replaces(new, old))
            at = torch.where(later, places.narrow(axis, done, size - done), places.narrow(axis, 0, size - done))
            values = torch.cat([values.narrow(axis, 0, done), torch.where(later, new, old)], axis)
            places = torch.cat([places.narrow(axis, 0, done), at], axis)
            done *= 2
        return values, places

    def of_matrix(x: Any, axis: int) -> tuple[Any, Any]:
        size, rows = x.shape[axis], x.movedim(axis, -1).unsqueeze(-2)
        covered = torch.where(_covers(size, x), rows, torch.full_like(rows, least(x.dtype)))
        values = reduce(covered, -1, keepdim=True)
        same = _covers(size, x) & ((rows == values) | (rows.isnan() & values.isnan()))
        places = torch.where(same, torch.arange(size, device=x.device), -1).amax(-1)
        return values.squeeze(-1).movedim(-1, axis), places.movedim(-1, axis)

    return cumulative


def _covers(size: Any, x: Any) -> Any:
    """[size, size]: whether the element of the row takes in that of the column, which is the same or one before it."""
    places = torch.arange(size, device=x.device)
    return places.unsqueeze(-1) >= places


def _least(dtype: torch.dtype) -> Any:
    return -torch.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _greatest(dtype: torch.dtype) -> Any:
    return torch.inf if dtype.is_floating_point else torch.iinfo(dtype).max


SCANS = {
    aten.cumprod.default: _cumprod,
    aten.logcumsumexp.default: _logcumsumexp,
    aten.cummax.default: _extreme(ge, torch.amax, _least),
    aten.cummin.default: _extreme(le, torch.amin, _greatest),
}
