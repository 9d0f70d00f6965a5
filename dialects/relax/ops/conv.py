"""Convolutions: cross-correlation, as in every framework."""

import numpy as np

from legato.core.errors import InferenceError, StaticSizeError
from legato.dialects.relax import window
from legato.dialects.relax.assumed import assume_divides, assume_equal
from legato.dialects.relax.attributes import Int, Ints, Str
from legato.dialects.relax.axes import check_length
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import FLOAT, Operand
from legato.dialects.relax.types import TensorType


def _check_ranks(rank: int, **operands: TensorType) -> None:
    for name, operand in operands.items():
        if operand.rank != rank + 2:
            raise InferenceError(f"operand '{name}' must have rank {rank + 2}, has {list(operand.dims)}")


def _static_kernel(sizes) -> list[int]:
    if not all(isinstance(s, int) for s in sizes):
        raise StaticSizeError(f"operand 'w' must have static spatial sizes, has {list(sizes)}")
    return list(sizes)


def _check_groups(groups: int, **channels) -> None:
    """InferenceError unless the groups divide these numbers of channels."""
    if groups < 1:
        raise InferenceError(f"attribute 'groups' is {groups}, expected 1 or more")
    for what, count in channels.items():
        if not assume_divides(groups, count, f"the channels of {what}: {groups} groups divide them"):
            raise InferenceError(f"attribute 'groups' is {groups}, which does not divide the {count} channels of {what}")


def convolved_type(rank):
    """The type inference of convolutions over ``rank`` spatial axes."""

    def result_type(x: TensorType, w: TensorType, strides, padding, dilations, groups, data_layout, kernel_layout) -> TensorType:
        _check_ranks(rank, x=x, w=w)
        window.check_window(rank, strides, padding, dilations)
        first, (oi, *_) = window.data_layouts(rank)[0], window.kernel_layouts(rank)
        batch, channels, *sizes = (x.dims[i] for i in window.order(data_layout, first))
        outputs, inputs, *kernel = (w.dims[i] for i in window.order(kernel_layout, oi))
        _check_groups(groups, x=channels, w=outputs)
        if not assume_equal(inputs * groups, channels, f"the number of channels of x, {list(x.dims)}"):
            raise InferenceError(f"x has {channels} channels, but w takes {inputs} in each of {groups} groups")
        made = [batch, outputs, *window.output_sizes(sizes, _static_kernel(kernel), strides, padding, dilations)]
        return x.with_dims(made[i] for i in window.order(first, data_layout))

    return result_type


def convolution(rank):
    """The semantics of convolutions over ``rank`` spatial axes."""

    def conv(x, w, strides, padding, dilations, groups, data_layout, kernel_layout):
        first, (oi, *_) = window.data_layouts(rank)[0], window.kernel_layouts(rank)
        x = x.transpose(window.order(data_layout, first))
        w = w.transpose(window.order(kernel_layout, oi))
        count = window.output_sizes(x.shape[2:], w.shape[2:], strides, padding, dilations)
        x = np.pad(x, [(0, 0), (0, 0), *zip(padding[:rank], padding[rank:])])
        view = window.windows(x, w.shape[2:], strides, dilations, count)
        taps = tuple(range(2 + rank, 2 + 2 * rank))
        inputs, outputs = w.shape[1], w.shape[0] // groups
        parts = []
        for group in range(groups):
            part = view[:, group * inputs : (group + 1) * inputs]
            part = np.tensordot(part, w[group * outputs : (group + 1) * outputs], axes=((1, *taps), tuple(range(1, 2 + rank))))
            parts.append(np.moveaxis(part, -1, 1))
        return np.concatenate(parts, axis=1).transpose(window.order(first, data_layout))

    return conv


def _conv(rank):
    layouts, kernels = window.data_layouts(rank), window.kernel_layouts(rank)
    sizes = {1: ("8", "3", "6"), 2: ("8x8", "3x3", "6x6"), 3: ("8x8x8", "3x3x3", "6x6x6")}[rank]
    define(
        f"conv{rank}d",
        f"Convolution over {rank} spatial {'axis' if rank == 1 else 'axes'}, the kernel not mirrored.\n\n"
        "`padding` lists the begin of each spatial axis, then the end of each. With `groups`, each group of output channels sees its own\n"
        "group of input channels only; the kernel's input size is that of one group.",
        {"x": Operand(FLOAT, f"input, {' or '.join(layouts)}"), "w": Operand(FLOAT, f"kernel, {', '.join(kernels)}")},
        convolution(rank),
        convolved_type(rank),
        example(
            f"conv{rank}d",
            "%x, %w",
            f"strides = array<i64: {', '.join(['1'] * rank)}>",
            f"tensor<1x4x{sizes[0]}xf32>, tensor<16x4x{sizes[1]}xf32>",
            f"tensor<1x16x{sizes[2]}xf32>",
        ),
        strides=Ints([1] * rank),
        padding=Ints([0] * (2 * rank)),
        dilations=Ints([1] * rank),
        groups=Int(1),
        data_layout=Str(layouts[0], layouts),
        kernel_layout=Str(kernels[0], kernels),
    )


