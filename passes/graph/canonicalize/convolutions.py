"""Patterns of relax-canonicalize: convolutions whose padding or taps say more than they need."""
import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims
from legato.passes.graph.rewriter import GraphRewriter, attributes


def pad_into_convolution(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A convolution of an image padded with zeros: the padding becomes the convolution's."""
    image, weight = op.operands
    pad = r.find(image, "pad", once=True)
    if pad is None:
        return None
    padding, attrs = attributes(pad), attributes(op)
    amounts, rank = padding["pads"], image.type.rank
    spatial = [axis for axis, letter in enumerate(attrs["data_layout"]) if letter not in "NC"]
    outside = [amounts[axis + half] for axis in range(rank) if axis not in spatial for half in (0, rank)]
    if padding["mode"] != "constant" or padding["value"] != 0 or any(outside) or min(amounts) < 0:
        return None
    extra = [amounts[axis] for axis in spatial] + [amounts[axis + rank] for axis in spatial]
    attrs["padding"] = [a + b for a, b in zip(attrs["padding"], extra)]
    return present(relax.op_class(op)).build(pad.operands[0], weight, **attrs)


def convolution_by_scalars(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A depthwise convolution by one element, of stride 1 and without padding: a multiplication of each channel."""
    image, weight = op.operands
    attrs, sizes = attributes(op), dims(weight.type)
    channels, axis = attrs["groups"], attrs["data_layout"].index("C")
    others = [size for size, letter in zip(sizes, attrs["kernel_layout"]) if letter != "O"]
    if any(size != 1 for size in others) or [dims(value.type)[axis] for value in (image, op.results[0])] != [channels] * 2:
        return None
    if any(attrs["padding"]) or any(step != 1 for step in attrs["strides"]) or op.results[0].type.element_type != image.type.element_type:
        return None
    shape, array = [channels] + [1] * (image.type.rank - 1 - axis), r.array(weight)
    return relax.multiply(image, relax.reshape(weight, shape) if array is None else r.constant(array.reshape(shape), weight))


def taps_in_padding(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A convolution by a constant without the outer taps that read nothing but padding in every window, as those far apart in a small
    image do. What they multiply by zero has to be finite."""
    image, weight = op.operands
    attrs, array = attributes(op), r.array(weight)
    sizes, out = dims(image.type), dims(op.results[0].type)
    axes = [axis for axis, letter in enumerate(attrs["data_layout"]) if letter not in "NC"]
    kernel = [axis for axis, letter in enumerate(attrs["kernel_layout"]) if letter not in "OI"]
    if array is None or 0 in array.shape:
        return None
    padding, taps = list(attrs["padding"]), [slice(None)] * array.ndim
    for number, (axis, place, step, dilation) in enumerate(zip(axes, kernel, attrs["strides"], attrs["dilations"])):
        size, windows, before, after = sizes[axis], out[axis], number, number + len(axes)
        if not isinstance(size, int) or not isinstance(windows, int):
            continue
        starts = [tap * dilation - padding[before] for tap in range(array.shape[place])]     # in the first window
        useful = [tap for tap, start in enumerate(starts) if start < size and start + (windows - 1) * step >= 0]
        if not useful:
            continue
        first = min(useful[0], padding[before] // dilation)     # an image can't be padded by less than nothing
        beyond = min(array.shape[place] - 1 - useful[-1], padding[after] // dilation)
        padding[before] -= first * dilation
        padding[after] -= beyond * dilation
        taps[place] = slice(first, array.shape[place] - beyond)
    kept = array[tuple(taps)]
    if kept.shape == array.shape or not np.isfinite(array).all():
        return None
    made = r.constant(np.ascontiguousarray(kept), weight)
    return present(relax.op_class(op)).build(image, made, **attrs | {"padding": padding})


PATTERNS = (
    ("conv1d conv2d conv3d", pad_into_convolution),
    ("conv1d conv2d conv3d", convolution_by_scalars),
    ("conv1d conv2d conv3d", taps_in_padding),
)
