"""Resize and Upsample: one axis after the other, by indices (nearest), or by weights of neighbours (linear, cubic).

The weights of axes known at import are computed there, those of others by the model (run_time_resize.py). The arithmetic is that of ONNX's
reference implementation, except that pytorch_half_pixel takes a single element from place 0, as the text says, not from -0.5, and that
sizes are products in f32, as onnxruntime has them: 1000 elements become 900 by 0.9, as in PyTorch, and not 899.
"""
import math
from dataclasses import dataclass

import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Dim
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.ops.run_time_resize import BY_SCALE, TIE, as_f64, requested, resized, scaled, scaled_by, times, weighable
from legato.frontends.onnx.problems import Malformed, Refused

_LONGEST = 1 << 16  # the limit for the size of a resized axis
_FAR = 1 << 31


@dataclass(frozen=True)
class ResizeRule:
    """How a node maps output coordinates to input coordinates, and how it weighs the neighbours."""

    mode: str
    coordinates: str
    nearest: str = "floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False

    def place(self, x: int, size: int, count: int, scale: float, roi: tuple[float, float]) -> float:
        """The input coordinate of output element x, for ``count`` output and ``size`` input elements."""
        width = scale * size
        match self.coordinates:
            case "asymmetric":
                return self._divided(x, scale)
            case "align_corners":
                return 0.0 if width == 1 else x * (size - 1) / (width - 1)
            case "pytorch_half_pixel" if count == 1:
                return 0.0
            case "half_pixel_symmetric" if self.mode == "nearest":      # the kept part in f32, the place in f64 and rounded, as onnxruntime
                kept, scale = float(np.float32(count) / (np.float32(scale) * np.float32(size))), float(np.float32(scale))
                return float(np.float32(size / 2 * (1 - kept) + (x + 0.5) / scale - 0.5))
            case "half_pixel_symmetric":
                return size / 2 * (1 - count / width) + (x + 0.5) / scale - 0.5
            case "tf_half_pixel_for_nn":
                return self._divided(x + 0.5, scale)
            case "tf_crop_and_resize":
                start, end = roi
                offset = (end - start) * (size - 1) / 2 if width == 1 else x * (end - start) * (size - 1) / (width - 1)
                return offset + start * (size - 1)
        return self._divided(x + 0.5, scale) - 0.5

    def _divided(self, x: float, scale: float) -> float:
        """x / scale; where the nearest element is taken in f32, in which scales are given: 3 / 0.6 is 5, and not a bit less."""
        return float(np.float32(x) / np.float32(scale)) if self.mode == "nearest" else x / scale

    def coefficients(self, ratio: float, scale: float) -> np.ndarray:
        """The weights of the neighbours of a point that is ``ratio`` (above 0, at most 1) right of the nearest element on its left."""
        if self.mode == "nearest":
            right = {"floor": False, "ceil": True, "round_prefer_floor": ratio >= 0.5 + TIE, "round_prefer_ceil": ratio > 0.5 - TIE,
                     BY_SCALE: scale < 1}[self.nearest]
            return np.array([0.0, 1.0] if right or ratio == 1 else [1.0, 0.0])
        reach, kernel = (1, _triangle) if self.mode == "linear" else (2, self._cubic)
        stretch = min(scale, 1.0) if self.antialias else 1.0
        first = math.floor(-reach / stretch) + 1
        weights = np.array([kernel((i - ratio) * stretch) for i in range(first, 2 - first)])
        return weights / weights.sum() if self.antialias else weights

    def _cubic(self, x: float) -> float:
        a, x = self.cubic_a, abs(x)
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0

    def neighbours(self, size: int, count: int, scale: float, roi: tuple[float, float]) -> "Neighbours":
        """What the ``count`` elements of a resized axis are made of."""
        places, found, outside = [], [], np.zeros(count, np.bool_)
        for x in range(count):
            place = self.place(x, size, count, scale, roi)
            if not abs(place) < _FAR:
                raise Malformed(f"it takes element {x} from place {place} of an axis of size {size}")
            outside[x] = self.coordinates == "tf_crop_and_resize" and not 0 <= place <= size - 1
            ratio = place - math.floor(place) or 1.0
            weights = self.coefficients(ratio, scale)
            around = math.ceil(place) - len(weights) // 2 + np.arange(len(weights))
            if self.exclude_outside:
                weights = np.where((around < 0) | (around >= size), 0, weights)
                if weights.sum() == 0:
                    raise Malformed(f"element {x} lies wholly outside an axis of size {size}")
                weights = weights / weights.sum()
            places.append(np.clip(around, 0, size - 1))
            found.append(weights)
        return Neighbours(np.array(places), np.array(found), outside)


