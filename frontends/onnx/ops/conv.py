"""Convolutions and transposed convolutions."""
from typing import NamedTuple

from legato.dialects import relax
from legato.dialects.relax.dims import Size, ceil_divide, floor_divide
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import plus
from legato.frontends.onnx.ops.windows import auto_padding, check_kernel, read_window, shifted
from legato.frontends.onnx.problems import Refused


def _with_bias(node, y, rank: int):
    """y plus a bias per channel, if the node has one."""
    if not node.given(2):
        return y
    node.require_shape(2, "bias", [relax.TensorType.of(y.type).dims[1]])
    return plus(y, relax.expand_dims(node.x(2), axis=list(range(1, rank + 1))))


@op("Conv", 1, 11, 22)
def conv(node):
    """Conv. Negative padding becomes a relax.pad before it."""
    window, groups = read_window(node, node.dims(1)[2:]), node.integer("group", 1)
    x, window = shifted(node, node.x(0), window, 0.0)
    padding = window.padding
    if any(p < 0 for p in padding):
        x, padding = relax.pad(x, pads=[0, 0, *padding[: window.rank], 0, 0, *padding[window.rank :]]), [0] * len(padding)
    y = getattr(relax, f"conv{window.rank}d")(
        x, node.x(1), strides=window.strides, padding=padding, dilations=window.dilations, groups=groups
    )
    return _with_bias(node, y, window.rank)


@op("ConvTranspose", 1, 11, 22)
def conv_transpose(node):
    """ConvTranspose over one to three spatial axes."""
    kernel, groups = check_kernel(node, node.dims(1)[2:]), node.integer("group", 1)
    rank = len(kernel)
    if not 1 <= rank <= 3:
        raise Refused(f"a transposed convolution over {rank} spatial axes is not supported, only over 1 to 3")
    strides, dilations = node.integers("strides", [1] * rank), node.integers("dilations", [1] * rank)
    extra = node.integers("output_padding", [0] * rank)
    padding, extra, cuts = _transposed_padding(node, kernel, strides, dilations, extra)
    y = getattr(relax, f"conv{rank}d_transpose")(
        node.x(0), node.x(1), strides=strides, padding=padding, output_padding=extra, dilations=dilations, groups=groups
    )
    if cuts:
        y = relax.strided_slice(y, begin=[cut.begin for cut in cuts], end=[cut.end for cut in cuts], axes=[cut.axis for cut in cuts])
    return _with_bias(node, y, rank)


class Cut(NamedTuple):
    """The part of an axis of a transposed convolution that is kept, where its padding is known only at run time."""

    axis: int
    begin: Size
    end: Size


def _transposed_padding(node, kernel, strides, dilations, extra) -> tuple[list[int], list[int], list[Cut]]:
    """The padding and output padding, as given, or computed from output_shape or auto_pad, and what is cut instead of a padding."""
    rank, sizes = len(kernel), node.dims()[2:]
    mode = node.text("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    wanted = node.integers("output_shape", None)
    if wanted is None and mode in ("NOTSET", "VALID"):
        return auto_padding(node, sizes, kernel, strides, dilations), extra, []
    node.ignore("pads")
    begins, ends, added, cuts = [], [], [], []
    wanted = [size * stride for size, stride in zip(sizes, strides)] if wanted is None else wanted[-rank:]
    for axis, (size, k, stride, dilation, more, want) in enumerate(zip(sizes, kernel, strides, dilations, extra, wanted), 2):
        total = stride * (size - 1) + more + dilation * (k - 1) + 1 - want
        if not isinstance(total, int):
            begin = floor_divide(total, 2) if mode == "SAME_UPPER" else ceil_divide(total, 2)
            cuts.append(Cut(axis, begin, begin + want))
            begins, ends, added = [*begins, 0], [*ends, 0], [*added, more]
            continue
        added.append(more - min(total, 0))  # what is missing is added at the end
        total = max(total, 0)
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return begins + ends, added, cuts


ENTRIES = (conv, conv_transpose)
