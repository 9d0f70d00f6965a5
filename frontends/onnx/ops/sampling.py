"""Sampling images between their pixels: weighted sums of neighbours."""
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed

_CUBIC = -0.75
FAR = float(1 << 30)   # beyond any axis: a place that is infinite has weights there
READ_TO_MOVE = 8     # the time to read an element at an index, over that to move one in a transpose
Tap = tuple[ir.Value, ir.Value | None]  # indices along an axis, and their weights (None: 1)


@op("GridSample", 16, 20, 22)
def grid_sample(node):
    """GridSample. The grid's last axis has coordinates from -1 to 1, the innermost axis first; a NaN counts as -1, as PyTorch's
    documentation has it and onnxruntime does, and so does what is infinite where places are reflected."""
    linear, cubic = ("bilinear", "bicubic") if node.version < 20 else ("linear", "cubic")
    mode, padding = node.text("mode", linear, "nearest", cubic), node.text("padding_mode", "zeros", "border", "reflection")
    aligned, rank = node.flag("align_corners"), node.rank() - 2
    sizes = node.dims()[2:]
    if rank < 1 or node.rank(1) != node.rank() or (node.dims(1)[-1] != rank and isinstance(node.dims(1)[-1], int)):
        raise Malformed(f"its grid of shape {list(node.dims(1))} does not fit an input of shape {list(node.dims())}")
    if node.dims(1)[-1] != rank:
        node.require_equal(node.dims(1)[-1], rank, f"the last axis of its grid to have {rank} elements, one for each axis of its image")
    out = list(node.dims(1)[1:-1])
    extents = Extents(node, sizes)
    grid = node.x(1) if node.dtype(1) in (np.float32, np.float64) else relax.astype(node.x(1), dtype=np.float32)
    lost = relax.logical_not(relax.isfinite(grid)) if padding == "reflection" else relax.isnan(grid)
    grid, taps = relax.where(lost, number(grid, -1), grid), []
    for axis, size in enumerate(sizes):
        place = relax.strided_slice(grid, begin=[rank - 1 - axis], end=[rank - axis], axes=[rank + 1])
        place = relax.reshape(place, shape=[node.dims(1)[0], relax.dims.product(out)])
        taps.append(_SampledAxis(extents, size, padding, aligned).taps(place, mode.removeprefix("bi")))
    flat = relax.reshape(node.x(0), shape=[*node.dims()[:2], relax.dims.product(sizes)])
    return relax.reshape(summed(extents, flat, sizes, taps), shape=[*node.dims()[:2], *out])


def number(like: ir.Value, value: float) -> ir.Value:
    """A constant of a tensor's element type."""
    return relax.constant(np.asarray(value, TensorType.of(like.type).dtype))


@dataclass(frozen=True)
class Extents:
    """Sizes of images, which may be symbolic, as numbers beside tensors of a node. ``sizes``: those of one image."""

    node: Any
    sizes: Sequence[Size]

    @property
    def index_dtype(self) -> type[np.signedinteger]:
        """The integers that number the pixels of an image: those of 32 bits, where these suffice, take half the time."""
        pixels = relax.dims.product(self.sizes)
        return np.int64 if not isinstance(pixels, int) or pixels >= 2**31 else np.int32

    def number(self, like: ir.Value, size: Size) -> ir.Value:
        """A size as a scalar of a tensor's element type."""
        if isinstance(size, int):
            return number(like, size)
        return relax.astype(relax.reshape(run_time.vector(self.node, [size]), shape=[]), dtype=TensorType.of(like.type).dtype)

    def inside(self, place: ir.Value, size: Size) -> ir.Value:
        """Coordinates clamped to those of the pixels of an axis."""
        if isinstance(size, int):
            return relax.clip(place, min=0.0, max=float(size - 1))
        return relax.minimum(relax.maximum(place, number(place, 0)), self.number(place, size - 1))


