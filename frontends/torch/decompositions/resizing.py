"""Interpolated images of given scales: ONNX has scales of 32 bits, and aligns corners by scales where torch does it by whole sizes."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _resized(op: Any) -> Callable[..., Any]:
    of_torch = torch._decomp.get_decompositions([op])[op]

    def resized(x: Any, sizes: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None) -> Any:
        if scales is None:
            return NotImplemented
        if align_corners:
            whole = [size * int(scale) if int(scale) == scale else torch.sym_int(size * scale) for size, scale in zip(x.shape[2:], scales)]
            return op(x, whole, True, None)
        return of_torch(x, sizes, align_corners, scales) if x.dtype == torch.float64 else NotImplemented

    return resized


RESIZING = {op: _resized(op) for op in (aten.upsample_bilinear2d.vec, aten.upsample_trilinear3d.vec, aten.upsample_bicubic2d.vec)}
