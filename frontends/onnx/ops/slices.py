"""Slices, splits, concatenation, padding, tiles and triangles."""
import math

import numpy as np

from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Dim, Size, maximum, minimum, symbols
from legato.dialects.relax.ops.slice import is_far
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.folding import is_at_least
from legato.frontends.onnx.ops.run_time_slices import pad_by_data, read_around, slice_by_data, split_by_data
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import KNOWN_ELEMENTS


def _bounds(node) -> tuple[list[int], list[Size], list[Size], list[int]]:
    """Axes, starts, ends and steps of Slice: attributes before opset 10, inputs since."""
    rank = node.rank()
    if node.version < 10:
        starts, ends = node.integers("starts"), node.integers("ends")
        axes, steps = node.integers("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        starts, ends = node.sizes(1, "the starts"), node.sizes(2, "the ends")
        axes = node.ints(3, "axes") if node.given(3) else list(range(len(starts)))
        steps = node.ints(4, "steps") if node.given(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Malformed(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} must have one length")
    if 0 in steps:
        raise Malformed(f"steps {steps} must not be 0")
    return node.axes(axes, rank), starts, ends, steps


def _placed(place: Size, size: Size) -> Size:
    """A start or end of a positive step, normalized as far as its symbols allow: counted from the front, and clipped to the size."""
    if isinstance(place, int):
        if isinstance(size, int):
            return place
        return (size if place > 0 else 0) if is_far(place) else place
    if is_at_least(-place, 0):     # it counts from the end unless it is 0, as -(n // 3) is for small n
        place = place + size * minimum(-place, 1)
    return size if is_at_least(place - size, 0) else place


def _placed_backwards(place: Size, size: Size, is_start: bool) -> Size:
    """A start or end of a negative step, normalized as far as its symbols allow.

    strided_slice, as numpy, clips starts to -1: a start before the axis takes nothing there, and the first element in ONNX.
    """
    if isinstance(place, int):
        if not is_start or place >= -1:
            return place
        place = 0 if is_far(place) else dims.maximum(size + place, 0)
    elif is_at_least(-place, 1):
        place = dims.maximum(size + place, 0) if is_start else size + place
    return dims.minimum(place, size - 1) if isinstance(place, Dim) or (isinstance(size, int) and size) else place


def _may_be_nothing(node, place: Size) -> bool:
    """Whether a place is a number of elements from the end that data gives, which may be 0: the place is the beginning then."""
    from_end = isinstance(place, Dim) and is_at_least(-place, 0, symbols_from=0) and not is_at_least(-place, 1, symbols_from=0)
    return from_end and not symbols(place) <= dims.symbol_table(node.emitter.function).keys()


def _fold_slice(node, data, *_inputs):
    axes, starts, ends, steps = _bounds(node)
    if any(isinstance(place, Dim) for place in (*starts, *ends)):
        return None
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        size = data.shape[axis]
        index[axis] = slice(max(start, -size), None if end < -size else end, step) if step < 0 else slice(start, end, step)
    return data[tuple(index)]


@op("Slice", 1, 10, 11, 13, fold=_fold_slice)
def slice_(node):
    """Slice."""
    if node.version >= 10 and node.by_data(1, 2, 3, 4):
        return slice_by_data(node)
    axes, starts, ends, steps = _bounds(node)
    if node.version >= 10 and any(_may_be_nothing(node, place) for place in (*starts, *ends)):
        return slice_by_data(node)
    sizes = node.dims()
    begin, end = [], []
    for axis, start, place, step in zip(axes, starts, ends, steps):
        size = sizes[axis]
        begin.append(_placed(start, size) if step > 0 else _placed_backwards(start, size, is_start=True))
        end.append(_placed(place, size) if step > 0 else _placed_backwards(place, size, is_start=False))
    return relax.strided_slice(node.x(), begin=begin, end=end, strides=steps if set(steps) != {1} else None, axes=axes)


def _parts(node) -> tuple[int, list[Size]]:
    """The axis of Split and the sizes of its outputs."""
    axis = node.axis(node.integer("axis", 0), node.rank())
    size, count = node.dims()[axis], len(node.used)
    if node.version < 13:
        parts = node.integers("split", None)
    else:
        parts = node.sizes(1, "the split") if node.given(1) else None
    if node.version >= 18 and node.integer("num_outputs", count) != count:
        raise Malformed(f"num_outputs = {node.integer('num_outputs')}, but it has {count} outputs")
    if parts is not None:
        if len(parts) != count or (isinstance(size, int) and isinstance(sum(parts), int) and sum(parts) != size):
            raise Malformed(f"split = {parts} does not make {count} outputs of an axis of size {size}")
        if (total := sum(parts)) != size:
            node.require_equal(total, size, f"parts of {', '.join(map(str, parts))} to make {size}, the size of axis {axis}")
        return axis, parts
    if isinstance(size, int):
        part = -(-size // count)
        if node.version < 18 and size % count:
            raise Malformed(f"an axis of size {size} does not split into {count} equal parts")
        return axis, [min(part, max(size - part * i, 0)) for i in range(count)]
    if node.version < 18:  # the opset requires equal parts
        part = dims.floor_divide(size, count)
        node.require_equal(part * count, size, f"{size}, the size of axis {axis}, to split into {count} equal parts")
        return axis, [part] * count
    part = dims.ceil_divide(size, count)
    return axis, [part, *(minimum(part, maximum(size - part * i, 0)) for i in range(1, count))]   # the last may be empty


def _fold_split(node, data, _split=None):
    axis, parts = _parts(node)
    return np.split(data, np.cumsum([int(part) for part in parts])[:-1].tolist(), axis=axis)


@op("Split", 2, 11, 13, 18, fold=_fold_split)
def split(node):
    """Split; outputs that nothing reads are not built."""
    if node.version >= 13 and node.by_data(1):
        return split_by_data(node, node.used)
    axis, parts = _parts(node)
    x, results, begin = node.x(), [], 0
    for part, used in zip(parts, node.used):
        results.append(relax.strided_slice(x, begin=[begin], end=[begin + part], axes=[axis]) if used else x)
        begin = begin + part
    return tuple(results)


@op("Concat", 4, 11, 13, fold=lambda node, *arrays: np.concatenate(arrays, axis=node.integer("axis")))
def concat(node):
    """Concat."""
    axis = node.axis(node.integer("axis"), node.rank())
    return relax.concat(node.xs(), axis=axis) if len(node) > 1 else node.value(0)


def _pads(node) -> list[Size]:
    """The begins of all axes, then the ends."""
    rank = node.rank()
    if node.version < 11:
        pads = node.integers("pads")
    else:
        pads = node.sizes(1, "the pads")
    axes = list(range(rank))
    if node.version >= 18 and node.given(3):
        axes = node.axes(node.ints(3, "axes"), rank)
    if len(pads) != 2 * len(axes):
        raise Malformed(f"pads = {pads}: expected {2 * len(axes)} values")
    begins, ends = dict(zip(axes, pads)), dict(zip(axes, pads[len(axes) :]))
    return [begins.get(axis, 0) for axis in range(rank)] + [ends.get(axis, 0) for axis in range(rank)]


@op("Pad", 2, 11, 13, 18, 19, 21, 23, 24, 25)
def pad(node):
    """Pad, by any mode; pads may be data or symbolic sizes."""
    mode = node.text("mode", "constant", "reflect", "edge", "wrap")
    if node.version < 11:
        value = node.number("value", 0.0)
    else:
        if node.by_data(1, 3):
            return pad_by_data(node, mode, _filling(node))
        if node.by_data(2) and mode == "constant":
            return _pad_by_sizes(node, _pads(node), mode, _filling(node))
        value = node.scalar(2, "the constant_value") if node.given(2) and mode == "constant" else 0
        node.ignore_input(2)
    pads = _pads(node)
    if not any(isinstance(p, Dim) for p in pads):
        if float(value) != value:
            raise Refused(f"a constant_value of {value} is not supported")
        return relax.pad(node.x(), pads=pads, mode=mode, value=float(value))
    return _pad_by_sizes(node, pads, mode, node.literal(value, node.dtype()))


def _filling(node):
    """The value that Pad fills with, as a tensor of rank 0."""
    return relax.reshape(node.x(2), shape=[]) if node.given(2) else node.literal(0, node.dtype())


def _pad_by_sizes(node, pads: list[Size], mode: str, value):
    """Padding with symbolic sizes, axis by axis: what negative ones take away is cut off; what others add is concatenated, or read from
    places inside."""
    x, rank = node.x(), node.rank()
    for axis in range(rank):
        (before, cut), (behind, cut_behind) = ((maximum(size, 0), maximum(-size, 0)) for size in (pads[axis], pads[rank + axis]))
        if cut != 0 or cut_behind != 0:
            size = relax.TensorType.of(x.type).dims[axis]
            node.require_at_least(size, cut + cut_behind, f"{size}, the size of axis {axis}, to be what is taken away of it, or more")
            x = relax.strided_slice(x, begin=[cut], end=[size - cut_behind], axes=[axis])
        sizes = list(relax.TensorType.of(x.type).dims)
        if before == 0 and behind == 0:
            continue
        if mode == "constant":
            parts = [x if size is None else relax.broadcast_to(value, shape=[*sizes[:axis], size, *sizes[axis + 1:]])
                     for size in (before, None, behind) if size != 0]
            x = relax.concat(parts, axis=axis)
        else:
            x = read_around(node, x, axis, before, behind, mode)
    return x


def _fold_tile(node, data, repeats):
    if repeats.dtype == object or not 0 <= data.size * math.prod(repeats.tolist()) <= KNOWN_ELEMENTS:
        return None
    return np.tile(data, repeats.tolist())


@op("Tile", 6, 13, fold=_fold_tile)
def tile(node):
    """Tile."""
    if node.by_data(1):
        repeats = run_time.integers(node, 1, "repeats")
        return relax.tile(node.x(), repeats=run_time.symbols(node, repeats, "repeat"))
    return relax.tile(node.x(), repeats=node.sizes(1, "the repeats"))


@op("Trilu", 14)
def trilu(node):
    """Trilu: the upper or lower triangle."""
    k = 0 if not node.given(1) or node.by_data(1) else node.size(1, "k")
    if node.by_data(1) or not isinstance(k, int):
        return _triangle_at_run_time(node)
    return (relax.triu if node.flag("upper", True) else relax.tril)(node.x(), k=k)


def _triangle_at_run_time(node):
    """The triangle at a diagonal that is data or a symbolic size: a comparison of the places of rows and columns."""
    if node.rank() < 2:
        raise Malformed(f"operand 'x' must have rank 2 or more, has {list(node.dims())}")
    rows, columns = (run_time.counted(size) for size in node.dims()[-2:])
    from_diagonal = relax.subtract(columns, relax.expand_dims(rows, axis=[1]))
    diagonal = run_time.integers(node, 1, "diagonals")
    keeps = (relax.greater_equal if node.flag("upper", True) else relax.less_equal)(from_diagonal, diagonal)
    return relax.where(keeps, node.x(), node.literal(0, node.dtype()))


ENTRIES = (slice_, split, concat, pad, tile, trilu)