@dataclass(frozen=True)
class Neighbours:
    """Of each element of a resized axis: the places [count, n] of n elements of the input, their weights, and whether it is outside."""

    places: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    def nearest(self) -> np.ndarray:
        """The place of the neighbour with the greatest weight."""
        return np.take_along_axis(self.places, self.weights.argmax(axis=1)[:, None], 1)[:, 0]


def _triangle(x: float) -> float:
    return max(1 - abs(x), 0.0)


@dataclass(frozen=True)
class _ResizedAxis:
    axis: int
    size: int | Dim
    count: int | None  # None: the size is symbolic, and the scale a whole number
    scale: float
    roi: tuple[float, float]


def _axis(axis: int, size: int | Dim, scale: float, roi=(0.0, 1.0), count: int | None = None) -> _ResizedAxis:
    if not 0 < scale < math.inf:
        raise Malformed(f"an axis cannot be resized by {scale}")
    if count is None and isinstance(size, int):
        count = times(size, scale)
    if count is not None and (count < 0 or (size == 0 and count > 0)):
        raise Malformed(f"an axis of size {size} cannot be resized to {count}, by {scale}")
    if isinstance(size, int) and count is not None and count > _LONGEST:
        raise Refused(f"an axis of size {size} is resized to {count}: more than {_LONGEST} elements")
    return _ResizedAxis(axis, size, count, scale, roi)


def _apply(node, rule: ResizeRule, axes: list[_ResizedAxis], extrapolation: float = 0.0) -> ir.Value:
    """The input with these axes resized."""
    x, outsides = weighable(node, rule), []
    if any(a.count == 0 for a in axes):     # nothing to compute, and no weights for it
        sizes = list(node.dims())
        for a in axes:
            sizes[a.axis] = sizes[a.axis] * round(a.scale) if a.count is None else a.count
        return relax.broadcast_to(node.literal(0, node.dtype()), shape=sizes)
    changed = [a for a in axes if rule.coordinates == "tf_crop_and_resize" or a.scale != 1 or a.count not in (None, a.size)]
    repeated = {a.axis: round(a.scale) for a in changed if a.count is None}
    if repeated:
        x = repeated_along(x, repeated)
    for a in _in_order([a for a in changed if a.count is not None], node.rank()):
        found, dtype = rule.neighbours(a.size, a.count, a.scale, a.roi), relax.TensorType.of(x.type).dtype
        if found.outside.any():
            outsides.append(found.outside.reshape([-1] + [1] * (node.rank() - 1 - a.axis)))
        if rule.mode == "nearest":
            x = relax.take(x, node.constant_value(found.nearest()), axis=a.axis)
        else:
            x = _blended(node, x, found, a.axis, dtype)
    for outside in outsides:
        x = relax.where(node.literal(outside), node.literal(extrapolation, relax.TensorType.of(x.type).dtype), x)
    return x if relax.TensorType.of(x.type).dtype == node.dtype() else relax.astype(x, dtype=node.dtype())


def _in_order(axes: list[_ResizedAxis], rank: int) -> list[_ResizedAxis]:
    """The axes in the order in which they take least: the tensor is transposed for its last one, best where the others are short."""
    others = [a for a in axes if a.axis != rank - 1]
    last = [a for a in axes if a.axis == rank - 1]
    return [*last, *others[::-1]] if sum(math.log(a.scale) for a in others) > 0 else [*others, *last]


def _blended(node, x: ir.Value, found: Neighbours, axis: int, dtype: np.dtype) -> ir.Value:
    """x with an axis of sums of neighbours; one of weight 0 is not read, so that NaN and infinity stay where they are. Of the last axis,
    vectors would be gathered element by element, so that the axis in front of it takes its place."""
    order = list(range(node.rank()))
    if axis == len(order) - 1 > 0:
        order[-2:] = order[:-3:-1]
        return relax.permute_dims(_blended(node, relax.permute_dims(x, axes=order), found, axis - 1, dtype), axes=order)
    total, below = None, [1] * (node.rank() - 1 - axis)
    for places, weights in zip(found.places.T, found.weights.T):
        weights = weights.astype(dtype).reshape([-1, *below])
        part = relax.multiply(relax.take(x, node.constant_value(np.ascontiguousarray(places)), axis=axis), node.constant_value(weights))
        if not weights.all():
            part = relax.where(node.constant_value(weights == 0), node.literal(0, dtype), part)
        total = part if total is None else relax.add(total, part)
    return present(total)


def _repeats(rule: ResizeRule, a: _ResizedAxis) -> bool:
    """Whether an axis of symbolic size has each of its elements repeated: nearest resizing by a whole number."""
    times, sample = round(a.scale), 5
    if rule.mode != "nearest" or times != a.scale:
        return False
    found = rule.neighbours(sample, sample * times, a.scale, a.roi).nearest()
    return found.tolist() == np.repeat(np.arange(sample), times).tolist()


