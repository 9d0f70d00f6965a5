"""Samples of volumes between their elements: ONNX's GridSample, which torch's exporter writes of images only."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
_MODES, _PADDINGS = ("linear", "nearest"), ("zeros", "border", "reflection")      # by torch's numbers
_VERSION = 20       # of GridSample, the first that has volumes


def _grid_sampler_3d(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    """x [batch, channels, depth, height, width] at the places of grid [batch, ..., 3]."""
    attributes = {"mode": _MODES[mode], "padding_mode": _PADDINGS[padding], "align_corners": int(align_corners)}
    shape = (*x.shape[:2], *grid.shape[1:-1])
    return torch.onnx.ops.symbolic("GridSample", (x, grid), attributes, dtype=x.dtype, shape=shape, version=_VERSION)


SAMPLING = {aten.grid_sampler_3d.default: _grid_sampler_3d}
