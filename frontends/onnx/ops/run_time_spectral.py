"""Fourier transforms whose axis, length or frames are known only at run time: the matrices are computed by the graph, in f64."""
import math

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, floor_divide
from legato.frontends.onnx import run_time
from legato.frontends.onnx.ops.run_time_resize import as_f64, f64
from legato.frontends.onnx.problems import Malformed


def part(x: ir.Value, index: int) -> ir.Value:
    """The real or imaginary part of [..., 1 or 2], in f64."""
    axis = x.type.rank - 1
    return as_f64(relax.squeeze(relax.strided_slice(x, begin=[index], end=[index + 1], axes=[axis]), axis=[axis]))


def waves(node, length: Size, rows: Size, columns: Size) -> tuple[ir.Value, ir.Value]:
    """The cosines and sines of a transform of a length, [rows, columns]."""
    steps = relax.multiply(relax.expand_dims(run_time.counted(rows), axis=[1]), run_time.counted(columns))
    size = run_time.vector(node, [length])
    steps = as_f64(relax.mod(steps, relax.maximum(size, run_time.literal(1))))      # angles stay below a turn
    angles = relax.multiply(relax.divide(f64(2 * math.pi), as_f64(size)), steps)
    return relax.cos(angles), relax.sin(angles)


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
    before, along, behind, count = run_time.symbols(node, run_time.valid_or_negative(run_time.joined(*groups, length), valid), "dft")
    half = floor_divide(count, 2) + 1
    read, made = (half if onesided and inverse else count), (half if onesided and not inverse else count)
    x = relax.reshape(node.x(), shape=[before, along, behind, parts])
    cosines, sines = waves(node, count, read, made)
    if inverse:
        cosines, sines = (relax.divide(wave, as_f64(run_time.vector(node, [count]))) for wave in (cosines, sines))
    if onesided and inverse:
        number = run_time.counted(read)         # all but the first bin, and the last that is its own mirror image, stand for two
        alone = relax.logical_or(relax.equal(number, run_time.literal(0)),
                                 relax.equal(relax.multiply(number, two), run_time.vector(node, [count])))
        both = relax.expand_dims(relax.where(alone, f64(1), f64(2)), axis=[1])
        cosines, sines = relax.multiply(cosines, both), relax.multiply(sines, both)
    values = [_fitted(node, relax.permute_dims(part(x, i), axes=[0, 2, 1]), along, read) for i in range(parts)]
    real = relax.matmul(values[0], cosines)
    if parts == 2:
        turned = relax.matmul(values[1], sines)
        real = relax.subtract(real, turned) if inverse else relax.add(real, turned)
    results = [real]
    if not (onesided and inverse):
        imaginary = relax.matmul(values[0], sines)
        imaginary = imaginary if inverse else relax.negative(imaginary)
        results.append(relax.add(imaginary, relax.matmul(values[1], cosines)) if parts == 2 else imaginary)
    y = relax.concat([relax.expand_dims(relax.permute_dims(result, axes=[0, 2, 1]), axis=[3]) for result in results], axis=3)
    if axis is None:
        bins = run_time.vector(node, [made])
        shape = list(run_time.symbols(node, relax.where(relax.equal(places, place), bins, sizes), "shape"))
    else:
        shape = [*given[:axis], made, *given[axis + 1:]]
    return relax.reshape(relax.astype(y, dtype=node.dtype()), shape=[*shape, len(results)])


def _fitted(node, x: ir.Value, size: Size, length: Size) -> ir.Value:
    """The last axis of [a, b, size], cut or filled with zeros to a length."""
    if size == length:
        return x
    number = run_time.counted(length)
    end = run_time.vector(node, [size])
    read = relax.take(x, relax.minimum(number, relax.subtract(end, run_time.literal(1))), axis=2)
    return relax.where(relax.less(number, end), read, f64(0))


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
    count, length = run_time.symbols(node, run_time.valid_or_negative(run_time.joined(frames, size), valid), "frames")
    if given and node.given(2) and node.dims(2)[0] != length:
        node.require_equal(length, node.dims(2)[0], f"its frame_length, {length}, to be {node.dims(2)[0]}, the length of its window")
    bins = floor_divide(length, 2) + 1 if onesided else length
    cosines, sines = waves(node, length, length, bins)
    if node.given(2):
        window = relax.expand_dims(as_f64(relax.reshape(node.x(2), shape=[length])), axis=[1])
        cosines, sines = relax.multiply(cosines, window), relax.multiply(sines, window)
    starts = relax.expand_dims(run_time.counted(count, step=step), axis=[1])
    places = relax.add(starts, run_time.counted(length))
    x = node.x() if node.rank() == 3 else relax.expand_dims(node.x(), axis=[2])
    values = [relax.take(part(x, i), places, axis=1) for i in range(parts)]     # [batch, frames, length]
    real, imaginary = relax.matmul(values[0], cosines), relax.negative(relax.matmul(values[0], sines))
    if parts == 2:
        real, imaginary = (relax.add(real, relax.matmul(values[1], sines)), relax.add(imaginary, relax.matmul(values[1], cosines)))
    return relax.concat([relax.expand_dims(relax.astype(value, dtype=node.dtype()), axis=[3]) for value in (real, imaginary)], axis=3)
