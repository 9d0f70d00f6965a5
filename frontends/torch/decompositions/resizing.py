"""Images resized by given scales. ONNX has scales of 32 bits, by which an axis of 10 has 6 elements at 0.7, where torch makes 7; it aligns
corners by scales, where torch does it by whole sizes; the exporter drops the scales of images that are filtered (``antialias``), and
ONNX cuts bytes off where torch rounds them."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _sizes(x: Any, scales: Sequence[float]) -> list[Any]:
    return [size * int(scale) if int(scale) == scale else torch.sym_int(size * scale) for size, scale in zip(x.shape[2:], scales)]


def _short(scales: Sequence[float]) -> bool:
    """Whether 32 bits hold the scales."""
    return all(float(np.float32(scale)) == scale for scale in scales)


def _interpolated(op: Any) -> Callable[..., Any]:
    of_torch = torch._decomp.get_decompositions([op])[op]

    def interpolated(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
        if scales is None:
            return NotImplemented
        if align_corners:
            return op(x, _sizes(x, scales), True, None)
        return NotImplemented if _short(scales) and x.dtype != torch.float64 else of_torch(x, sizes, align_corners, scales)

    return interpolated


def _picked(offset: float) -> Callable[..., Any]:
    """The nearest elements, at places in floats of 32 bits, as torch's kernels compute them."""
    def picked(x: Any, sizes: Sequence[int] | None, scales: Sequence[float] | None) -> Any:
        if scales is None or (not offset and _short(scales)):
            return NotImplemented
        for axis, (count, scale) in enumerate(zip(_sizes(x, scales), scales), 2):
            places = (torch.arange(count, dtype=torch.float32) + offset) * (1.0 / scale)
            x = torch.index_select(x, axis, places.to(torch.int64).clamp(max=x.shape[axis] - 1))
        return x

    return picked


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


def _of_bytes(op: Any, of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """Bytes are resized in their rows, then in their columns, and rounded after each, a half upwards. torch rounds its weights to 16 bits,
    too, by which a few bytes are one more or less."""
    def resized(x: Any, sizes: Any, align_corners: bool, scales: Any) -> Any:
        if x.dtype != torch.uint8:
            return of_floats(x, sizes, align_corners, scales)
        steps = ((x.shape[2], sizes[1]), sizes) if scales is None else ((1.0, scales[1]), (scales[0], 1.0))
        for step in steps:
            found = op(x.float(), list(step), align_corners, None) if scales is None else op(x.float(), None, align_corners, list(step))
            x = (found + 0.5).floor().clamp(0, 255)
        return x.to(torch.uint8)

    return resized


def _triangle(x: Any) -> Any:
    return (1 - x).clamp(min=0)


def _cubic(x: Any) -> Any:
    """Keys' kernel of a = -0.5, as PIL has it."""
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


IMAGES = {
    aten._upsample_bilinear2d_aa.vec: _filtered(1, _triangle), aten._upsample_bicubic2d_aa.vec: _filtered(2, _cubic),
    **{op: _interpolated(op) for op in (aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec)},
}
RESIZING = {
    **{op: _of_bytes(op, of_floats) for op, of_floats in IMAGES.items()},
    aten.upsample_trilinear3d.vec: _interpolated(aten.upsample_trilinear3d.vec),
    **{op: _picked(0.0) for op in (aten.upsample_nearest1d.vec, aten.upsample_nearest2d.vec, aten.upsample_nearest3d.vec)},
    **{op: _picked(0.5) for op in (aten._upsample_nearest_exact1d.vec, aten._upsample_nearest_exact2d.vec,
                                aten._upsample_nearest_exact3d.vec)},
}
