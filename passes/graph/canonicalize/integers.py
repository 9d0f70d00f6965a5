"""Patterns of relax-canonicalize: products of bytes, or of integers of 16 bits, in the form that kernels take.

A convolution of images with channels last is one kernel, where rows of its result fill register tiles. Others become matrix products of
their windows, whose bytes are copied next to each other: bytes are a fourth of the size of floats, so the copies cost little. A reduction
is padded to a multiple of four, the bytes that one lane sums, or of two.
"""
from collections.abc import Sequence
from math import prod

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.rewriter import GraphRewriter, attributes
from legato.passes.graph.windows import FEW_CHANNELS, MOST_TAPS, windows

LANE = 4    # bytes
FEW_POSITIONS = 7  # in a row: below, register tiles are mostly empty


def convolution(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """conv2d_integer of one group, with channels last and a constant kernel: a matmul_integer of its windows, unless computed directly, as
    images of known sizes mostly are."""
    x, w = op.operands
    attrs, weight = attributes(op), r.array(w)
    plain = (attrs["data_layout"], attrs["kernel_layout"]) == ("NHWC", "HWIO")
    if weight is None or not plain or any(attrs["padding"]):
        return None
    batch, *size, channels = dims.dims(x.type)
    out = dims.dims(op.results[0].type)
    if dims.UNKNOWN in (batch, *size, *out) or not isinstance(channels, int):
        return None
    positions = [one for one in out[1:3] if isinstance(one, int)]
    has_loops = len(positions) == 2 and all(isinstance(one, int) for one in size)      # which are of known sizes
    if attrs["groups"] > 1:
        return _direct(r, op, weight)
    if has_loops and _is_direct_by_rows(weight, positions, attrs["dilations"]):
        return None
    if has_loops and _is_direct(_with_whole_groups(weight, 2), positions, attrs["strides"]):
        return _direct(r, op, weight)
    gathered = windows(x, weight.shape[:2], out[1:3], attrs["strides"], attrs["dilations"])
    rows = relax.reshape(gathered, [dims.product([batch, *out[1:3]]), prod(weight.shape[:3])])
    sums = relax.matmul_integer(rows, r.constant(weight.reshape(-1, weight.shape[3]), w))
    return relax.reshape(sums, list(out))


def _is_direct(weight: np.ndarray, out: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a kernel computes the convolution, of whole groups of channels, without copies of its windows: neighbouring positions are
    rows of its register tiles. With strides, and of one group, only loops do (``tir-direct-convolutions``)."""
    height, width, channels, _ = weight.shape
    if (height, width) == (1, 1) or channels % (LANE // weight.itemsize) or out[1] < FEW_POSITIONS:
        return False
    return width <= MOST_TAPS or (tuple(strides) == (1, 1) and channels > LANE)


def _is_direct_by_rows(weight: np.ndarray, out: Sequence[int], dilations: Sequence[int]) -> bool:
    """Whether loops compute the convolution of few channels, in no whole groups, by groups of elements of a window's row."""
    height, width, channels, _ = weight.shape
    if channels >= FEW_CHANNELS or channels % (LANE // weight.itemsize) == 0 or width * channels < LANE or dilations[1] > 1:
        return False
    return (height, width) != (1, 1) and out[1] >= FEW_POSITIONS


def _direct(r: GraphRewriter, op: ir.Operation, weight: np.ndarray) -> ir.Value | None:
    """The convolution of an image with zeros around it as that of the image, padded by the kernel, which leaves out products of these; of
    whole groups of channels. None where it is this already."""
    x, w = op.operands
    attrs = attributes(op)
    missing = -weight.shape[2] % (LANE // weight.itemsize) if attrs["groups"] == 1 else 0
    pad = r.find(x, "pad")
    given = None if pad is None else attributes(pad)
    if pad is not None and given is not None and given["mode"] == "constant" and not given["value"] and min(given["pads"]) >= 0 \
            and not any(given["pads"][axis] for axis in (0, 3, 4, 7)):
        x, attrs = pad.operands[0], attrs | {"padding": [*given["pads"][1:3], *given["pads"][5:7]]}
    elif not missing:
        return None
    if missing:
        x, w = relax.pad(x, pads=[0] * 7 + [missing]), r.constant(_with_whole_groups(weight, 2), w)
    return relax.conv2d_integer(x, w, **attrs)


def _with_whole_groups(array: np.ndarray, axis: int) -> np.ndarray:
    missing = -array.shape[axis] % (LANE // array.itemsize)
    return np.pad(array, [(0, missing if at == axis else 0) for at in range(array.ndim)])


def whole_groups(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """matmul_integer by a constant matrix of a row for each step of the reduction: that padded to whole groups."""
    a, b = op.operands
    weight, axis = r.array(b), attributes(op)["kernel_layout"].index("I")
    group = LANE // max(numpy_dtype(value.type.element_type).itemsize for value in (a, b))
    if weight is None or weight.ndim > 2 or axis or not weight.shape[0] % group:
        return None
    padded = relax.pad(a, pads=[0] * (2 * a.type.rank - 1) + [-weight.shape[0] % group])
    return relax.matmul_integer(padded, r.constant(_with_whole_groups(weight, 0), b))


PATTERNS = (("conv2d_integer", convolution), ("matmul_integer", whole_groups))
