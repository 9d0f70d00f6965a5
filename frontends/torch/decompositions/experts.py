"""Products of rows with the matrices of their groups, as mixtures of experts have them."""
import sys
from typing import Any

import torch  # pyright: ignore[reportMissingImports]


def _grouped(rows: Any, weights: Any, ends: Any) -> Any:
    """rows [n, k], in the order of their groups, times the group's own of weights [groups, k, m]: [n, m]. A group ends where ``ends`` says,
    and the next one begins there; rows behind the last one are 0. All rows meet all weights: which do is data."""
    number = torch.arange(rows.shape[0], device=rows.device).unsqueeze(-1)
    group = (number >= ends).to(torch.int64).sum(-1)
    own = group == torch.arange(weights.shape[0], device=rows.device).unsqueeze(-1)      # [groups, n]
    return torch.where(own.unsqueeze(-1), torch.matmul(rows, weights), 0).sum(0).to(rows.dtype)


def _grouped_mm(rows: Any, weights: Any, ends: Any = None, bias: Any = None, dtype: Any = None) -> Any:
    """torch's op for it, of rows in groups and a matrix for each."""
    if ends is None or bias is not None or dtype not in (None, rows.dtype) or (rows.ndim, weights.ndim) != (2, 3):
        return NotImplemented
    return _grouped(rows, weights, ends)


def of_transformers() -> dict[Any, Any]:
    """The op that transformers has for it, once transformers has defined it."""
    if "transformers" not in sys.modules or not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        return {}
    return {torch.ops.transformers.grouped_mm_fallback.default: _grouped}


EXPERTS = {torch.ops.aten._grouped_mm.default: _grouped_mm}
