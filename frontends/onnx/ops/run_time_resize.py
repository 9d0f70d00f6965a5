"""Resize by scales, sizes or of axes that are known only at run time: one axis after the other, each element from its neighbours.

For each element of an axis the indices of its neighbours and their weights are computed in f64, as the importer computes those of axes that
it knows: ``[count, taps]``. A tap of weight 0 reads nothing, so that NaN and infinity stay where they are.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from legato.core.dtypes import kind
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, floor_divide
from legato.frontends.onnx import run_time
from legato.frontends.onnx.ops.run_time_rows import weighted_rows
from legato.frontends.onnx.problems import Malformed

F64 = np.dtype(np.float64)
BY_SCALE = "by_scale"    # of opset 10, the nearest element: the left one, or the right one along an axis that shrinks
TIE = 1e-6      # how near to a tie the place of a nearest element is one, since places are rounded; as onnxruntime has it


def f64(value) -> ir.Value:
    """A constant of f64."""
    return relax.constant(np.asarray(value, F64))


def as_f64(x: ir.Value) -> ir.Value:
    """A tensor in f64."""
    return relax.astype(x, dtype=F64)


@dataclass(frozen=True)
class RunTimeAxis:
    """An axis and what becomes of it. ``scale``: [1] of f64; ``roi``: begin and end, each [1] of f64, or None."""

    axis: int
    size: Size
    count: Size
    scale: ir.Value
    roi: tuple[ir.Value, ir.Value] | None = None


def requested(node, axes: Sequence[int], policy: str, roi: ir.Value | None) -> list[RunTimeAxis]:
    """The resized axes, from the scales or sizes of a node (Resize of version 11 and later, Upsample of 9), in the order of ``axes``."""
    by_sizes = not (node.given(2) and node.dims(2) != (0,))
    return _by_sizes(node, axes, policy, roi) if by_sizes else scaled(node, axes, 2, roi)


def scaled(node, axes: Sequence[int], index: int, roi: ir.Value | None = None) -> list[RunTimeAxis]:
    """The axes resized by the scales that input ``index`` gives."""
    before, array = [node.dims()[axis] for axis in axes], node.value(index).known()
    if node.dims(index) != (len(axes),):
        raise Malformed(f"it has scales of shape {list(node.dims(index))} for {len(axes)} axes")
    if array is None:
        scales = as_f64(node.x(index))
        return _axes(axes, before, _products(node, before, scales), scales, roi)
    return scaled_by(node, axes, [float(scale) for scale in array.ravel()], roi)


def scaled_by(node, axes: Sequence[int], factors: Sequence[float], roi: ir.Value | None = None) -> list[RunTimeAxis]:
    """The axes resized by scales that are known. Malformed for a scale that is not positive."""
    before = [node.dims()[axis] for axis in axes]
    if not all(0 < scale < np.inf for scale in factors):
        raise Malformed(f"axes cannot be resized by {list(factors)}")
    counts = [_times(size, scale) for size, scale in zip(before, factors)]
    open_ones = [i for i, count in enumerate(counts) if count is None]
    if open_ones:
        found = _products(node, [before[i] for i in open_ones], f64([factors[i] for i in open_ones]))
        for i, count in zip(open_ones, found):
            counts[i] = count
    return _axes(axes, before, counts, f64(factors), roi)


def times(size: int, scale: float) -> int:
    """``floor(size * scale)``, where the product is rounded to f32 as onnxruntime rounds it: 10 elements become 9 by 0.9, which is a bit
    less in f32."""
    return math.floor(np.float32(size) * np.float32(min(scale, 2.0**63)))


def _times(size: Size, scale: float) -> Size | None:
    """The same of any size. None where it is symbolic, and no fraction has the same products with all numbers below 2^20."""
    if isinstance(size, int):
        return times(size, scale)
    factor = _fraction(scale)
    return None if factor is None else floor_divide(size * factor.numerator, factor.denominator)


@cache
def _fraction(scale: float) -> Fraction | None:
    """The simplest fraction that is the scale in f32, if the floors of its products are those of the scale's products in f32."""
    exact, bound = Fraction(scale), 1
    while np.float32(float(found := exact.limit_denominator(bound))) != np.float32(scale):
        bound *= 2
    if max(found.numerator, found.denominator) >= 1 << 40:
        return None
    sizes = np.arange(1 << 20)
    products = np.floor(sizes.astype(np.float32) * np.float32(scale)).astype(np.int64)
    return found if np.array_equal(sizes * found.numerator // found.denominator, products) else None


def _products(node, sizes: Sequence[Size], scales: ir.Value) -> list[Size]:
    """``floor(size * scale)`` of a call's sizes and scales, f64[n], whose products are rounded to f32."""
    in_f32 = relax.multiply(_as_f32(scales), _as_f32(run_time.vector(node, sizes)))
    products = relax.floor(as_f64(in_f32))
    valid = run_time.all_of(relax.logical_and(relax.greater(scales, f64(0)), relax.less(products, f64(2.0**56))))
    numbers = relax.astype(relax.where(valid, products, f64(-1)), dtype=run_time.I64)
    return list(run_time.symbols(node, numbers, "resized"))


def _as_f32(x: ir.Value) -> ir.Value:
    return relax.astype(x, dtype=np.dtype(np.float32))


def _by_sizes(node, axes: Sequence[int], policy: str, roi: ir.Value | None) -> list[RunTimeAxis]:
    before = [node.dims()[axis] for axis in axes]
    if node.by_data(3):
        wanted = run_time.integers(node, 3, "sizes")
        if run_time.count(wanted) != len(axes):
            raise Malformed(f"it has {run_time.count(wanted)} sizes for {len(axes)} axes")
        counts: list[Size] = list(run_time.symbols(node, _filled(wanted, run_time.vector(node, before)), "resized"))
    else:
        counts = node.sizes(3, "the sizes")
        if len(counts) != len(axes):
            raise Malformed(f"sizes = {counts}: expected {len(axes)} values")
    old, new = (as_f64(run_time.vector(node, sizes)) for sizes in (before, counts))
    scales = relax.divide(new, relax.maximum(old, f64(1)))
    scales = relax.where(relax.equal(new, f64(0)), f64(1), scales)
    if policy != "stretch":
        extreme = (relax.min if policy == "not_larger" else relax.max)(scales, axis=[0], keepdims=True)
        rounded = relax.floor(relax.add(relax.multiply(extreme, old), f64(0.5)))
        counts = list(run_time.symbols(node, relax.astype(rounded, dtype=run_time.I64), "kept_aspect"))
        scales = relax.broadcast_to(extreme, shape=[len(axes)])
    made = _axes(axes, before, counts, scales, roi)
    return made if policy != "stretch" else [replace(axis, scale=f64([1])) if axis.count == axis.size else axis for axis in made]


def _filled(wanted: ir.Value, before: ir.Value) -> ir.Value:
    """The sizes, or -1 where elements are wanted of an axis that has none."""
    possible = run_time.all_of(relax.logical_or(relax.greater(before, run_time.literal(0)), relax.less_equal(wanted, run_time.literal(0))))
    return run_time.valid_or_negative(wanted, possible)


def _axes(axes, before, counts, scales: ir.Value, roi: ir.Value | None) -> list[RunTimeAxis]:
    def part(vector: ir.Value, number: int) -> ir.Value:
        return relax.strided_slice(vector, begin=[number], end=[number + 1], axes=[0])

    length = len(axes)
    rois = [None if roi is None else (part(roi, i), part(roi, i + length)) for i in range(length)]
    return [RunTimeAxis(*each) for each in zip(axes, before, counts, (part(scales, i) for i in range(length)), rois)]


def weighable(node, rule) -> ir.Value:
    """The input; integers that are weighted in f32."""
    x = node.x(0)
    return x if rule.mode == "nearest" or kind(node.dtype()) == "float" else relax.astype(x, dtype=np.dtype(np.float32))


def resized(node, rule, axes: Sequence[RunTimeAxis], extrapolation: float) -> ir.Value:
    """The input with these axes resized by ``rule`` (``resize.ResizeRule``)."""
    x, dtype, rank = weighable(node, rule), node.dtype(), node.rank()
    outsides, rows = [], []
    for axis in axes:
        if _stays(rule, axis):
            continue
        place = _places(node, rule, axis)
        if rule.coordinates == "tf_crop_and_resize":
            last = as_f64(run_time.vector(node, [axis.size - 1]))
            outside = relax.logical_or(relax.less(place, f64(0)), relax.greater(place, last))
            outsides.append(relax.expand_dims(outside, axis=list(range(1, rank - axis.axis))) if axis.axis < rank - 1 else outside)
        if rule.mode == "nearest":
            x = relax.take(x, _nearest(node, rule, place, axis), axis=axis.axis)
        else:
            rows.append((axis.axis, *_taps(node, rule, place, axis)))
    if rows:
        x = weighted_rows(x, rows)
    for outside in outsides:
        x = relax.where(outside, relax.astype(f64(extrapolation), dtype=relax.TensorType.of(x.type).dtype), x)
    return x if relax.TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


def _stays(rule, axis: RunTimeAxis) -> bool:
    """Whether the axis is known to stay as it is."""
    return rule.coordinates != "tf_crop_and_resize" and axis.count == axis.size and _is_one(axis.scale)


def _is_one(scale: ir.Value) -> bool:
    begin, maker = 0, scale.owner if not isinstance(scale.owner, ir.Block) else None
    if maker is not None and maker.name == "relax.strided_slice":
        begin, maker = relax.attributes_of(maker.opview)["begin"][0], maker.operands[0].owner
    if maker is None or isinstance(maker, ir.Block) or maker.name != "relax.constant" or maker.opview.weight is not None:
        return False
    return bool(np.ravel(maker.opview.value)[begin] == 1)


def _places(node, rule, axis: RunTimeAxis) -> ir.Value:
    """The input coordinate of each element of the resized axis: [count], as ``resize.ResizeRule.place`` says."""
    x = as_f64(run_time.counted(axis.count))
    size, count = (as_f64(run_time.vector(node, [value])) for value in (axis.size, axis.count))
    width, last = relax.multiply(axis.scale, size), relax.subtract(size, f64(1))
    of_one = relax.equal(width, f64(1))
    steps = relax.where(of_one, f64(1), relax.subtract(width, f64(1)))
    half = _divided(rule, relax.add(x, f64(0.5)), axis.scale)
    match rule.coordinates:
        case "asymmetric":
            return _divided(rule, x, axis.scale)
        case "align_corners":
            return relax.where(of_one, f64(0), relax.divide(relax.multiply(x, last), steps))
        case "pytorch_half_pixel":
            return relax.where(relax.equal(count, f64(1)), f64(0), relax.subtract(half, f64(0.5)))
        case "half_pixel_symmetric":
            scale, kept = axis.scale, relax.divide(count, width)
            if rule.mode == "nearest":
                scale = as_f64(_as_f32(scale))
                kept = as_f64(relax.divide(_as_f32(count), relax.multiply(_as_f32(scale), _as_f32(size))))
            around = relax.multiply(relax.divide(size, f64(2)), relax.subtract(f64(1), kept))
            place = relax.subtract(relax.add(around, relax.divide(relax.add(x, f64(0.5)), scale)), f64(0.5))
            return as_f64(_as_f32(place)) if rule.mode == "nearest" else place
        case "tf_half_pixel_for_nn":
            return half
        case "tf_crop_and_resize":
            start, end = present(axis.roi)
            reach = relax.multiply(relax.subtract(end, start), last)
            middle = relax.divide(reach, f64(2))
            offset = relax.where(of_one, middle, relax.divide(relax.multiply(x, reach), steps))
            return relax.add(offset, relax.multiply(start, last))
    return relax.subtract(half, f64(0.5))


def _divided(rule, x: ir.Value, scale: ir.Value) -> ir.Value:
    """x / scale, as ``resize.ResizeRule`` divides."""
    return as_f64(relax.divide(_as_f32(x), _as_f32(scale))) if rule.mode == "nearest" else relax.divide(x, scale)


def _split(place: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The nearest element on the left of each place, and how far right of it the place is: above 0, at most 1."""
    whole = relax.floor(place)
    exact = relax.equal(whole, place)
    left = relax.where(exact, relax.subtract(whole, f64(1)), whole)
    return left, relax.where(exact, f64(1), relax.subtract(place, whole))


def _clipped(node, index: ir.Value, size: Size) -> ir.Value:
    last = as_f64(run_time.vector(node, [size - 1]))
    return relax.astype(relax.maximum(relax.minimum(index, last), f64(0)), dtype=run_time.I64)


def _nearest(node, rule, place: ir.Value, axis: RunTimeAxis) -> ir.Value:
    """The index of the element that each place takes: [count]."""
    left, ratio = _split(place)
    exact = relax.equal(ratio, f64(1))
    right = {"floor": exact, "ceil": relax.greater(ratio, f64(0)), BY_SCALE: relax.logical_or(exact, relax.less(axis.scale, f64(1))),
             "round_prefer_floor": relax.greater_equal(ratio, f64(0.5 + TIE)), "round_prefer_ceil": relax.greater(ratio, f64(0.5 - TIE))}
    return _clipped(node, relax.add(left, as_f64(right[rule.nearest])), axis.size)


def _taps(node, rule, place: ir.Value, axis: RunTimeAxis) -> tuple[ir.Value, ir.Value]:
    """The indices of the neighbours of each place, and their weights: both [count, taps]."""
    left, ratio = (relax.expand_dims(x, axis=[1]) for x in _split(place))
    reach = 1 if rule.mode == "linear" else 2
    stretch = f64(1)
    if rule.antialias:
        stretch = relax.minimum(axis.scale, f64(1))
        first = relax.add(relax.floor(relax.divide(f64(-reach), stretch)), f64(1))
        (half,) = run_time.symbols(node, relax.astype(relax.subtract(f64(1), first), dtype=run_time.I64), "reach")
        number = relax.add(as_f64(run_time.counted(half * 2)), first)
    else:
        number = f64(np.arange(2 * reach) - reach + 1)
    distance = relax.abs(relax.multiply(relax.subtract(number, ratio), stretch))
    weights = relax.maximum(relax.subtract(f64(1), distance), f64(0)) if reach == 1 else _cubic(distance, rule.cubic_a)
    index = relax.add(left, number)
    if rule.exclude_outside:
        end = as_f64(run_time.vector(node, [axis.size]))
        outside = relax.logical_or(relax.less(index, f64(0)), relax.greater_equal(index, end))
        weights = relax.where(outside, f64(0), weights)
    if rule.antialias or rule.exclude_outside:
        weights = relax.divide(weights, relax.sum(weights, axis=[1], keepdims=True))
    return _clipped(node, index, axis.size), weights


def _cubic(distance: ir.Value, a: float) -> ir.Value:
    """The cubic kernel at distances of 0 or more: a polynomial up to 1, another one up to 2, and 0."""
    def polynomial(*coefficients: float) -> ir.Value:
        value = f64(coefficients[0])
        for one in coefficients[1:]:
            value = relax.add(relax.multiply(value, distance), f64(one))
        return value

    near, far = polynomial(a + 2, -(a + 3), 0, 1), polynomial(a, -5 * a, 8 * a, -4 * a)
    far = relax.where(relax.less(distance, f64(2)), far, f64(0))
    return relax.where(relax.less_equal(distance, f64(1)), near, far)
