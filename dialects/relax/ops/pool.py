"""Pools over sliding windows. Global pools are `mean` and `max` over the spatial axes."""

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax import window
from legato.dialects.relax.attributes import Bool, Ints, Str
from legato.dialects.relax.axes import check_length
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import FLOAT, NUMBER, Operand
from legato.dialects.relax.types import TensorType


def _result(rank):
    def result_type(x: TensorType, kernel, strides, padding, dilations, ceil_mode, layout, count_include_pad=False) -> TensorType:
        if x.rank != rank + 2:
            raise InferenceError(f"operand 'x' must have rank {rank + 2}, has {list(x.dims)}")
        check_length(kernel, rank, "kernel", "one per spatial axis")
        window.check_window(rank, strides, padding, dilations)
        if any(k < 1 for k in kernel):
            raise InferenceError(f"attribute 'kernel' is {kernel}, expected values of 1 or more")
        extents = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
        if any(p >= e for p, e in zip(padding, extents * 2)):
            why = "a window of nothing but padding has no value"
            raise InferenceError(f"attribute 'padding' is {padding}, expected less than the window's extents {extents}: {why}")
        first = window.data_layouts(rank)[0]
        batch, channels, *sizes = (x.dims[i] for i in window.order(layout, first))
        made = [batch, channels, *window.output_sizes(sizes, kernel, strides, padding, dilations, ceil_mode, overhang=True)]
        return x.with_dims(made[i] for i in window.order(first, layout))

    return result_type


def _padded(x, rank, kernel, strides, padding, dilations, count, fill):
    """x with its padding, and with more at the end if the last windows need it."""
    widths = [(0, 0), (0, 0)]
    for axis in range(rank):
        needed = (max(count[axis], 1) - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1
        widths.append((padding[axis], max(needed - x.shape[2 + axis] - padding[axis], 0)))
    return np.pad(x, widths, constant_values=fill)


def _max(rank):
    def max_pool(x, kernel, strides, padding, dilations, ceil_mode, layout):
        first = window.data_layouts(rank)[0]
        x = x.transpose(window.order(layout, first))
        count = window.output_sizes(x.shape[2:], kernel, strides, padding, dilations, ceil_mode, overhang=True)
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        padded = _padded(x, rank, kernel, strides, padding, dilations, count, lowest)
        view = window.windows(padded, kernel, strides, dilations, count)
        return view.max(axis=tuple(range(-rank, 0))).transpose(window.order(first, layout))

    return max_pool


def _arg_max(rank):
    def arg_max_pool(x, kernel, strides, padding, dilations, ceil_mode):
        count = window.output_sizes(x.shape[2:], kernel, strides, padding, dilations, ceil_mode, overhang=True)
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        places = np.arange(np.prod(x.shape[2:], dtype=int)).reshape(1, 1, *x.shape[2:])
        filled = [_padded(a, rank, kernel, strides, padding, dilations, count, fill) for a, fill in ((x, lowest), (places, -1))]
        taps, inside = (window.windows(a, kernel, strides, dilations, count) for a in filled)
        taps = taps.reshape(*taps.shape[:-rank], np.prod(kernel))
        inside = np.broadcast_to(inside.reshape(1, 1, *taps.shape[2:]), taps.shape)
        first = (inside >= 0).argmax(-1)    # of windows in which all elements are the lowest
        best = taps.argmax(-1)
        nan = taps != taps
        best = np.where(nan.any(-1), taps.shape[-1] - 1 - nan[..., ::-1].argmax(-1), best)
        best = np.where(np.take_along_axis(inside, best[..., None], -1)[..., 0] < 0, first, best)
        return np.take_along_axis(inside, best[..., None], -1)[..., 0].astype(np.int64)

    return arg_max_pool


def _arg_result(rank):
    pooled = _result(rank)

    def result_type(x: TensorType, kernel, strides, padding, dilations, ceil_mode) -> TensorType:
        layout = window.data_layouts(rank)[0]
        return pooled(x, kernel, strides, padding, dilations, ceil_mode, layout).with_dtype(np.int64)

    return result_type


def _average(rank):
    def avg_pool(x, kernel, strides, padding, dilations, ceil_mode, layout, count_include_pad):
        first = window.data_layouts(rank)[0]
        x = x.transpose(window.order(layout, first))
        taps = tuple(range(-rank, 0))
        count = window.output_sizes(x.shape[2:], kernel, strides, padding, dilations, ceil_mode, overhang=True)
        counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
        if count_include_pad:
            counted = np.pad(counted, [(0, 0), (0, 0), *zip(padding[:rank], padding[rank:])], constant_values=1)
            inside = _padded(counted, rank, kernel, strides, [0] * (2 * rank), dilations, count, 0)
        else:
            inside = _padded(counted, rank, kernel, strides, padding, dilations, count, 0)
        padded = _padded(x, rank, kernel, strides, padding, dilations, count, 0)
        sums = window.windows(padded, kernel, strides, dilations, count).sum(axis=taps)
        elements = window.windows(inside, kernel, strides, dilations, count).sum(axis=taps)
        return (sums / elements).transpose(window.order(first, layout))

    return avg_pool


def _windows(rank):
    return {"kernel": Ints(), "strides": Ints([1] * rank), "padding": Ints([0] * (2 * rank)), "dilations": Ints([1] * rank),
            "ceil_mode": Bool(False)}


def _example(name, rank, result):
    twos = f"array<i64: {', '.join(['2'] * rank)}>"
    return example(name, "%x", f"kernel = {twos}, strides = {twos}", f"tensor<1x4{'x8' * rank}xf32>", f"tensor<1x4{'x4' * rank}x{result}>")


def _pool(kind, rank):
    layouts = window.data_layouts(rank)
    average = kind == "avg"
    text = "The mean of" if average else "The greatest element of"
    detail = "\n\nPadding counts as elements of value 0 if `count_include_pad`; the part of a window past it (`ceil_mode`) never counts."
    define(
        f"{kind}_pool{rank}d",
        f"{text} each window over {rank} spatial {'axis' if rank == 1 else 'axes'}.\n\n"
        "`padding` lists the begin of each spatial axis, then the end of each. With `ceil_mode` a last window that starts inside the\n"
        f"input, or the padding before it, is kept although it extends past the end.{detail if average else ''}",
        {"x": Operand(FLOAT if average else NUMBER, f"input, {' or '.join(layouts)}")},
        (_average if average else _max)(rank),
        _result(rank),
        _example(f"{kind}_pool{rank}d", rank, "f32"),
        **_windows(rank),
        layout=Str(layouts[0], layouts),
        **({"count_include_pad": Bool(False)} if average else {}),
    )


def _arg_pool(rank):
    axes = f"{rank} spatial {'axis' if rank == 1 else 'axes'}"
    define(
        f"arg_max_pool{rank}d",
        f"Where the greatest element of each window over {axes} lies: its number among the elements of these axes, in row-major order.\n\n"
        f"Of equal elements the first counts; a NaN is greater than every number, and of several the last counts, as in torch.\n"
        f"The windows are those of `max_pool{rank}d`.",
        {"x": Operand(NUMBER, f"input, {window.data_layouts(rank)[0]}")},
        _arg_max(rank),
        _arg_result(rank),
        _example(f"arg_max_pool{rank}d", rank, "i64"),
        **_windows(rank),
    )


for _rank in (1, 2, 3):
    _pool("max", _rank)
    _arg_pool(_rank)
for _rank in (1, 2, 3):
    _pool("avg", _rank)
