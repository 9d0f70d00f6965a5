"""Fourier transforms whose axis, length or frames are known only at run time, in f64."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, floor_divide, product
from legato.frontends.onnx import run_time
from legato.frontends.onnx.ops.run_time_fourier import factors_of, fitted, transformed
from legato.frontends.onnx.ops.run_time_resize import as_f64, f64
from legato.frontends.onnx.problems import Malformed


def dft(node, axis: "int | None", parts: int) -> ir.Value:
    """DFT along ``axis`` (None: along the axis that input 2 says), of an axis or to a length of any size."""
    rank, given = node.rank(), list(node.dims()[:-1])
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    if onesided and parts != (2 if inverse else 1):
        raise Malformed(f"onesided = 1 takes {'complex' if inverse else 'real'} numbers, and its input has {parts} parts")
    if axis is None:
        place, inside = run_time.counted_from_front(run_time.integers(node, 2, "axes"), rank)
        inside = relax.logical_and(inside, run_time.all_of(relax.less(place, run_time.literal(rank - 1))))
    else:
        place, inside = run_time.literal([axis]), run_time.literal([1])
        inside = relax.equal(inside, inside)
    sizes, places = run_time.vector(node, given), run_time.literal(np.arange(rank - 1))
    groups = [relax.prod(relax.where(compare(places, place), sizes, run_time.literal(1)), axis=[0], keepdims=True)
              for compare in (relax.less, relax.equal, relax.greater)]
    one, two = run_time.literal(1), run_time.literal(2)
    if node.given(1):
        length = run_time.integers(node, 1, "lengths")
    else:
        length = relax.multiply(two, relax.subtract(groups[1], one)) if onesided and inverse else groups[1]
    valid = relax.logical_and(inside, run_time.all_of(relax.greater_equal(length, one)))
    sizes_and_factors = run_time.valid_or_negative(run_time.joined(*groups, factors_of(length)), valid)
    before, along, behind, *factors = run_time.symbols(node, sizes_and_factors, "dft")
    if axis is not None:
        before, behind = product(given[:axis]), product(given[axis + 1:])
    count = factors[0] * factors[1]
    half = floor_divide(count, 2) + 1
    read = half if onesided and inverse else count
    along = along if node.given(1) or read is half else count
    z = relax.reshape(node.x(), shape=[before, along, behind, parts])
    z = fitted(node, as_f64(relax.permute_dims(z, axes=[0, 2, 3, 1])), along, read)
    y = transformed(node, _mirrored(node, z, count) if onesided and inverse else z, factors, 1 if inverse else -1)
    if onesided:
        y = relax.strided_slice(y, begin=[0], end=[1 if inverse else half], axes=[2 if inverse else 3])
    if inverse:
        y = relax.divide(y, as_f64(run_time.vector(node, [count])))
    made = half if onesided and not inverse else count
    y = relax.astype(relax.permute_dims(y, axes=[0, 3, 1, 2]), dtype=node.dtype())
    if axis is None:
        bins = run_time.vector(node, [made])
        shape = list(run_time.symbols(node, relax.where(relax.equal(places, place), bins, sizes), "shape"))
    else:
        shape = [*given[:axis], made, *given[axis + 1:]]
    return relax.reshape(y, shape=[*shape, y.type.shape[-1]])


def _mirrored(node, z: ir.Value, length: Size) -> ir.Value:
    """The whole transform of ``length`` real numbers, of its first half, [..., 2, length // 2 + 1]: the rest are conjugates. The first one,
    and the one that is its own mirror image, are real."""
    size, number = run_time.vector(node, [length]), run_time.counted(length)
    other = relax.mod(relax.subtract(size, number), size)
    sign = relax.where(relax.less(number, other), f64(1), f64(-1))
    signs = relax.expand_dims(relax.where(relax.equal(number, other), f64(0), sign), axis=[0])
    read = relax.take(z, relax.minimum(number, other), axis=z.type.rank - 1)
    return relax.multiply(read, relax.concat([relax.add(relax.multiply(signs, f64(0)), f64(1)), signs], axis=0))


def stft(node, parts: int, onesided: bool) -> ir.Value:
    """STFT whose step, window or frame length are known only at run time, or whose signal has any length."""
    one = run_time.literal(1)
    step = run_time.integers(node, 1, "steps")
    given = node.given(3)
    if not given and not node.given(2):
        raise Malformed("it needs a window or a frame_length")
    total = run_time.vector(node, [node.dims()[1]])
    size = run_time.integers(node, 3, "lengths") if given else run_time.vector(node, [node.dims(2)[0]])
    fits = relax.logical_and(relax.greater_equal(size, one), relax.less_equal(size, total))
    valid = relax.logical_and(relax.greater_equal(step, one), fits)
    frames = relax.add(relax.floor_divide(relax.subtract(total, size), relax.maximum(step, one)), one)
    frames_and_factors = run_time.valid_or_negative(run_time.joined(frames, factors_of(size)), valid)
    count, *factors = run_time.symbols(node, frames_and_factors, "frames")
    length = factors[0] * factors[1]
    if given and node.given(2) and node.dims(2)[0] != length:
        node.require_equal(length, node.dims(2)[0], f"its frame_length, {length}, to be {node.dims(2)[0]}, the length of its window")
    starts = relax.expand_dims(run_time.counted(count, step=step), axis=[1])
    places = relax.add(starts, run_time.counted(length))
    x = node.x() if node.rank() == 3 else relax.expand_dims(node.x(), axis=[2])
    z = relax.take(as_f64(relax.permute_dims(x, axes=[0, 2, 1])), places, axis=2)     # [batch, parts, frames, length]
    if node.given(2):
        z = relax.multiply(z, as_f64(relax.reshape(node.x(2), shape=[length])))
    y = transformed(node, relax.permute_dims(z, axes=[0, 2, 1, 3]), factors, -1)
    if onesided:
        y = relax.strided_slice(y, begin=[0], end=[floor_divide(length, 2) + 1], axes=[3])
    return relax.astype(relax.permute_dims(y, axes=[0, 1, 3, 2]), dtype=node.dtype())
