"""Images of bytes, resized as torch's kernels do it: an axis after the other, from the last one on, by weights of 16 bits, and rounded to
bytes between the axes. ONNX's Resize weighs in floats, and rounds at the end: a byte is off by one, or by ten where a cubic overshoots."""
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

MOST_TAPS = 64          # more are a product with a matrix of all weights
PRECISIONS = 22         # torch's bound of the bits behind the point


def resized_bytes(x: Any, counts: Sequence[Any], scales: Sequence[float] | None, align_corners: bool, reach: int,
                  weight: Callable[[Any], Any], antialias: bool) -> Any:
    """x[batch, channels, height, width] of bytes with ``counts`` rows and columns. ``weight(distance)`` is 0 from ``reach`` on."""
    for axis in (3, 2):
        size, count = x.shape[axis], counts[axis - 2]
        if isinstance(size, int) and size == count:
            continue
        if align_corners:
            step = _ratio(size - 1, count - 1)
        else:
            step = 1.0 / scales[axis - 2] if scales else _ratio(size, count)
        x = _resized(x, axis, count, step, align_corners, reach, weight, antialias)
    return x


def _ratio(size: Any, count: Any) -> Any:
    """size / count as a number, or as a tensor of f64 where one is symbolic: the exporter divides sizes in f32. By 0, anything."""
    if isinstance(size, int) and isinstance(count, int):
        return size / max(count, 1)
    return torch.scalar_tensor(size, dtype=torch.float64) / torch.scalar_tensor(count, dtype=torch.float64).clamp(min=1)


def _resized(x: Any, axis: int, count: Any, step: Any, align_corners: bool, reach: int, weight: Callable[[Any], Any],
             antialias: bool) -> Any:
    size, known = x.shape[axis], isinstance(step, float)
    width = (max(step, 1.0) if known else step.clamp(min=1.0)) if antialias else 1.0
    numbers = torch.arange(count, dtype=torch.float64)
    centers = (numbers * step + 0.5 if align_corners else (numbers + 0.5) * step)[:, None]
    at = (centers - 0.5).clamp(min=0) if reach == 1 else centers - 0.5
    if antialias:
        first = torch.floor(centers - reach * width + 0.5).clamp(min=0)
    else:
        first = (torch.floor(at) - reach + 1).clamp(min=0)
    taps = 2 * math.ceil(reach * width) + 1 if known else None
    gathers = taps is not None and taps <= MOST_TAPS and isinstance(size, int)
    places = first + torch.arange(taps) if gathers else torch.arange(size)[None].to(torch.float64)
    if antialias:
        last = torch.floor(centers + reach * width + 0.5).clamp(max=size)
        weights = torch.where((places >= first) & (places < last), weight((places - centers + 0.5).abs() / width), 0.0)
        weights = weights / weights.sum(1, keepdim=True)
    else:
        weights = _of_neighbours(places, at, size, reach, weight)
    whole, precision = _in_16_bits(weights)
    rounded = torch.bitwise_left_shift(torch.ones_like(precision), precision - 1)
    values = x.to(torch.int32)
    if gathers:
        total = rounded
        below = [1] * (3 - axis)
        for tap in range(places.shape[1]):
            place = places[:, tap].clamp(max=size - 1).to(torch.int64)
            total = total + torch.index_select(values, axis, place) * whole[:, tap].view(-1, *below)
    else:
        total = (torch.matmul(whole, values) if axis == 2 else torch.matmul(values, whole.T)) + rounded
    return torch.bitwise_right_shift(total.clamp(min=0), precision).clamp(max=255).to(torch.uint8)


def _of_neighbours(places: Any, at: Any, size: Any, reach: int, weight: Callable[[Any], Any]) -> Any:
    """The weights of the ``2 * reach`` neighbours of each place ``at``; those outside of the axis are those of the pixel at its end."""
    low, weights = torch.floor(at), torch.zeros_like(places * at)
    for number in range(1 - reach, reach + 1):
        own = weight((at - (low + number)).abs())
        weights = weights + torch.where(places == (low + number).clamp(min=0, max=size - 1), own, 0.0)
    return weights


def _in_16_bits(weights: Any) -> tuple[Any, Any]:
    """The weights as i32[count, taps] with as many bits behind the point, i32[1], as 16 bits have room for in the greatest one."""
    scaled = weights.amax().reshape(1) * 2.0 ** torch.arange(1, PRECISIONS + 1, dtype=torch.float64)
    precision = (torch.floor(scaled + 0.5) < 1 << 15).to(torch.int32).sum(0, keepdim=True).to(torch.int32)
    factor = torch.pow(torch.tensor(2.0, dtype=torch.float64), precision.to(torch.float64))
    return torch.trunc(weights * factor + torch.where(weights < 0, -0.5, 0.5)).to(torch.int32), precision
