"""Parts of tensors: strided_slice, pad, triu, tril."""

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.attributes import Float, Int, Ints, Shape, Str
from legato.dialects.relax.axes import axes_of, check_length
from legato.dialects.relax.dims import Size, maximum, minimum, steps_between
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import MOVED, Operand, RelaxOp
from legato.dialects.relax.types import TensorType

_ENDS = (2**31 - 1, 2**31)     # magnitudes that exporters write for "up to the end", besides those beyond all axes
_BEYOND = 2**48


class StridedSlice(RelaxOp, name="strided_slice"):
    """Elements from `begin` up to `end`, in steps of `strides`, along some axes (the leading ones if `axes` is absent).

    As in numpy, negative integers count from the end, ranges are clipped to the axis, and negative strides walk backwards. Symbolic
    begins and ends are used as they are: at run time they must be between 0 and the size, and less for the begin of a negative stride.

    ```mlir
    %y = "relax.strided_slice"(%x) {begin = #relax.dims<[1]>, end = #relax.dims<[-1]>, axes = array<i64: 1>}
        : (tensor<2x8xf32>) -> tensor<2x6xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    begin = Shape()
    end = Shape()
    strides = Ints(None)
    axes = Ints(None)

    @staticmethod
    def result_type(x: TensorType, begin, end, strides, axes) -> TensorType:
        axes = axes_of(range(min(len(begin), x.rank)) if axes is None else axes, x.rank, "axes")
        strides = [1] * len(axes) if strides is None else strides
        for name, values in (("begin", begin), ("end", end), ("strides", strides)):
            check_length(values, len(axes), name, f"one for each of the axes {axes}")
        sizes = list(x.dims)
        for axis, b, e, stride in zip(axes, begin, end, strides):
            if stride == 0:
                raise InferenceError(f"attribute 'strides' is {list(strides)}, expected no 0")
            sizes[axis] = _slice_size(sizes[axis], b, e, stride)
        return x.with_dims(sizes)

    @staticmethod
    def compute(x, begin, end, strides, axes):
        axes = axes_of(range(len(begin)) if axes is None else axes, x.ndim)
        for axis, b, e, stride in zip(axes, begin, end, strides or [1] * len(axes)):
            x = x[(slice(None),) * axis + (slice(b, e, stride),)]
        return x


def is_far(place: int) -> bool:
    """Whether a begin or end stands for the end, or the beginning, of an axis of any size."""
    return abs(place) in _ENDS or abs(place) >= _BEYOND


def slice_begin(size: Size, begin: Size, stride: int) -> Size:
    """The first index of a slice of an axis of that size: ``begin`` counted from the front and clipped."""
    return _bound(size, begin, 0, size) if stride > 0 else _bound(size, begin, -1, size - 1)


def _slice_size(size: Size, begin: Size, end: Size, stride: int) -> Size:
    if all(isinstance(v, int) for v in (size, begin, end)):
        return len(range(*slice(begin, end, stride).indices(size)))
    stride = max(min(stride, _BEYOND), -_BEYOND)    # as far as any axis: sizes stay in i64
    if stride > 1 and isinstance(begin, int) and begin >= 0 and not is_far(begin):   # unclipped, so that every second of n is n // 2
        end = size + end if isinstance(end, int) and end < 0 and not is_far(end) else _bound(size, end, 0, size)
        return steps_between(begin, end, stride)
    last = _bound(size, end, 0, size) if stride > 0 else _bound(size, end, -1, size - 1)
    return steps_between(slice_begin(size, begin, stride), last, stride)


def _bound(size: Size, place: Size, low: Size, high: Size) -> Size:
    """A begin or end counted from the front and clipped to ``low`` ... ``high``; a symbolic one unchanged."""
    if not isinstance(place, int):
        return place
    if is_far(place):
        return high if place > 0 else low
    return maximum(size + place, low) if place < 0 else minimum(place, high)


class Pad(RelaxOp, name="pad"):
    """x with elements added before and after along each axis.

    They are `value`, or by `mode` the mirror image without the edge (reflect), the edge, or x repeated (wrap). `pads` lists the begin of
    each axis, then the end of each; negative ones remove elements.

    ```mlir
    %y = "relax.pad"(%x) {pads = array<i64: 0, 1, 0, 2>, value = 1.0 : f64} : (tensor<2x3xf32>) -> tensor<2x6xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    pads = Ints()
    mode = Str("constant", ("constant", "reflect", "edge", "wrap"))
    value = Float(0.0)

    @staticmethod
    def result_type(x: TensorType, pads, mode, value) -> TensorType:
        check_length(pads, 2 * x.rank, "pads", "the begin of each axis, then the end of each")
        sizes = []
        for axis, size in enumerate(x.dims):
            begin, end = pads[axis], pads[x.rank + axis]
            kept = size + min(begin, 0) + min(end, 0)
            if isinstance(kept, int) and kept < 0:
                raise InferenceError(f"attribute 'pads' is {pads}, which cuts off more than the {size} elements of axis {axis}")
            if isinstance(kept, int) and max(begin, end) > _most(mode, kept, max(begin, end)):
                raise InferenceError(f"attribute 'pads' is {pads}, too much for mode '{mode}' on axis {axis} of size {kept}")
            sizes.append(size + begin + end)
        return x.with_dims(sizes)

    @staticmethod
    def compute(x, pads, mode, value):
        rank = x.ndim
        if rank == 0:
            return x
        x = x[tuple(slice(max(-pads[a], 0), x.shape[a] - max(-pads[rank + a], 0)) for a in range(rank))]
        widths = [(max(pads[a], 0), max(pads[rank + a], 0)) for a in range(rank)]
        return np.pad(x, widths, mode, constant_values=x.dtype.type(value)) if mode == "constant" else np.pad(x, widths, mode)


def _most(mode: str, size: int, wanted: int) -> int:
    """The greatest padding that a mode allows at each side of an axis."""
    if mode == "constant":
        return wanted
    if mode == "reflect":
        return max(size - 1, 0)
    return wanted if size else 0


def _triangle(name: str, summary: str, k: int, function):
    def result_type(x: TensorType, k) -> TensorType:
        if x.rank < 2:
            raise InferenceError(f"operand 'x' must have rank 2 or more, has {list(x.dims)}")
        return x

    text = example(name, "%x", f"k = {k} : i64", "tensor<4x4xf32>", "tensor<4x4xf32>")
    define(name, summary, {"x": Operand(MOVED)}, lambda x, k: function(x, k), result_type, text, promotes=False, k=Int(0))


_triangle("triu", "The upper triangle of the last two axes, 0 below it; it starts `k` diagonals above the main one.", 1, np.triu)
_triangle("tril", "The lower triangle of the last two axes, 0 above it; it ends `k` diagonals above the main one.", -1, np.tril)
