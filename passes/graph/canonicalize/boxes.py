"""Patterns of relax-canonicalize: scatters at all places of a box, as exporters write assignments to slices: ``x[:, 1:, 2:4] = y``.

Their indices are ranges, one for each axis, expanded to all places of the box and joined; large ones are ops, small ones were folded to a
constant.

A scatter writes in place where it may, as a concatenation never does: few updates of a tensor that need not be copied stay scatters.
"""
import math
from dataclasses import dataclass

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims
from legato.dialects.relax.markers import DONATED
from legato.passes.graph.rewriter import GraphRewriter, dtype_of

COMBINED = {"add": relax.add, "mul": relax.multiply, "max": relax.maximum, "min": relax.minimum}
RESHAPES = ("reshape", "expand_dims", "squeeze")
COPIED = 8      # elements that are copied in the time that one tuple of indices takes


@dataclass(frozen=True)
class Range:
    """The indices along an axis of a box: ``count`` from ``start`` on, one for each place along ``axis`` of the tensor of indices; that is
    None for a single one."""

    start: int
    count: int
    axis: int | None


def scattered_box(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """``scatter_nd`` to a box: a concatenation of what is around it and the updates, or what these and the box's elements are combined
    to."""
    x, indices, updates = op.operands
    reduction, depth = relax.attributes_of(op)["reduction"], indices.type.shape[-1]
    if reduction != "none" and dtype_of(x) == np.bool_:
        return None     # arithmetic is of numbers
    sizes, grid = dims(x.type), indices.type.shape[:-1]
    known = [size for size in sizes[:depth] if isinstance(size, int)]
    if not depth or len(known) < depth or not indices.type.has_static_shape or 0 in (*known, *grid):
        return None
    if not (_is_copied(r, x) or (x.type.has_static_shape and COPIED * math.prod(grid) >= math.prod(x.type.shape))):
        return None
    ranges = _ranges(r, indices)
    if ranges is None:
        return None
    used = [one.axis for one in ranges if one.axis is not None]
    if used != sorted(set(used)) or any(size != 1 for axis, size in enumerate(grid) if axis not in used):
        return None     # other places, or some twice
    box = []
    for one, size in zip(ranges, known):
        start = one.start + size if one.start < 0 else one.start
        if start < 0 or start + one.count > size or (one.start < 0 and one.start + one.count > 0):
            return None
        box.append((start, start + one.count))
    updates = relax.reshape(updates, [*(one.count for one in ranges), *sizes[len(ranges):]])
    return _placed(x, updates, box, reduction)


def _is_copied(r: GraphRewriter, x: ir.Value) -> bool:
    """Whether a scatter writes to a copy of x in any case: a constant, or an argument of a function that donates none."""
    while (op := r.find(x, *RESHAPES)) is not None:
        x = op.operands[0]
    if not isinstance(x.owner, ir.Block):
        return r.is_constant(x)
    function = x.owner.owner.operation
    return function.name == "func.func" and DONATED not in function.attributes


def _ranges(r: GraphRewriter, indices: ir.Value) -> list[Range] | None:
    """The ranges for the axes, of tuples of indices; None for tuples of another form."""
    array, count = r.array(indices), indices.type.shape[-1]
    if array is not None:
        pieces = [array[..., number] for number in range(count)]
    else:
        joined = r.find(indices, "tensor.concat")
        if joined is None or relax.attributes_of(joined)["axis"] != indices.type.rank - 1 or len(joined.operands) != count:
            return None
        found = [_few(r, piece) for piece in joined.operands]
        pieces = [piece[..., 0] for piece in found if piece is not None]
    ranges = [_range(piece) for piece in pieces]
    return [one for one in ranges if one is not None] if len(ranges) == count and None not in ranges else None


def _few(r: GraphRewriter, value: ir.Value) -> np.ndarray | None:
    """The elements of a constant that is expanded and reshaped, with a size of 1 along axes where they are the same."""
    array = r.array(value)
    if array is not None:
        return array
    sizes = dims(value.type)
    if (op := r.find(value, "broadcast_to")) is not None:
        array = _few(r, op.operands[0])
        return None if array is None else array.reshape([1] * (len(sizes) - array.ndim) + list(array.shape))
    if (op := r.find(value, *RESHAPES)) is None or (array := _few(r, op.operands[0])) is None:
        return None
    given = dims(op.operands[0].type)
    if [size for size in given if size != 1] != [size for size in sizes if size != 1]:
        return None
    kept = iter([length for length, size in zip(array.shape, given) if size != 1])
    return array.reshape([1 if size == 1 else next(kept) for size in sizes])


def _range(piece: np.ndarray) -> Range | None:
    """The range that the indices of an axis are."""
    for axis in range(piece.ndim):
        first = piece.take([0], axis)
        piece = first if (piece == first).all() else piece
    varying = [axis for axis, size in enumerate(piece.shape) if size != 1]
    numbers = piece.reshape(-1).astype(np.int64)
    if len(varying) > 1 or (np.diff(numbers) != 1).any():
        return None
    return Range(int(numbers[0]), len(numbers), varying[0] if varying else None)


def _placed(x: ir.Value, updates: ir.Value, box: list[tuple[int, int]], reduction: str, axis: int = 0) -> ir.Value:
    """x with the updates in a box, from an axis on."""
    if axis == len(box):
        return updates if reduction == "none" else COMBINED[reduction](x, updates)
    begin, end = box[axis]

    def part(start: int, stop: int) -> ir.Value:
        return x if (start, stop) == (0, size) else relax.strided_slice(x, begin=[start], end=[stop], axes=[axis])

    size = x.type.shape[axis]
    parts = [part(0, begin)] if begin else []
    parts.append(_placed(part(begin, end), updates, box, reduction, axis + 1))
    parts += [part(end, size)] if end < size else []
    return parts[0] if len(parts) == 1 else relax.concat(parts, axis=axis)


PATTERNS = (("scatter_nd", scattered_box),)
