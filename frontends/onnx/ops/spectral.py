"""Fourier transforms: DFT and STFT."""
from math import prod

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size, floor_divide
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import run_time_spectral
from legato.frontends.onnx.ops.fourier import real_inverse, transform
from legato.frontends.onnx.ops.run_time_resize import as_f64
from legato.frontends.onnx.problems import Malformed, Refused


def _parts(node) -> int:
    """1 for real input, 2 for complex input: the size of the last axis."""
    parts = node.dims()[-1]
    if not isinstance(parts, int):
        raise Refused(f"whether its input is real or complex (the size of its last axis, {parts}) is known only at run time")
    if parts not in (1, 2):
        raise Malformed(f"its input must end in an axis of 1 (real) or 2 (complex), has the shape {list(node.dims())}")
    return parts


def _sizes(node, *indices: int) -> list[Size]:
    """The sizes that some inputs say, as far as these are given; UNKNOWN for data."""
    given = [index for index in indices if node.given(index)]
    return [size for index in given for size in ([UNKNOWN] if node.by_data(index) else node.sizes(index, "a size"))]


def _moved(x: ir.Value, source: int, to: int) -> ir.Value:
    """x with an axis at another place."""
    axes = [a for a in range(x.type.rank) if a != source]
    axes.insert(to, source)
    return x if axes == list(range(x.type.rank)) else relax.permute_dims(x, axes=axes)


def _made(node, y: ir.Value, axis: int) -> ir.Value:
    """The result: its bins at an axis, of [..., 2, bins] in f64."""
    last = y.type.rank - 1
    order = list(range(last - 1))
    order.insert(axis, last)
    return relax.astype(relax.permute_dims(y, axes=[*order, last - 1]), dtype=node.dtype())


def _fitted(x: ir.Value, axis: int, length: int) -> ir.Value:
    """x truncated or zero-padded to a length along an axis."""
    size = TensorType.of(x.type).dims[axis]
    if size == length:
        return x
    if not isinstance(size, int):
        raise Refused(f"an axis of size {size}, known only at run time, is cut or filled to {length}")
    if size > length:
        return relax.strided_slice(x, begin=[0], end=[length], axes=[axis])
    return relax.pad(x, pads=[0] * x.type.rank + [length - size if a == axis else 0 for a in range(x.type.rank)])


@op("DFT", 17, 20)
def dft(node):
    """DFT along one axis of real ([..., 1]) or complex ([..., 2]) numbers."""
    rank = node.rank()
    if node.version >= 20 and node.by_data(2):
        return run_time_spectral.dft(node, None, _parts(node))
    axis = int(node.scalar(2, "the axis")) if node.version >= 20 and node.given(2) else node.integer("axis", 1) if node.version < 20 else -2
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    axis = node.axis(axis, rank)
    parts = _parts(node)
    if axis == rank - 1:
        raise Malformed(f"its axis is {axis}, the last one, which is that of real and imaginary parts")
    if not all(isinstance(size, int) for size in (node.dims()[axis], *_sizes(node, 1))):
        return run_time_spectral.dft(node, axis, parts)
    length = int(node.scalar(1, "the length")) if node.given(1) else None
    if onesided and inverse:  # the inverse of a one-sided transform is real
        return _real_inverse(node, axis, length)
    if onesided and parts == 2:
        raise Malformed("onesided = 1 is for real numbers, and its input has complex ones")
    length = node.dims()[axis] if length is None else length
    if not isinstance(length, int) or length < 1:
        raise Refused(f"an axis of size {length} is transformed; only a size known at import is supported")
    x = as_f64(_moved(_fitted(node.x(), axis, length), axis, rank - 1))       # [..., 1 or 2, length]
    bins = length // 2 + 1 if onesided else length
    return _made(node, transform(node, x, bins, 1 if inverse else -1, 1 / length if inverse else 1), axis)


def _real_inverse(node, axis: int, length: int | None) -> ir.Value:
    rank, bins = node.rank(), node.dims()[axis]
    if not isinstance(bins, int) or _parts(node) != 2:
        raise Refused(f"an inverse from one side of shape {list(node.dims())} is not supported, only of complex numbers of a known count")
    length = 2 * (bins - 1) if length is None else length
    x = as_f64(_moved(_fitted(node.x(), axis, length // 2 + 1), axis, rank - 1))
    y = relax.astype(real_inverse(node, x, length), dtype=node.dtype())
    return relax.expand_dims(_moved(y, rank - 2, axis), axis=[rank - 1])


@op("STFT", 17)
def stft(node):
    """STFT of [batch, length, 1 or 2]: frames, weighted by the window and transformed."""
    onesided, parts = node.flag("onesided", True), _parts(node) if node.rank() == 3 else 1
    window = list(node.dims(2)) if node.given(2) else None
    if not all(isinstance(size, int) for size in (*_sizes(node, 1, 3), *(window or ()))):
        return run_time_spectral.stft(node, parts, onesided)
    step = int(node.scalar(1, "the frame_step"))
    size = int(node.scalar(3, "the frame_length")) if node.given(3) else None if window is None else prod(window)
    if size is None or step < 1 or size < 1 or (window is not None and window != [size]):
        raise Malformed(f"frame_step = {step}, frame_length = {size} and a window of the shape {window} do not fit")
    x = node.x() if node.rank() == 3 else relax.expand_dims(node.x(), axis=[2])
    x = as_f64(relax.permute_dims(x, axes=[0, 2, 1]))
    frames = relax.permute_dims(relax.take(x, _places(node, step, size), axis=2), axes=[0, 2, 1, 3])    # [batch, frames, parts, size]
    if window is not None:
        frames = relax.multiply(frames, as_f64(node.x(2)))
    return _made(node, transform(node, frames, size // 2 + 1 if onesided else size, -1), 2)


def _places(node, step: int, size: int) -> ir.Value:
    """Where the elements of each frame are in a signal: [frames, size]."""
    length = node.dims()[1]
    if isinstance(length, int):
        if length < size:
            raise Malformed(f"a signal of {length} values has no frame of {size}")
        return node.constant_value(np.arange(0, length - size + 1, step)[:, None] + np.arange(size))
    number = run_time.vector(node, [floor_divide(length - size, step) + 1])
    enough = relax.greater_equal(run_time.vector(node, [length]), run_time.literal(size))
    count, = run_time.symbols(node, run_time.valid_or_negative(number, enough), "frames")
    starts = relax.expand_dims(run_time.counted(count, step=step), axis=[1])
    return relax.add(starts, run_time.counted(size))


ENTRIES = (dft, stft)