def repeated_along(x: ir.Value, times: dict[int, int]) -> ir.Value:
    """x with each element of some axes repeated so many times."""
    sizes = list(relax.TensorType.of(x.type).dims)
    units, spread, whole = [], [], []
    for axis, size in enumerate(sizes):
        units += [size, 1] if axis in times else [size]
        spread += [size, times[axis]] if axis in times else [size]
        whole.append(size * times.get(axis, 1))
    return relax.reshape(relax.broadcast_to(relax.reshape(x, shape=units), shape=spread), shape=whole)


def _known(node, rule: ResizeRule, axes: list[int], scales: list[float], counts: list[int | None] | None = None,
           rois: list[tuple[float, float]] | None = None) -> list[_ResizedAxis] | None:
    """The axes with what becomes of them; None where the model has to compute it."""
    if len(scales) != len(axes):
        raise Malformed(f"scales = {scales}: expected {len(axes)} values")
    each = zip(axes, scales, rois or [(0.0, 1.0)] * len(axes), counts or [None] * len(axes))
    found = [_axis(axis, node.dims()[axis], scale, roi, count) for axis, scale, roi, count in each]
    crops = rule.coordinates == "tf_crop_and_resize"
    is_known = all(a.count is not None or (a.scale == 1 and not crops) or _repeats(rule, a) for a in found)
    return found if is_known else None


def _upsample(node) -> ir.Value:
    """Upsample, and Resize of opset 10: coordinates by division, and the left neighbour, or the right one along an axis that shrinks."""
    rule, axes = ResizeRule(node.text("mode", "nearest", "linear"), "asymmetric", BY_SCALE), list(range(node.rank()))
    if node.version == 7:
        found = _known(node, rule, axes, node.numbers("scales"))
        return resized(node, rule, scaled_by(node, axes, node.numbers("scales")), 0.0) if found is None else _apply(node, rule, found)
    if not node.by_data(1):
        found = _known(node, rule, axes, node.floats(1, "the scales"))
        if found is not None:
            return _apply(node, rule, found)
    return resized(node, rule, scaled(node, axes, 1), 0.0)


def _requested(node, axes: list[int], policy: str) -> tuple[list[float], list[int | None]] | None:
    """The scale and (if sizes are given) the size of each resized axis; None where they are known only at run time."""
    if node.given(2) and node.dims(2) != (0,):
        return None if node.by_data(2) else (node.floats(2, "the scales"), [None] * len(axes))
    if node.by_data(3):
        return None
    sizes, given = node.sizes(3, "the sizes"), [node.dims()[axis] for axis in axes]
    if len(sizes) != len(axes):
        raise Malformed(f"sizes = {sizes}: expected {len(axes)} values")
    if any(not isinstance(size, int) for size in (*sizes, *given)):
        return None
    if any(before == 0 < size for size, before in zip(sizes, given)):
        raise Malformed(f"axes of sizes {given} cannot be resized to {sizes}")
    scales = [size / before if size else 1.0 for size, before in zip(sizes, given)]
    if policy == "stretch":
        return scales, list(sizes)
    scale = (min if policy == "not_larger" else max)(scales)
    return [scale] * len(axes), [math.floor(scale * before + 0.5) for before in given]


def _resize(node) -> ir.Value:
    if node.version == 10:
        return _upsample(node)
    modes = ["pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    modes += ["tf_half_pixel_for_nn"]   # of opset 11; tf2onnx writes it in models of later ones, too
    modes += ["half_pixel_symmetric"] if node.version >= 13 else []
    rule = ResizeRule(
        node.text("mode", "nearest", "linear", "cubic"),
        node.text("coordinate_transformation_mode", "half_pixel", *modes),
        node.text("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        node.number("cubic_coeff_a", -0.75),
        node.flag("exclude_outside"),
        node.flag("antialias"),
    )
    axes = node.axes(node.integers("axes", list(range(node.rank()))), node.rank())
    policy = node.text("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
    extrapolation, crops = node.number("extrapolation_value", 0.0), rule.coordinates == "tf_crop_and_resize"
    if crops and node.dims(1) != (2 * len(axes),):
        raise Malformed(f"its roi has the shape {list(node.dims(1))}, expected {[2 * len(axes)]}")
    node.ignore_input(1)
    request = None if crops and node.by_data(1) else _requested(node, axes, policy)
    if request is not None:
        rois = None
        if crops:
            values = node.floats(1, "the roi")
            rois = list(zip(values[: len(axes)], values[len(axes) :], strict=True))
        found = _known(node, rule, axes, *request, rois)
        if found is not None:
            return _apply(node, rule, found, extrapolation)
    return resized(node, rule, requested(node, axes, policy, as_f64(node.x(1)) if crops else None), extrapolation)


ENTRIES = (Entry("Upsample", (7, 9, 10), _upsample), Entry("Resize", (10, 11, 13, 18, 19), _resize))
