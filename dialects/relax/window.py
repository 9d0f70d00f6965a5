"""Sliding windows, for convolutions and pools."""

from collections.abc import Sequence

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.axes import check_length
from legato.dialects.relax.dims import Size, ceil_divide, floor_divide, minimum

_BEYOND = 1 << 31   # of strides, dilations, paddings and windows: their products fit an i64
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def data_layouts(rank: int) -> tuple[str, str]:
    """The layouts of activations: channels first, channels last."""
    return f"NC{SPATIAL[rank]}", f"N{SPATIAL[rank]}C"


def kernel_layouts(rank: int) -> tuple[str, str, str]:
    """The layouts of convolution kernels: OIHW, HWIO, OHWI for two spatial axes."""
    return f"OI{SPATIAL[rank]}", f"{SPATIAL[rank]}IO", f"O{SPATIAL[rank]}I"


def order(layout: str, wanted: str) -> list[int]:
    """The axes of one layout in the order of another: ``order("NHWC", "NCHW") == [0, 3, 1, 2]``."""
    return [layout.index(letter) for letter in wanted]


def check_window(rank: int, strides: Sequence[int], padding: Sequence[int], dilations: Sequence[int]) -> None:
    """InferenceError unless there is a valid stride, padding (begins, then ends) and dilation for each spatial axis."""
    check_length(strides, rank, "strides", "one per spatial axis")
    check_length(padding, 2 * rank, "padding", "the begin of each spatial axis, then the end of each")
    check_length(dilations, rank, "dilations", "one per spatial axis")
    for name, values, least in (("strides", strides, 1), ("padding", padding, 0), ("dilations", dilations, 1)):
        if any(v < least for v in values):
            raise InferenceError(f"attribute '{name}' is {list(values)}, expected values of {least} or more")
        if any(v >= _BEYOND for v in values):
            raise InferenceError(f"attribute '{name}' is {list(values)}, expected values below 2**31")


def output_sizes(
    sizes: Sequence[Size],
    kernel: Sequence[Size],
    strides: Sequence[int],
    padding: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool = False,
    overhang: bool = False,
) -> list[Size]:
    """The number of windows along each spatial axis.

    With ``ceil_mode`` a last window that starts inside the input, or the padding before it, may extend past the end. A window larger than
    its padded axis is an InferenceError without ``overhang``. With it, for pools, one that exceeds the axis by less than a stride is one
    window, and by less than two none, as integer division in ONNX's shape inference has it.
    """
    rank, result = len(kernel), []
    for axis, (size, k, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations)):
        begin, end = padding[axis], padding[rank + axis]
        extent = dilation * (k - 1) + 1
        if isinstance(extent, int) and extent >= _BEYOND:
            raise InferenceError(f"a window of {k} with a dilation of {dilation} reaches over {extent} elements, expected less than 2**31")
        room = size + (begin + end - extent)
        if ceil_mode:
            count = minimum(ceil_divide(room, stride) + 1, floor_divide(size + (begin - 1), stride) + 1)
        else:
            count = floor_divide(room, stride) + 1
        if isinstance(room, int) and -stride < room < 0 and not ceil_mode:
            count = 1
        if (isinstance(count, int) and count < 0) or (isinstance(room, int) and room < 0 and not overhang):
            raise InferenceError(f"the window of {extent} is larger than spatial axis {axis}: {size} and a padding of {begin} + {end}")
        result.append(count)
    return result


def windows(x: np.ndarray, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], count: Sequence[int]) -> np.ndarray:
    """A view of a padded array [N, C, spatial...] as [N, C, windows..., taps...]."""
    rank = len(kernel)
    extents = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilations))
    view = np.lib.stride_tricks.sliding_window_view(x, extents, axis=tuple(range(2, 2 + rank)))
    starts = tuple(slice(0, n * s, s) for n, s in zip(count, strides))
    taps = tuple(slice(None, None, d) for d in dilations)
    return view[(slice(None), slice(None), *starts, *taps)]