class _SampledAxis:
    """One axis of an image, and its padding."""

    def __init__(self, extents: Extents, size: Size, padding: str, aligned: bool) -> None:
        """``padding``: zeros, border or reflection; ``aligned``: -1 and 1 are the centres of the outer pixels, not their edges."""
        self.extents, self.size, self.padding, self.aligned = extents, size, padding, aligned

    def _number(self, like: ir.Value, size: Size) -> ir.Value:
        return self.extents.number(like, size)

    def taps(self, place: ir.Value, mode: str) -> list[Tap]:
        """The taps of coordinates from -1 to 1."""
        one = number(place, 1)
        if self.aligned:
            place = relax.multiply(relax.divide(relax.add(place, one), number(place, 2)), self._number(place, self.size - 1))
        else:
            doubled = relax.multiply(relax.add(place, one), self._number(place, self.size))
            place = relax.divide(relax.subtract(doubled, one), number(place, 2))
        if mode == "nearest":
            place = relax.round(place)
        # cubic weights come from the unclamped coordinate, as in PyTorch and onnxruntime
        if self.padding == "border":
            place = relax.clip(place, min=-FAR, max=FAR) if mode == "cubic" else self.extents.inside(place, self.size)
        elif self.padding == "reflection":
            place = self._reflected(place)
        return [self._tap(place, None)] if mode == "nearest" else self.between(place, mode)

    def between(self, place: ir.Value, mode: str) -> list[Tap]:
        """The taps of coordinates in pixels."""
        low = relax.floor(place)
        rest = relax.subtract(place, low)
        weights = _linear(rest) if mode == "linear" else _cubic(rest)
        first = 0 if mode == "linear" else -1
        return [self._tap(relax.add(low, number(low, first + i)), weight) for i, weight in enumerate(weights)]

    def _reflected(self, place: ir.Value) -> ir.Value:
        """The coordinate reflected into the axis, as often as necessary."""
        begin, length = (0.0, self.size - 1) if self.aligned else (-0.5, self.size)
        if isinstance(length, int) and not length:
            return relax.multiply(place, number(place, 0))
        alone, period = None, self._number(place, 2 * length)
        if not isinstance(length, int):  # of an axis of one pixel all coordinates become 0
            alone = relax.equal(period, number(place, 0))
            place, period = relax.where(alone, relax.multiply(place, number(place, 0)), place), relax.maximum(period, number(place, 1))
        away = relax.mod(relax.subtract(place, number(place, begin)), period)
        reflected = relax.add(relax.minimum(away, relax.subtract(period, away)), number(place, begin))
        return reflected if alone is None else relax.where(alone, place, reflected)

    def _tap(self, index: ir.Value, weight: ir.Value | None) -> Tap:
        """An index inside the axis; with zero padding the weight is 0 for indices outside."""
        if self.padding == "reflection":
            return self._inside(self._reflected(index)), weight
        if self.padding == "zeros":
            inside = relax.logical_and(relax.greater_equal(index, number(index, 0)), relax.less(index, self._number(index, self.size)))
            weight = number(index, 1) if weight is None else weight
            weight = relax.where(inside, weight, number(index, 0))
        return self._inside(index), weight

    def _inside(self, index: ir.Value) -> ir.Value:
        return relax.astype(self.extents.inside(index, self.size), dtype=self.extents.index_dtype)


def linear_taps(extents: Extents, place: ir.Value, size: Size) -> list[Tap]:
    """The two neighbours of coordinates in pixels; 0 outside."""
    return _SampledAxis(extents, size, "zeros", True).between(place, "linear")


def _linear(rest: ir.Value) -> list[ir.Value]:
    return [relax.subtract(number(rest, 1), rest), rest]


def _cubic(rest: ir.Value) -> list[ir.Value]:
    """Keys' cubic weights of the four neighbours."""
    def polynomial(x: ir.Value, *coefficients: float) -> ir.Value:
        value = number(x, coefficients[0])
        for coefficient in coefficients[1:]:
            value = relax.add(relax.multiply(value, x), number(x, coefficient))
        return value

    a, left = _CUBIC, relax.subtract(number(rest, 1), rest)
    near, far = (a + 2, -(a + 3), 0, 1), (a, -5 * a, 8 * a, -4 * a)
    return [polynomial(relax.add(rest, number(rest, 1)), *far), polynomial(rest, *near), polynomial(left, *near),
            polynomial(relax.add(left, number(rest, 1)), *far)]