_conv(1)
_conv(2)
_conv(3)


def transposed_type(rank):
    """The type inference of transposed convolutions over ``rank`` spatial axes."""

    def result_type(x: TensorType, w: TensorType, strides, padding, output_padding, dilations, groups) -> TensorType:
        _check_ranks(rank, x=x, w=w)
        window.check_window(rank, strides, padding, dilations)
        check_length(output_padding, rank, "output_padding", "one per spatial axis")
        if any(not 0 <= extra < max(s, d) for extra, s, d in zip(output_padding, strides, dilations)):
            limits = [max(s, d) for s, d in zip(strides, dilations)]
            raise InferenceError(f"attribute 'output_padding' is {output_padding}, expected values from 0 to below {limits}")
        _check_groups(groups, x=x.dims[1])
        if not assume_equal(w.dims[0], x.dims[1], f"the number of channels of x, {list(x.dims)}"):
            raise InferenceError(f"x has {x.dims[1]} channels, but w takes {w.dims[0]}")
        kernel, sizes = _static_kernel(w.dims[2:]), []
        for axis, size in enumerate(x.dims[2:]):
            extent = dilations[axis] * (kernel[axis] - 1) + 1
            made = (size - 1) * strides[axis] + (extent + output_padding[axis] - padding[axis] - padding[rank + axis])
            if isinstance(made, int) and made < 0:
                raise InferenceError(f"the padding {padding} leaves nothing of spatial axis {axis}")
            sizes.append(made)
        return x.with_dims((x.dims[0], w.dims[1] * groups, *sizes))

    return result_type


def transposed_convolution(rank):
    """The semantics of transposed convolutions over ``rank`` spatial axes."""

    def conv_transpose(x, w, strides, padding, output_padding, dilations, groups):
        batch, channels, *sizes = x.shape
        outputs, kernel = w.shape[1], w.shape[2:]
        inputs = channels // groups
        full = [(n - 1) * s + d * (k - 1) + 1 + extra for n, s, d, k, extra in zip(sizes, strides, dilations, kernel, output_padding)]
        y = np.zeros((batch, groups * outputs, *(max(n, 0) for n in full)), x.dtype)
        for group in range(groups):
            part, taps = x[:, group * inputs : (group + 1) * inputs], w[group * inputs : (group + 1) * inputs]
            for tap in np.ndindex(*kernel):
                begins = [t * d for t, d in zip(tap, dilations)]
                places = tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begins, sizes, strides))
                here = slice(group * outputs, (group + 1) * outputs)
                y[(slice(None), here, *places)] += np.einsum("nc...,co->no...", part, taps[(slice(None), slice(None), *tap)])
        return y[(..., *(slice(padding[i], full[i] - padding[rank + i]) for i in range(rank)))]

    return conv_transpose


def _conv_transpose(rank):
    sizes = {1: ("4", "3", "9"), 2: ("4x4", "3x3", "9x9"), 3: ("4x4x4", "3x3x3", "9x9x9")}[rank]
    data = window.data_layouts(rank)[0]
    define(
        f"conv{rank}d_transpose",
        "The gradient of a convolution by its input: each element of x adds the kernel, multiplied by it, to the output.\n\n"
        f"x is {data}; w is [channels of x, output channels / groups, {', '.join(data[2:])}]. `padding` is cut off the full result\n"
        "(begins, then ends), and `output_padding` is added at the ends.",
        {"x": Operand(FLOAT, f"input, {data}"), "w": Operand(FLOAT, f"kernel, IO{data[2:]}")},
        transposed_convolution(rank),
        transposed_type(rank),
        example(
            f"conv{rank}d_transpose",
            "%x, %w",
            f"strides = array<i64: {', '.join(['2'] * rank)}>",
            f"tensor<1x8x{sizes[0]}xf32>, tensor<8x16x{sizes[1]}xf32>",
            f"tensor<1x16x{sizes[2]}xf32>",
        ),
        strides=Ints([1] * rank),
        padding=Ints([0] * (2 * rank)),
        output_padding=Ints([0] * rank),
        dilations=Ints([1] * rank),
        groups=Int(1),
    )


_conv_transpose(1)
_conv_transpose(2)
_conv_transpose(3)
