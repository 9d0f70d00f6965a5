"""Fourier transforms as products with matrices of cosines and sines, in f64, because large terms cancel."""
import math

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops import run_time_spectral
from legato.frontends.onnx.ops.run_time_spectral import part
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import MADE_ELEMENTS


def _waves(node, length: int, bins: int, sign: int, scale: float, window: np.ndarray | None = None) -> tuple[ir.Value, ir.Value]:
    """The real and imaginary part of the transform's matrix, [length, bins]."""
    if length * bins > MADE_ELEMENTS:
        raise Refused(f"a transform of {length} values to {bins} would take too large a matrix")
    angles = 2 * math.pi / length * (np.outer(np.arange(length), np.arange(bins)) % length)
    factor = scale if window is None else scale * window[:, None]
    return node.constant_value(np.cos(angles) * factor), node.constant_value(sign * np.sin(angles) * factor)


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


def _joined(node, real: ir.Value, imaginary: ir.Value) -> ir.Value:
    axis = real.type.rank
    parts = (relax.astype(part, dtype=node.dtype()) for part in (real, imaginary))
    return relax.concat([relax.expand_dims(part, axis=[axis]) for part in parts], axis=axis)


def _moved(x: ir.Value, source: int, to: int) -> ir.Value:
    axes = [a for a in range(x.type.rank) if a != source]
    axes.insert(to, source)
    return x if axes == list(range(x.type.rank)) else relax.permute_dims(x, axes=axes)


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
    x = _fitted(node.x(), axis, length)
    bins = length // 2 + 1 if onesided else length
    cosines, sines = _waves(node, length, bins, 1 if inverse else -1, 1 / length if inverse else 1)
    real = _moved(part(x, 0), axis, rank - 2)
    a, b = relax.matmul(real, cosines), relax.matmul(real, sines)
    if parts == 2:
        imaginary = _moved(part(x, 1), axis, rank - 2)
        a, b = relax.subtract(a, relax.matmul(imaginary, sines)), relax.add(b, relax.matmul(imaginary, cosines))
    return _joined(node, _moved(a, rank - 2, axis), _moved(b, rank - 2, axis))


def _real_inverse(node, axis: int, length: int | None) -> ir.Value:
    rank, bins = node.rank(), node.dims()[axis]
    if not isinstance(bins, int) or _parts(node) != 2:
        raise Refused(f"an inverse from one side of shape {list(node.dims())} is not supported, only of complex numbers of a known count")
    length = 2 * (bins - 1) if length is None else length
    bins = length // 2 + 1
    x = _fitted(node.x(), axis, bins)
    both = np.full((bins, 1), 2.0)  # except the first bin, and the last if it is its own mirror image
    both[0] = 1
    if length % 2 == 0:
        both[-1] = 1
    angles = 2 * math.pi / length * (np.outer(np.arange(bins), np.arange(length)) % length)
    matrices = (node.constant_value(f(angles) * both / length) for f in (np.cos, np.sin))
    real, imaginary = (relax.matmul(_moved(part(x, i), axis, rank - 2), matrix) for i, matrix in enumerate(matrices))
    y = relax.astype(_moved(relax.subtract(real, imaginary), rank - 2, axis), dtype=node.dtype())
    return relax.expand_dims(y, axis=[rank - 1])


@op("STFT", 17)
def stft(node):
    """STFT of [batch, length, 1 or 2]: frames, weighted by the window and transformed."""
    onesided, parts = node.flag("onesided", True), _parts(node) if node.rank() == 3 else 1
    if node.by_data(2) or not all(isinstance(size, int) for size in (node.dims()[1], *_sizes(node, 1, 3))):
        return run_time_spectral.stft(node, parts, onesided)
    step = int(node.scalar(1, "the frame_step"))
    window = node.constant(2, "the window").astype(np.float64) if node.given(2) else None
    size = int(node.scalar(3, "the frame_length")) if node.given(3) else None if window is None else window.size
    length = node.dims()[1]
    if size is None or step < 1 or size < 1 or (window is not None and window.shape != (size,)):
        found = None if window is None else list(window.shape)
        raise Malformed(f"frame_step = {step}, frame_length = {size} and a window of the shape {found} do not fit")
    if length < size:
        raise Malformed(f"a signal of {length} values has no frame of {size}")
    bins = size // 2 + 1 if onesided else size
    cosines, sines = _waves(node, size, bins, -1, 1, window)
    starts = np.arange(0, length - size + 1, step)
    places = node.constant_value(starts[:, None] + np.arange(size))
    x = node.x() if node.rank() == 3 else relax.expand_dims(node.x(), axis=[2])
    frames = [relax.take(part(x, i), places, axis=1) for i in range(parts)]  # [batch, frames, size]
    a, b = relax.matmul(frames[0], cosines), relax.matmul(frames[0], sines)
    if len(frames) == 2:
        a, b = relax.subtract(a, relax.matmul(frames[1], sines)), relax.add(b, relax.matmul(frames[1], cosines))
    return _joined(node, a, b)


ENTRIES = (dft, stft)
