"""Elements repeated in place: of tensors without elements, for which the exporter reshapes to a -1 beside a 0, and by a number that is a
size, for which it repeats another axis."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.empty import is_empty

aten = torch.ops.aten


def _repeat_each(x: Any, count: Any, axis: int | None = None, *, output_size: Any = None) -> Any:
    """Each element as often as the others: of no elements, or by a size that only a call knows."""
    if is_empty(*x.shape):
        return x.new_zeros(_repeated_shape(x, axis, count))
    if isinstance(count, int):
        return NotImplemented
    x, at = (x.flatten(), 0) if axis is None else (x, axis % x.ndim)
    return x.unsqueeze(at + 1).expand(*x.shape[:at + 1], count, *x.shape[at + 1:]).flatten(at, at + 1)


def _repeat_by_data(x: Any, counts: Any, axis: int | None = None, *, output_size: Any = None) -> Any:
    """The elements of an axis that has none, each as often as data says."""
    if not is_empty(*(x.shape if axis is None else [x.shape[axis]])):
        return NotImplemented
    return x.new_zeros(_repeated_shape(x, axis, 1))


def _repeated_shape(x: Any, axis: int | None, count: Any) -> list[Any]:
    if axis is None:
        return [0]
    shape = list(x.shape)
    shape[axis] = shape[axis] * count
    return shape


REPEATS = {aten.repeat_interleave.self_int: _repeat_each, aten.repeat_interleave.self_Tensor: _repeat_by_data}
