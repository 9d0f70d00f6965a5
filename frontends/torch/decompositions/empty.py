"""Ops on tensors that are known to have no elements, for which the exporter reshapes to a -1 beside a 0, writes none of the results, or
fails."""
import functools
from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def is_empty(*sizes: Any) -> bool:
    """Whether one of the sizes is known to be 0."""
    return any(guard_or_false(size == 0) for size in sizes)


def _split(x: Any, size: Any, axis: int = 0) -> Any:
    """An axis without elements is one part."""
    return [x.narrow(axis, 0, 0)] if is_empty(x.shape[axis]) else NotImplemented


def _cat(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Vectors without elements, which torch joins to tensors of any rank, and the exporter drops."""
    if not all(x.ndim == 1 and is_empty(*x.shape) for x in tensors):
        return NotImplemented
    return torch.zeros(0, dtype=functools.reduce(torch.promote_types, [x.dtype for x in tensors]))


def _gather(x: Any, axis: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """No indices, whose rank may be another one."""
    return x.new_zeros(index.shape) if index.ndim != x.ndim and is_empty(*index.shape) else NotImplemented


def _scatter(x: Any, axis: int, index: Any, *_: Any, **__: Any) -> Any:
    """No indices, which place nothing."""
    return x.clone() if is_empty(*index.shape) else NotImplemented


def _index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, *_: Any) -> Any:
    """The same, of indices of several axes."""
    return x.clone() if any(index is not None and is_empty(*index.shape) for index in indices) else NotImplemented


def _pixel_shuffle(x: Any, factor: int) -> Any:
    """No channels, in blocks of pixels."""
    *batch, channels, height, width = x.shape
    return x.new_zeros((*batch, channels // factor**2, height * factor, width * factor)) if is_empty(*x.shape) else NotImplemented


def _pixel_unshuffle(x: Any, factor: int) -> Any:
    """No blocks of pixels, in channels."""
    *batch, channels, height, width = x.shape
    return x.new_zeros((*batch, channels * factor**2, height // factor, width // factor)) if is_empty(*x.shape) else NotImplemented


EMPTY = {
    aten.cat.default: _cat,
    aten.gather.default: _gather,
    **dict.fromkeys((aten.scatter.src, aten.scatter.value, aten.scatter.reduce, aten.scatter.value_reduce, aten.scatter_add.default,
                     aten.scatter_reduce.two), _scatter),
    **dict.fromkeys((aten.index_put.default, aten._unsafe_index_put.default), _index_put),
    aten.pixel_shuffle.default: _pixel_shuffle,
    aten.pixel_unshuffle.default: _pixel_unshuffle,
    aten.split.Tensor: _split,
}
