"""Windows of images, and of volumes, with channels last, gathered along the channels."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims

FEW_CHANNELS = 16   # bytes, which are copied slower than longer pieces
MOST_TAPS = 11      # of a window's row, which loops on integers write out


def windows(x: ir.Value, kernel: Sequence[int], out: Sequence[dims.Size], strides: Sequence[int], dilations: Sequence[int]) -> ir.Value:
    """The windows [N, out..., taps * C] of a tensor [N, sizes..., C] without padding: the channels of each tap follow each other."""
    if {*kernel, *strides} == {1}:
        return x
    if x.type.shape[-1] < FEW_CHANNELS and 1 not in kernel and len(kernel) == 2:
        # longer pieces: those of the columns first, then those of the rows
        columns = windows(x, (1, kernel[1]), (dims.dims(x.type)[1], out[1]), (1, strides[1]), (1, dilations[1]))
        return windows(columns, (kernel[0], 1), out, (strides[0], 1), (dilations[0], 1))
    parts, axes = [], list(range(1, len(kernel) + 1))
    for place in np.ndindex(*kernel):
        begin = [k * d for k, d in zip(place, dilations)]
        end = [b + (size - 1) * s + 1 for b, size, s in zip(begin, out, strides)]
        parts.append(relax.strided_slice(x, begin=begin, end=end, strides=list(strides), axes=axes))
    return parts[0] if len(parts) == 1 else relax.concat(parts, len(kernel) + 1)