def summed(extents: Extents, flat: ir.Value, sizes: Sequence[Size], taps: Sequence[Sequence[Tap]]) -> ir.Value:
    """The weighted sum, [batch, channels, places], of the pixels of [batch, channels, pixels] at each combination of the axes' taps,
    [batch, places]. All channels are read at the same pixels, so they are last while that is done."""
    if TensorType.of(flat.type).dims[1] == 1:
        return _of_one_channel(extents, flat, sizes, taps)
    index, weight = None, None
    for size, axis in zip(sizes, taps):
        places, factors = (None if any(part is None for part in parts) else _stacked(parts) for parts in zip(*axis))
        index = places if index is None else _combined(relax.multiply(index, extents.number(index, size)), places, relax.add)
        weight = factors if weight is None or factors is None else _combined(weight, factors, relax.multiply)
    assert index is not None
    if _reads_few(flat, index):
        return _elements(flat, index, weight)
    rows = relax.permute_dims(flat, axes=[0, 2, 1])
    if weight is None:     # one tap
        made = relax.gather_nd(rows, relax.permute_dims(index, axes=[0, 2, 1]), batch_dims=1)
    else:
        made = relax.gather_weighted(rows, index, weight)
    return relax.permute_dims(made, axes=[0, 2, 1])


def _reads_few(flat: ir.Value, index: ir.Value) -> bool:
    """Whether to read element by element takes less time than to bring channels last, and to read them together."""
    (_, taps, places), (*_, pixels) = TensorType.of(index.type).dims, TensorType.of(flat.type).dims
    if not (isinstance(taps, int) and isinstance(places, int) and isinstance(pixels, int)):
        return False
    return taps * places * READ_TO_MOVE < pixels


def _of_one_channel(extents: Extents, flat: ir.Value, sizes: Sequence[Size], taps: Sequence[Sequence[Tap]]) -> ir.Value:
    """The weighted sums where there is nothing to read together: each combination of taps is read by itself, so that all that is computed
    of one place is one kernel. Halves are added in f32."""
    dtype, total = TensorType.of(flat.type).dtype, None
    for combination in itertools.product(*taps):
        index, weight = None, None
        for size, (place, factor) in zip(sizes, combination):
            index = place if index is None else relax.add(relax.multiply(index, extents.number(index, size)), place)
            weight = factor if weight is None or factor is None else relax.multiply(weight, factor)
        assert index is not None
        value = relax.gather_elements(flat, relax.expand_dims(index, axis=[1]), axis=2)
        if weight is not None:
            wide = np.result_type(np.float32, TensorType.of(weight.type).dtype, dtype)
            weight, value = (one if TensorType.of(one.type).dtype == wide else relax.astype(one, dtype=wide) for one in (weight, value))
            value = relax.multiply(value, relax.expand_dims(weight, axis=[1]))
        total = value if total is None else relax.add(total, value)
    assert total is not None
    return total if TensorType.of(total.type).dtype == dtype else relax.astype(total, dtype=dtype)


def _elements(flat: ir.Value, index: ir.Value, weight: ir.Value | None) -> ir.Value:
    """The weighted sums of elements that are read one by one."""
    batch, channels, _ = TensorType.of(flat.type).dims
    _, taps, places = TensorType.of(index.type).dims
    every = relax.reshape(index, shape=[batch, 1, taps * places])
    found = relax.gather_elements(flat, relax.broadcast_to(every, shape=[batch, channels, taps * places]), axis=2)
    if weight is None:
        return found
    dtype = TensorType.of(flat.type).dtype
    weight = weight if TensorType.of(weight.type).dtype == dtype else relax.astype(weight, dtype=dtype)
    found = relax.reshape(found, shape=[batch, channels, taps, places])
    return relax.sum(relax.multiply(found, relax.expand_dims(weight, axis=[1])), axis=[2])


def _stacked(parts: Sequence[ir.Value]) -> ir.Value:
    """[batch, places] of each tap as [batch, taps, places]."""
    return relax.concat([relax.expand_dims(part, axis=[1]) for part in parts], axis=1)


def _combined(first: ir.Value, second: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """Each of the taps of ``first`` with each of those of ``second``."""
    made = combine(relax.expand_dims(first, axis=[2]), relax.expand_dims(second, axis=[1]))
    batch, *taps, places = TensorType.of(made.type).dims
    return relax.reshape(made, shape=[batch, relax.dims.product(taps), places])


ENTRIES = (grid_sample,)
