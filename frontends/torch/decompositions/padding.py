"""Padding that ONNX's Pad has not."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _pad(x: Any, padding: Sequence[Any], mode: str = "constant", value: float | None = None) -> Any:
    """Edges and reflections beside a crop: torch takes them from the whole axis, ONNX from what the crop leaves: too little, maybe."""
    if mode not in ("replicate", "reflect") or not any(guard_or_false(count < 0) for count in padding):
        return NotImplemented
    for number, (before, after) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        axis = x.ndim - 1 - number
        last = x.shape[axis] - 1
        places = torch.arange(last + 1 + before + after) - before
        x = x.index_select(axis, places.clamp(0, last) if mode == "replicate" else last - (last - places.abs()).abs())
    return x


def _in_mode(mode: str) -> Callable[[Any, Sequence[Any]], Any]:
    def pad(x: Any, padding: Sequence[Any]) -> Any:
        return _pad(x, padding, mode)

    return pad


PADDING = {
    aten.pad.default: _pad,
    **{op.default: _in_mode("replicate") for op in (aten.replication_pad1d, aten.replication_pad2d, aten.replication_pad3d)},
    **{op.default: _in_mode("reflect") for op in (aten.reflection_pad1d, aten.reflection_pad2d, aten.reflection_pad3d)},
}
