"""TVM's graph ops that select elements and change shapes, with TVM's names, arguments and defaults, built from relax's ops.

Each function implements the op ``R.<its name>``. Sizes are ints and expressions of symbols.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.tvm.values import axis_of, full_of, ints, sizes, tensor, tensors

SCATTER = {"update": "none"}  # TVM's name: relax's name


# --- elements and slices ---

def take(x: Any, indices: Any, axis: int | None = None, mode: str = "fast") -> ir.Value:
    """Slices of x at ``indices`` along ``axis`` (None: of the flattened x). Modes clip and wrap need an axis of known size."""
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        x, axis = (x if x.type.rank == 1 else flatten(x)), 0
    if mode == "clip" or mode == "wrap":
        size = dims.dims(x.type)[axis]
        if not isinstance(size, int):
            raise Misuse(f"R.take with mode={mode!r} takes an axis whose size is a number")
        indices = relax.clip(indices, min=0.0, max=float(size - 1)) if mode == "clip" else relax.mod(*tensors(indices, size))
    elif mode != "fast":
        raise Misuse(f"R.take has the modes fast, clip and wrap, not {mode!r}")
    return relax.take(x, indices, axis=axis)


def strided_slice(x: Any, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: bool = False) -> ir.Value:
    """x[begin:end:strides] along ``axes``."""
    del assume_inbound
    return relax.strided_slice(tensor(x), sizes(begin), sizes(end), None if strides is None else ints(strides), ints(axes))


def flip(data: Any, axis: int) -> ir.Value:
    """Reverses an axis."""
    x = tensor(data)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    if isinstance(size, int):
        return relax.strided_slice(x, [size - 1], [-size - 1], [-1], [axis])
    ones = relax.broadcast_to(relax.constant(np.int64(1)), [size])
    return relax.take(x, relax.subtract(relax.sum(ones, axis=[0], keepdims=True), relax.cumsum(ones, axis=0)), axis=axis)


def gather_elements(data: Any, indices: Any, axis: int = 0) -> ir.Value:
    """out[i][j][k] = data[indices[i][j][k]][j][k] for axis 0; indices has the shape of the result."""
    return relax.gather_elements(tensor(data), tensor(indices), axis=axis)


def gather_nd(data: Any, indices: Any, batch_dims: int = 0) -> ir.Value:
    """The slices of data at the index tuples in the last dimension of ``indices``."""
    return relax.gather_nd(tensor(data), tensor(indices), batch_dims=batch_dims)


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update") -> ir.Value:
    """data with ``updates`` written at ``indices`` along ``axis``, combined by ``reduction``."""
    x, updates = tensors(data, updates)
    return relax.scatter_elements(x, tensor(indices), updates, axis=axis, reduction=SCATTER.get(reduction, reduction))


def scatter_nd(data: Any, indices: Any, updates: Any, reduction: str = "update") -> ir.Value:
    """data with ``updates`` written at the index tuples in the last dimension of ``indices``, combined by ``reduction``."""
    x, updates = tensors(data, updates)
    return relax.scatter_nd(x, tensor(indices), updates, reduction=SCATTER.get(reduction, reduction))


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> ir.Value:
    """``on_value`` at the index along a new axis of size ``depth``, ``off_value`` elsewhere; both numbers or R.prim_value(...)."""
    hot = relax.one_hot(tensor(indices), depth=depth, axis=axis, dtype="i32")
    dtype = "float32" if isinstance(on_value, float) or isinstance(off_value, float) else "int64"
    return relax.where(relax.equal(hot, full_of([], 1, "int32")), full_of([], on_value, dtype), full_of([], off_value, dtype))


# --- shapes ---

def reshape(x: Any, shape: Any) -> ir.Value:
    """The elements in row-major order in another shape, of which -1 is what is left, and 0 the size that x has there."""
    x, wanted = tensor(x), sizes(shape)
    own = dims.dims(x.type)
    return relax.reshape(x, [own[axis] if size == 0 and axis < len(own) else size for axis, size in enumerate(wanted)])


def flatten(x: Any) -> ir.Value:
    """The elements as one dimension."""
    x = tensor(x)
    shape = dims.dims(x.type)
    return x if len(shape) == 1 else relax.reshape(x, [dims.product(shape)])


def broadcast_to(x: Any, shape: Any) -> ir.Value:
    """Broadcasts x to ``shape``."""
    return relax.broadcast_to(tensor(x), sizes(shape))


def expand_dims(x: Any, axis: Any) -> ir.Value:
    """Inserts axes of size 1 at the places ``axis`` of the result."""
    return relax.expand_dims(tensor(x), axis=ints(axis))


def squeeze(x: Any, axis: Any = None) -> ir.Value:
    """Drops axes of size 1; None: all of them."""
    x = tensor(x)
    return relax.squeeze(x, axis=[n for n, size in enumerate(dims.dims(x.type)) if size == 1] if axis is None else ints(axis))


def permute_dims(x: Any, axes: Any = None) -> ir.Value:
    """Reorders axes; None reverses them."""
    x = tensor(x)
    return relax.permute_dims(x, list(range(x.type.rank))[::-1] if axes is None else ints(axes))


def concat(tensors: Any, axis: int = 0) -> ir.Value:
    """Joins tensors along an axis; ``axis=None`` flattens them first."""
    parts = [tensor(t) for t in (tensors if isinstance(tensors, (tuple, list)) else (tensors,))]
    if not parts:
        raise Misuse("R.concat takes one tensor or more")
    parts = [flatten(p) for p in parts] if axis is None else parts
    return relax.concat(parts, axis_of(0 if axis is None else axis, parts[0]))


def stack(tensors: Any, axis: int = 0) -> ir.Value:
    """Joins tensors of one shape along a new axis."""
    parts = [tensor(t) for t in (tensors if isinstance(tensors, (tuple, list)) else (tensors,))]
    if not parts:
        raise Misuse("R.stack takes one tensor or more")
    rank = parts[0].type.rank + 1
    place = axis + rank if axis < 0 else axis
    return relax.concat([relax.expand_dims(p, axis=[place]) for p in parts], place)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[ir.Value, ...]:
    """Parts of x along an axis: a number of equal sections (the last may be smaller), or the indices between parts."""
    x = tensor(x)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    if isinstance(indices_or_sections, int):
        if not isinstance(size, int) or not 1 <= indices_or_sections <= max(size, 1):
            raise Misuse(f"{size} cannot be split into {indices_or_sections} parts")
        step = -(-size // indices_or_sections)  # the last part may be smaller
        bounds = [min(part * step, size) for part in range(indices_or_sections + 1)]
    else:
        bounds = [0, *sizes(indices_or_sections), size]
    return tuple(relax.strided_slice(x, [a], [b], axes=[axis]) for a, b in pairwise(bounds))


def tile(data: Any, repeats: Any) -> ir.Value:
    """Repeats the whole tensor ``repeats`` times along each axis."""
    x, repeats = tensor(data), ints(repeats)
    rank = max(x.type.rank, len(repeats))
    if x.type.rank < rank:
        x = relax.reshape(x, [1] * (rank - x.type.rank) + list(dims.dims(x.type)))
    return relax.tile(x, repeats=[1] * (rank - len(repeats)) + repeats)


def repeat(data: Any, repeats: int, axis: int | None = None) -> ir.Value:
    """Repeats each element along ``axis`` (None: of the flattened tensor)."""
    x = tensor(data)
    x, axis = (flatten(x), 0) if axis is None else (x, axis_of(axis, x))
    shape = list(dims.dims(x.type))
    wide = relax.broadcast_to(relax.expand_dims(x, axis=[axis + 1]), [*shape[: axis + 1], repeats, *shape[axis + 1:]])
    return relax.reshape(wide, [*shape[:axis], shape[axis] * repeats, *shape[axis + 1:]])


OPS: dict[str, Any] = {f.__name__: f for f in (
    take, strided_slice, flip, gather_elements, gather_nd, scatter_elements, scatter_nd, one_hot, reshape, flatten, broadcast_to,
    expand_dims, squeeze, permute_dims, concat, stack, split, tile, repeat)}
