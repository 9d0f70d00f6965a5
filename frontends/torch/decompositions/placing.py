"""Tensors of given values, and values at given places of tensors, in terms of other ops."""
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.strided import in_order, memory_order

aten = torch.ops.aten


def _arange(start: Any, end: Any, step: Any = 1, *, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: bool | None = None) -> Any:
    """Numbers with a step, which the exporter counts in their own precision."""
    floats = any(isinstance(value, float) for value in (start, end, step))
    if not floats or not all(isinstance(value, (int, float)) for value in (start, end, step)):
        return NotImplemented
    count = math.ceil((end - start) / step)
    if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:     # torch counts in the result's type
        return (torch.arange(count, dtype=torch.int64, device=device) * int(step) + int(start)).to(dtype)
    numbers = torch.arange(count, dtype=torch.float64, device=device) * step + start
    return numbers.to(dtype if dtype is not None else torch.get_default_dtype())


def _linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, layout: Any = None, device: Any = None,
              pin_memory: bool | None = None) -> Any:
    """Numbers of a range between tensors, the first half counted from the start and the others from the end."""
    start, end = (value.to(torch.float64) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=torch.float64)
                  for value in (start, end))
    numbers = torch.arange(steps, dtype=torch.float64)
    step = (end - start) / max(steps - 1, 1)
    made = torch.where(numbers < (steps + 1) // 2, start + numbers * step, end - (steps - 1 - numbers) * step)
    return made.to(dtype if dtype is not None else torch.get_default_dtype())


def _unbind(x: Any, axis: int = 0) -> Any:
    """The parts along an axis whose size follows from one that only a call knows: the exporter takes each for one of a rank more."""
    count = x.shape[axis]
    return NotImplemented if isinstance(count, int) else [x.select(axis, place) for place in range(int(count))]


def _kaiser_window(count: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
                   pin_memory: bool | None = None) -> Any:
    """Kaiser's window, by the Bessel function."""
    if count < 2:
        return torch.ones(count, dtype=dtype if dtype is not None else torch.get_default_dtype())
    last = count if periodic else count - 1
    place = torch.arange(count, dtype=torch.float64) * (2 / last) - 1
    window = torch.i0(beta * (1 - place * place).clamp(min=0).sqrt()) / torch.i0(torch.full((), beta, dtype=torch.float64))
    return window.to(dtype if dtype is not None else torch.get_default_dtype())


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal by the places of its elements; the exporter sums them up with zeros, and with what a NaN makes of a zero."""
    rows = x.movedim((dim1, dim2), (-2, -1))
    height, width = rows.shape[-2:]
    down, right = max(0, -offset), max(0, offset)
    count = torch.sym_max(torch.sym_min(height - down, width - right), 0)
    numbers = torch.arange(count, device=x.device)
    return rows.flatten(-2).index_select(-1, (numbers + down) * width + numbers + right)


def _diagonal_scatter(x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """x with ``source`` on a diagonal, and in memory as x is: later views of it were made for that."""
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    rows, columns = x.shape[dim1], x.shape[dim2]
    row, column = torch.arange(rows).unsqueeze(-1), torch.arange(columns)
    first = max(0, -offset)     # the row of the diagonal's first element
    at = (row - first).clamp(0, source.shape[-1] - 1).expand(rows, columns)
    spread = source[..., at.reshape(-1)].reshape(*source.shape[:-1], rows, columns)
    spread = spread.movedim((-2, -1), (dim1, dim2)) if dim1 < dim2 else spread.transpose(-1, -2).movedim((-2, -1), (dim2, dim1))
    inside = (column - row == offset) & (row - first < source.shape[-1])
    shape = [1] * x.ndim
    shape[dim1], shape[dim2] = rows, columns
    inside = (inside if dim1 < dim2 else inside.transpose(0, 1)).reshape(shape)
    return torch.where(inside, in_order(memory_order(x), spread), x)


def _as_strided_scatter(x: Any, source: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """x with ``source`` at places that are counted in memory, and in memory as x is."""
    order = memory_order(x)
    if order is None or (storage_offset is None and x.storage_offset() != 0):
        return NotImplemented
    places = torch.full((), storage_offset or 0)
    for count, step in zip(size, stride):
        places = places.unsqueeze(-1) + torch.arange(count) * step
    ordered = x.permute(order)
    written = ordered.reshape(-1).scatter(0, places.reshape(-1), source.reshape(-1))
    return written.reshape(ordered.shape).permute([order.index(axis) for axis in range(x.ndim)])


def _nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """The places of the first ``size`` elements that are not 0, and rows of ``fill_value`` where there are fewer: [size, rank]."""
    if guard_or_false(x.numel() == 0) or not x.ndim:
        return torch.full((size, x.ndim), fill_value, dtype=torch.int64)
    set_ = x.to(torch.bool).reshape(-1)
    row = set_.to(torch.int64).cumsum(0) - 1
    row = torch.where(set_ & (row < size), row, size)
    at = torch.full((size + 1,), -1, dtype=torch.int64).scatter(0, row, torch.arange(set_.shape[0]))[:size]
    inner = [torch.sym_max(1, math.prod(x.shape[axis + 1:])) for axis in range(x.ndim)]
    columns = [at // step % torch.sym_max(1, length) for step, length in zip(inner, x.shape)]
    return torch.stack([torch.where(at < 0, fill_value, column) for column in columns], 1)


def _masked_select(x: Any, mask: Any) -> Any:
    """The elements of both in one shape where the mask holds."""
    x, mask = torch.broadcast_tensors(x, mask)
    return x.reshape(-1).index_select(0, mask.reshape(-1).nonzero().squeeze(1))


def _fitting(source: Any, index: Any) -> Any:
    """The part of ``source`` that an index of fewer elements writes, all of which the exporter takes; None where it is all of it."""
    if tuple(source.shape) == tuple(index.shape):
        return None
    for axis, size in enumerate(index.shape):
        source = source.narrow(axis, 0, size)
    return source


def _scatter(x: Any, axis: int, index: Any, source: Any, scatter: Callable[..., Any] = torch.scatter) -> Any:
    """Writes, or sums by ``torch.scatter_add``, by an index that is smaller than what it writes, and to a number."""
    if x.ndim == 0:
        return scatter(x.reshape(1), 0, index.reshape(-1), source.reshape(-1)).reshape(())
    fitting = _fitting(source, index)
    return NotImplemented if fitting is None else scatter(x, axis, index, fitting)


def _scatter_combined(x: Any, axis: int, index: Any, source: Any, *, reduce: str) -> Any:
    """Writes that are added to what is there, or multiplied by it."""
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    kind = {"add": "sum", "multiply": "prod"}[reduce]
    if x.ndim == 0:
        return x.reshape(1).scatter_reduce(0, index.reshape(-1), source.reshape(-1), kind).reshape(())
    return x.scatter_reduce(axis, index, source, kind)


def _scatter_number(x: Any, axis: int, index: Any, value: Any) -> Any:
    """Writes of a number to a number."""
    return NotImplemented if x.ndim else _scatter(x, 0, index, torch.full(index.shape, value, dtype=x.dtype))


def _flip(x: Any, axes: Any) -> Any:
    """A number, which has no axis."""
    return NotImplemented if x.ndim else x.clone()


def _squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of another size than 1 stay; ONNX's Squeeze, to which the exporter names them, has them be errors, or unknown."""
    named = range(x.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    axes = sorted({axis % x.ndim for axis in named}) if x.ndim else []
    single = [axis for axis in axes if guard_or_false(x.shape[axis] == 1)]
    if single == axes and dim is not None:
        return NotImplemented
    return aten.squeeze.dims(x, single) if single else aten.alias(x)


def _roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Rolls by sizes that a call tells, which the exporter writes of known ones only."""
    if not any(isinstance(shift, torch.SymInt) for shift in shifts):
        return NotImplemented
    if not dims:
        return _roll(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, axis in zip(shifts, dims):
        first = (x.shape[axis] - shift) % x.shape[axis]
        x = torch.cat([x.narrow(axis, first, x.shape[axis] - first), x.narrow(axis, 0, first)], axis)
    return x


def _scatter_reduce(x: Any, axis: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Means, of which the exporter takes the last element: sums divided by counts, which are 1 where nothing is written. Extremes of what
    is written alone, which it begins with the greatest finite number."""
    if (fitting := _fitting(source, index)) is not None:
        return x.scatter_reduce(axis, index, fitting, reduce, include_self=include_self)
    if reduce == "mean":
        total = x.scatter_reduce(axis, index, source, "sum", include_self=include_self)
        count = torch.ones_like(x).scatter_reduce(axis, index, torch.ones_like(source), "sum", include_self=include_self)
        return torch.div(total, count, rounding_mode=None if x.is_floating_point() else "floor")
    if reduce in ("amin", "amax") and not include_self and x.is_floating_point():
        begun = x.scatter(axis, index, torch.full_like(source, torch.inf if reduce == "amin" else -torch.inf))
        return begun.scatter_reduce(axis, index, source, reduce, include_self=True)
    return NotImplemented


def _index_reduce(x: Any, axis: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Slices of ``source`` reduced into those of x that ``index`` names."""
    if x.ndim == 0:
        return _index_reduce(x.reshape(1), 0, index, source.reshape(1), reduce, include_self=include_self).reshape(())
    shape = [1] * x.ndim
    shape[axis % x.ndim] = -1
    return x.scatter_reduce(axis, index.reshape(shape).expand(source.shape), source, reduce, include_self=include_self)


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """x with the elements of ``source`` at these places of all its elements."""
    flat, index, source = x.reshape(-1), index.reshape(-1), source.reshape(-1)
    index = torch.where(index < 0, index + flat.shape[0], index)
    return (flat.scatter_add(0, index, source) if accumulate else flat.scatter(0, index, source)).reshape(x.shape)


def _take(x: Any, index: Any) -> Any:
    """One element of all, by a number, which the exporter wants to know."""
    if index.ndim:
        return NotImplemented
    flat = x.reshape(-1)
    return flat.index_select(0, torch.where(index < 0, index + flat.shape[0], index).reshape(1)).reshape(())


def _copy(x: Any, source: Any, non_blocking: bool = False) -> Any:
    """The source in the shape and type of ``x``; the exporter does not broadcast it."""
    return NotImplemented if tuple(x.shape) == tuple(source.shape) else source.to(x.dtype).expand(x.shape).clone()


def _stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of several element types in the one that torch promotes them to."""
    if len({x.dtype for x in tensors}) == 1:
        return NotImplemented
    return torch.cat([x.unsqueeze(dim) for x in tensors], dim)


def _nonzero(x: Any) -> Any:
    """Of a number that is not zero, one row, which has no place in it."""
    return NotImplemented if x.ndim else torch.nonzero(x.reshape(1))[:, :0]


PLACING = {
    aten.nonzero.default: _nonzero,
    aten.copy.default: _copy,
    aten.stack.default: _stack,
    aten.unbind.int: _unbind,
    aten.scatter.src: _scatter,
    aten.scatter.value: _scatter_number,
    aten.scatter.reduce: _scatter_combined,
    aten.scatter.value_reduce: _scatter_combined,
    aten.flip.default: _flip,
    aten.roll.default: _roll,
    **dict.fromkeys((aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims), _squeeze),
    aten.scatter_add.default: partial(_scatter, scatter=torch.scatter_add),
    aten.scatter_reduce.two: _scatter_reduce,
    aten.index_reduce.default: _index_reduce,
    aten.put.default: _put,
    aten.take.default: _take,
    **dict.fromkeys((aten.arange.start, aten.arange.start_step), _arange),
    **dict.fromkeys((aten.linspace.Tensor_Tensor, aten.linspace.Tensor_Scalar, aten.linspace.Scalar_Tensor), _linspace),
    **dict.fromkeys((aten.diagonal.default, aten.diagonal_copy.default), _diagonal),
    **dict.fromkeys((aten.kaiser_window.default, aten.kaiser_window.periodic, aten.kaiser_window.beta), _kaiser_window),
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.as_strided_scatter.default: _as_strided_scatter,
    aten.masked_select.default: _masked_select,
    aten.nonzero_static.default: _nonzero_static,
}
