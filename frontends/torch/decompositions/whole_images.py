"""Convolutions and average pools of integers, which ONNX has of floats only: sums over the elements of the window."""
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _windows(x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """For each place in the kernel, the elements of x that meet it, a strided slice of x."""
    axes = len(kernel)
    counts = [(size - step * (count - 1) - 1) // move + 1
              for size, count, move, step in zip(x.shape[-axes:], kernel, stride, dilation)]
    for place in itertools.product(*map(range, kernel)):
        part = x
        for axis, (at, count, move, step) in enumerate(zip(place, counts, stride, dilation)):
            first = at * step
            part = aten.slice.Tensor(part, axis - axes, first, first + (count - 1) * move + 1, move)
        yield place, part


def _padded(x: Any, padding: Sequence[int]) -> Any:
    return functional.pad(x, [amount for one in reversed(padding) for amount in (one, one)]) if any(padding) else x


def _convolution(x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
                 output_padding: Sequence[int], groups: int) -> Any:
    if x.is_floating_point() or x.is_complex() or transposed:
        return NotImplemented
    axes = weight.ndim - 2
    stride, padding, dilation = (list(given) * (axes // len(given)) for given in (stride, padding, dilation))
    batch, outputs = x.shape[0], weight.shape[0]
    x = _padded(x, padding).unflatten(1, (groups, -1))                                       # [n, g, c, ...]
    weight = weight.unflatten(0, (groups, -1))                                               # [g, o, c, ...]
    total: Any = None
    shape: Sequence[Any] = ()
    for place, part in _windows(x, weight.shape[3:], stride, dilation):
        term = torch.matmul(weight[(slice(None), slice(None), slice(None), *place)], part.flatten(3))
        total = term if total is None else total + term
        shape = part.shape[3:]
    total = total.reshape(batch, outputs, *shape)
    return total if bias is None else total + bias.reshape(-1, *[1] * axes)


def _average(axes: int) -> Callable[..., Any]:
    def pool(x: Any, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Any:
        kernel, stride, padding = (list(given) * (axes // len(given)) for given in (kernel, stride or kernel, padding))
        if x.is_floating_point() or ceil_mode or (any(padding) and not count_include_pad):
            return NotImplemented
        total = sum(part for _, part in _windows(_padded(x, padding), kernel, stride, [1] * axes))
        return torch.div(total, divisor_override or math.prod(kernel), rounding_mode="trunc")

    return pool


def _volumes(x: Any, weight: Any, bias: Any = None, stride: Sequence[int] = (1,), padding: Sequence[int] = (0,),
             dilation: Sequence[int] = (1,), groups: int = 1) -> Any:
    """A convolution of volumes without a bias, for which the exporter makes one of two axes."""
    if bias is not None:
        return NotImplemented
    return aten.convolution.default(x, weight, None, stride, padding, dilation, False, [0], groups)


CONVOLUTIONS = {aten.convolution.default: _convolution, aten.conv3d.default: _volumes}
AVERAGES = {aten.avg_pool2d.default: _average(2), aten.avg_pool3d.default: _average(3)}
