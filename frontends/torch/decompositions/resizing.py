"""Images resized by given scales. ONNX has scales of 32 bits, by which an axis of 10 has 6 elements at 0.7, where torch makes 7; it aligns
corners by scales, where torch does it by whole sizes; it divides places by scales, where torch multiplies by their inverses; and the
exporter drops the scales of images that are filtered (``antialias``)."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import statically_known_true  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.resized_bytes import resized_bytes

aten = torch.ops.aten


def _sizes(x: Any, scales: Sequence[float]) -> list[Any]:
    return [size * int(scale) if int(scale) == scale else torch.sym_int(size * scale) for size, scale in zip(x.shape[2:], scales)]


def _short(scales: Sequence[float]) -> bool:
    """Whether 32 bits hold the scales."""
    return all(float(np.float32(scale)) == scale for scale in scales)


def _interpolated(op: Any, by_scales: Callable[..., Any]) -> Callable[..., Any]:
    def interpolated(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
        if scales is None:
            return NotImplemented
        if align_corners:
            return op(x, _sizes(x, scales), True, None)
        return NotImplemented if _short(scales) and x.dtype != torch.float64 else by_scales(x, sizes, align_corners, scales)

    return interpolated


def _between(x: Any, sizes: None, align_corners: bool, scales: Sequence[float]) -> Any:
    """Means of the two neighbours of a place by its distances to them, one axis after the other. torch's decomposition adds a part of their
    difference to the first one, which is NaN where that is infinite, and infinite where they are far apart."""
    dtype, wide = x.dtype, torch.float64 if x.dtype == torch.float64 else torch.float32
    x = x.to(wide)
    for axis, (count, scale) in enumerate(zip(_sizes(x, scales), scales), 2):
        if scale == 1:
            continue
        last, below = x.shape[axis] - 1, [1] * (x.dim() - 1 - axis)
        places = ((torch.arange(count, dtype=wide) + 0.5) * (1.0 / scale) - 0.5).clamp(min=0)
        first = places.to(torch.int64).clamp(max=last)
        second, share = (first + 1).clamp(max=last), (places - first).clamp(max=1).reshape(-1, *below)
        x = torch.index_select(x, axis, first) * (1 - share) + torch.index_select(x, axis, second) * share
    return x.to(dtype)


def _as_rows(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
    """A signal as an image of one row, which the exporter writes as a Resize, and not as steps of torch's."""
    rows = _LINEAR(x.unsqueeze(2), None if sizes is None else [1, *sizes], align_corners, None if scales is None else [1.0, *scales])
    return rows.squeeze(2)


def _picked(offset: float) -> Callable[..., Any]:
    """The nearest elements, at places in floats of 32 bits, as torch's kernels compute them."""
    def picked(x: Any, sizes: Sequence[Any] | None, scales: Sequence[float] | None) -> Any:
        if scales is None:
            sizes = sizes or ()
            if offset or all(_alike_by_sizes(*pair) for pair in zip(x.shape[2:], sizes)):
                return NotImplemented
            steps = [size / count for size, count in zip(x.shape[2:], sizes)]
        elif not offset and _short(scales) and all(_alike(scale, 1 / scale) for scale in scales):
            return NotImplemented
        else:
            sizes, steps = _sizes(x, scales), [1.0 / scale for scale in scales]
        for axis, (count, step) in enumerate(zip(sizes, steps), 2):
            places = (torch.arange(count, dtype=torch.float32) + offset) * step
            x = torch.index_select(x, axis, places.to(torch.int64).clamp(max=x.shape[axis] - 1))
        return x

    return picked


def _alike(scale: float, step: float, count: int = 1 << 16) -> bool:
    """Whether ONNX's Resize, which divides places by the scale, takes the elements that torch takes, which multiplies by the inverse. Of 7
    out of 49, element 1 is at 1 / (1 / 7), which is less than 7 in 32 bits, or at 1 * 7."""
    numbers = np.arange(count, dtype=np.float32)
    return np.array_equal(np.floor(numbers / np.float32(scale)), np.floor(numbers * np.float32(step)))


def _alike_by_sizes(size: Any, count: Any) -> bool:
    """The same of two sizes; of symbolic ones, if one is a small multiple of the other."""
    if isinstance(size, int) and isinstance(count, int):
        return size == 0 or count == 0 or _alike(count / size, size / count, count)
    return any((statically_known_true(count == size * times) and _alike(times, 1 / times))
               or (statically_known_true(size == count * times) and _alike(1 / times, times)) for times in (1, 2, 3, 4, 5, 6, 7, 8, 16, 32))


def _filtered(reach: int, weight: Callable[[Any], Any]) -> Callable[..., Any]:
    """Sums of the elements around a place, as products: the filter is as wide as the elements that become one."""
    def filtered(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
        if scales is None or align_corners:
            return NotImplemented
        for axis, (count, scale) in enumerate(zip(_sizes(x, scales), scales), 2):
            step, size = 1.0 / scale, x.shape[axis]
            width = max(step, 1.0)
            centers = (torch.arange(count, dtype=torch.float64) + 0.5)[:, None] * step
            places = torch.arange(size)
            first = torch.floor(centers - reach * width + 0.5).clamp(min=0)
            last = torch.floor(centers + reach * width + 0.5).clamp(max=size)
            weights = torch.where((places >= first) & (places < last), weight((places - centers + 0.5).abs() / width), 0.0)
            weights = (weights / weights.sum(1, keepdim=True)).to(x.dtype)
            x = torch.matmul(weights, x) if axis == 2 else torch.matmul(x, weights.T)
        return x

    return filtered


def _triangle(x: Any) -> Any:
    return (1 - x).clamp(min=0)


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel: of a = -0.5, as PIL has it, or -0.75."""
    def weight(x: Any) -> Any:
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))

    return weight


def _or_bytes(of_others: Callable[..., Any], reach: int, weight: Callable[[Any], Any], antialias: bool) -> Callable[..., Any]:
    def resized(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
        if x.dtype != torch.uint8 or (antialias and align_corners):
            return of_others(x, sizes, align_corners, scales)
        return resized_bytes(x, sizes or _sizes(x, scales or ()), scales, align_corners, reach, weight, antialias)

    return resized


_LINEAR, _BICUBIC = aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec
RESIZING = {
    aten._upsample_bilinear2d_aa.vec: _or_bytes(_filtered(1, _triangle), 1, _triangle, True),
    aten._upsample_bicubic2d_aa.vec: _or_bytes(_filtered(2, _cubic(-0.5)), 2, _cubic(-0.5), True),
    aten.upsample_linear1d.vec: _as_rows,
    _LINEAR: _or_bytes(_interpolated(_LINEAR, _between), 1, _triangle, False),
    _BICUBIC: _or_bytes(_interpolated(_BICUBIC, torch._decomp.get_decompositions([_BICUBIC])[_BICUBIC]), 2, _cubic(-0.75), False),
    aten.upsample_trilinear3d.vec: _interpolated(aten.upsample_trilinear3d.vec, _between),
    **{op: _picked(0.0) for op in (aten.upsample_nearest1d.vec, aten.upsample_nearest2d.vec, aten.upsample_nearest3d.vec)},
    **{op: _picked(0.5) for op in (aten._upsample_nearest_exact1d.vec, aten._upsample_nearest_exact2d.vec,
                                aten._upsample_nearest_exact3d.vec)},
}
