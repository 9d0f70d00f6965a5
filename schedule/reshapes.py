"""Where an element of a tensor that reshapes and slices make of another lies in that other one."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC
from legato.schedule.state import ScheduleError

RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
VIEWS = (*RESHAPES, "tensor.cast", "tensor.extract_slice")


@dataclass(frozen=True)
class Joined:
    """An index made of several: the row-major position of ``parts`` in ``sizes``, of which all but the first are known."""

    parts: tuple[ir.AffineExpr, ...]
    sizes: tuple[int, ...]

    @property
    def expression(self) -> ir.AffineExpr:
        """The position as one expression."""
        found = self.parts[0]
        for part, size in zip(self.parts[1:], self.sizes[1:]):
            found = found * size + part
        return found


Index = ir.AffineExpr | Joined
Starts = Callable[[ir.Value], ir.Value | None]   # the tensor that the op of a result overwrites


def single(index: Index) -> ir.AffineExpr:
    """An index as one expression."""
    return index.expression if isinstance(index, Joined) else index


def groups_of(op: ir.Operation) -> list[list[int]]:
    """The axes of the longer shape that a reshape makes one axis of, or one axis into."""
    return [[axis.value for axis in group] for group in op.attributes["reassociation"]]


def long_axes(sizes: Sequence[int]) -> list[int]:
    """The axes whose size is not 1."""
    return [axis for axis, size in enumerate(sizes) if size != 1]


def joined(indices: Sequence[Index], sizes: Sequence[int]) -> Index:
    """The row-major position of indices in a shape."""
    axes = long_axes(sizes)
    if len(axes) <= 1:
        return indices[axes[0]] if axes else ir.AffineExpr.get_constant(0)
    kept = tuple(sizes[axis] for axis in axes)
    require_known(kept)
    return Joined(tuple(single(indices[axis]) for axis in axes), kept)


def spread(index: Index, sizes: Sequence[int]) -> list[Index]:
    """The indices in a shape of a row-major position."""
    axes = long_axes(sizes)
    found: list[Index] = [ir.AffineExpr.get_constant(0)] * len(sizes)
    if len(axes) == 1:
        found[axes[0]] = index
    kept = tuple(sizes[axis] for axis in axes)
    if len(axes) > 1 and isinstance(index, Joined) and index.sizes == kept:
        for axis, part in zip(axes, index.parts):
            found[axis] = part
    elif len(axes) > 1:
        require_known(kept)
        rest = single(index)
        for axis in reversed(axes[1:]):
            size = max(sizes[axis], 1)     # where an axis has no elements, none is looked up
            found[axis], rest = ir.AffineExpr.get_mod(rest, size), ir.AffineExpr.get_floor_div(rest, size)
        found[axes[0]] = rest
    return found


def require_known(sizes: Sequence[int]) -> None:
    """ScheduleError unless all sizes but the first are known."""
    if DYNAMIC in sizes[1:]:
        raise ScheduleError("a reshape of several axes of unknown size has no form as loops")


def source_indices(op: ir.Operation, indices: Sequence[Index]) -> list[Index]:
    """The indices into the source of a view for an element of its result."""
    source, result = op.operands[0].type.shape, op.results[0].type.shape
    if op.name == "tensor.cast":
        return list(indices)
    if op.name == "tensor.extract_slice":
        return slice_indices(op, indices)
    if op.name == "tensor.collapse_shape":
        if not result:
            return [ir.AffineExpr.get_constant(0)] * len(source)
        return [one for index, group in zip(indices, groups_of(op)) for one in spread(index, [source[axis] for axis in group])]
    return [joined([indices[axis] for axis in group], [result[axis] for axis in group]) for group in groups_of(op)]


def slice_indices(op: ir.Operation, indices: Sequence[Index]) -> list[Index]:
    """The indices into the source of a ``tensor.extract_slice``, or into the destination of a ``tensor.insert_slice``."""
    offsets, sizes, strides = (list(op.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides"))
    if DYNAMIC in (*offsets, *strides):
        raise ScheduleError(f"{op.name} at a place that is not known has no form as loops")
    small = (op.results[0] if op.name == "tensor.extract_slice" else op.operands[0]).type.shape
    found, given = [], list(indices)
    shape = list(small)
    for offset, size, stride in zip(offsets, sizes, strides):
        dropped = not shape or (size == 1 and shape[0] != 1)
        at: Index = ir.AffineExpr.get_constant(0) if dropped else given.pop(0)
        if not dropped:
            shape.pop(0)
        found.append(at if (offset, stride) == (0, 1) else single(at) * stride + offset)
    return found


def place(value: ir.Value, indices: Sequence[Index], started: Starts) -> tuple[ir.Value, list[ir.AffineExpr]]:
    """The tensor that ``value`` is a view of, or is computed in, and the indices there of an element."""
    places = list(indices)
    while (nearer := undone(value, started)) is not None or (nearer := source(value, started)) is not None:
        if nearer[1]:
            places = source_indices(value.owner.operation, places)
        value = nearer[0]
    return value, [single(one) for one in places]


def source(value: ir.Value, started: Starts) -> tuple[ir.Value, bool] | None:
    """What a value is a view of (True), or the tensor in whose place it is computed (False)."""
    start = started(value)
    if start is not None:
        return start, False
    if not isinstance(value.owner, ir.Block) and value.owner.name in VIEWS:
        return value.owner.operands[0], True
    return None


def undone(value: ir.Value, started: Starts) -> tuple[ir.Value, bool] | None:
    """The farthest tensor of the same shape behind reshapes that undo one another."""
    found, one = None, value
    while (nearer := source(one, started)) is not None:
        if nearer[1] and one.owner.name not in RESHAPES:
            break
        one = nearer[0]
        if one.type.shape == value.type.shape and list(one.type.shape).count(DYNAMIC) <= 1:
            found = one
    return None if found is None else (found, False)
