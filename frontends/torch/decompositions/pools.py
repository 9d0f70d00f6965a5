"""Pools in terms of others, of gathers and of products."""
import math
from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _avg_pool(x: Any, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,), ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: int | None = None) -> Any:
    """Average pooling with a divisor of its own, which the exporter drops: sums of whole windows, of an image with all its padding."""
    if divisor_override is None or not x.is_floating_point():
        return NotImplemented
    axes = len(kernel)
    stride, padding = (list(given) * (axes // len(given)) for given in (stride or kernel, padding))
    added: list[Any] = []
    for size, window, step, pad in zip(x.shape[-axes:], kernel, stride, padding):
        whole = size + 2 * pad
        if ceil_mode:
            count = (whole - window + step - 1) // step + 1
            count -= int((count - 1) * step >= size + pad)
            whole = max(whole, (count - 1) * step + window)
        added = [pad, whole - size - pad, *added]
    pool = functional.avg_pool2d if axes == 2 else functional.avg_pool3d
    return pool(functional.pad(x, added), list(kernel), stride) * (math.prod(kernel) / divisor_override)


def _adaptive_avg_pool(x: Any, sizes: Sequence[Any]) -> Any:
    """Means of windows that together cover an image: axis by axis, since each window is a box."""
    kernel = _equal_windows(x, sizes)
    if kernel is not None:
        return (functional.avg_pool2d if len(sizes) == 2 else functional.avg_pool3d)(x, kernel)
    for number, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + number
        at, inside = _windows(x.shape[axis], size)
        rows = x.movedim(axis, -1)
        taken = rows[..., at.reshape(-1)].reshape(*rows.shape[:-1], *at.shape)
        total = torch.where(inside, taken, torch.zeros_like(taken)).sum(-1) / inside.sum(-1).to(x.dtype)
        x = total.movedim(-1, axis)
    return x


def _adaptive_avg_pool2d(x: Any, sizes: Sequence[Any]) -> Any:
    """Those of an image whose size, or in a number that, only a call knows: torch takes windows to be of one size, or not, as they are of
    the example."""
    known = all(isinstance(size, int) for size in (*x.shape[-2:], *sizes))
    return NotImplemented if known else _adaptive_avg_pool(x, sizes)


def _adaptive_max_pool(x: Any, sizes: Sequence[Any]) -> tuple[Any, Any]:
    """Maxima of windows that together cover an image, and their places in the image, its axes taken together."""
    axes = len(sizes)
    place = inside = torch.ones((), dtype=torch.bool)
    for number, (length, size) in enumerate(zip(x.shape[-axes:], sizes)):
        at, here = _windows(length, size)
        shape = [1] * (2 * axes)
        shape[number], shape[axes + number] = at.shape
        place = at.view(shape) if number == 0 else place * length + at.view(shape)
        inside = inside & here.view(shape)
    place, inside = place.reshape(*sizes, -1), inside.reshape(*sizes, -1)
    image = x.flatten(-axes)
    windows = image[..., place.reshape(-1)].reshape(*image.shape[:-1], *place.shape)
    windows = torch.where(inside, windows, torch.full_like(windows, -torch.inf))
    best = _place_of_greatest(windows)
    places = place.expand(windows.shape).gather(-1, best)
    return windows.gather(-1, best).squeeze(-1), places.squeeze(-1)


def _place_of_greatest(x: Any) -> Any:
    """The place on the last axis of the first one of its greatest elements, or of the last NaN if there is one: [..., 1]."""
    last = torch.where(x.isnan(), torch.arange(x.shape[-1]), -1).amax(-1, keepdim=True)
    return torch.where(last >= 0, last, x.argmax(-1, keepdim=True))


def _equal_windows(x: Any, sizes: Sequence[Any]) -> list[int] | None:
    """The size of the windows that cover an image in these numbers; None where they differ or are not known."""
    image = x.shape[x.ndim - len(sizes):]
    known = all(isinstance(length, int) and isinstance(size, int) and size and length % size == 0 for length, size in zip(image, sizes))
    return [length // size for length, size in zip(image, sizes)] if known else None


def _windows(length: Any, size: Any) -> tuple[Any, Any]:
    """[size, n]: the places on an axis that windows take, and whether they do: some are longer than others."""
    numbers = torch.arange(size)
    begins, ends = numbers * length // size, ((numbers + 1) * length + size - 1) // size
    at = begins.unsqueeze(-1) + torch.arange((length + size - 1) // size + 1)
    return at.clamp(max=length - 1), at < ends.unsqueeze(-1)


POOLS = {
    **dict.fromkeys((aten.avg_pool2d.default, aten.avg_pool3d.default), _avg_pool),
    aten._adaptive_avg_pool2d.default: _adaptive_avg_pool2d,
    aten._adaptive_avg_pool3d.default: _adaptive_avg_pool,
    **dict.fromkeys((aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default), _adaptive_max_pool),
}
