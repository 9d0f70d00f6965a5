"""Bags of embeddings, of which torch's exporter writes a loop of one bag a turn."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
MEAN, MAX = 1, 2   # modes; 0 is a sum


def _embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
                   per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Any:
    """Rows of ``weight`` [rows, width] at ``indices`` [count], reduced by bags that begin at ``offsets``, the first of which is 0; of the
    kernel's four results the others are not those of torch, except for the sizes of bags. An empty bag is 0."""
    count, bags = indices.shape[0], offsets.shape[0] - include_last_offset
    begun = torch.zeros(count + 1, dtype=torch.int64).scatter_add(0, offsets[1:bags].long(), torch.ones_like(offsets[1:bags]).long())
    bag = begun.cumsum(0)[:count]
    given = indices != padding_idx if padding_idx is not None and padding_idx >= 0 else torch.ones_like(indices, dtype=torch.bool)
    sizes = torch.zeros(bags, dtype=torch.int64).index_add(0, bag, given.long())
    rows = weight.index_select(0, indices.long()).to(torch.promote_types(weight.dtype, torch.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    neutral = -torch.inf if mode == MAX else 0
    rows = torch.where(given.unsqueeze(1), rows, neutral)
    made = torch.full((bags, weight.shape[1]), neutral, dtype=rows.dtype)
    if mode == MAX:
        made = made.scatter_reduce(0, bag.unsqueeze(1).expand(rows.shape), rows, "amax")
        made = torch.where((sizes == 0).unsqueeze(1), 0, made)
    else:
        made = made.index_add(0, bag, rows)
    if mode == MEAN:
        made = made / sizes.clamp(min=1).unsqueeze(1)
    return made.to(weight.dtype), bag, sizes, offsets


BAGS = dict.fromkeys((aten.embedding_bag.default, aten.embedding_bag.padding_idx, aten._embedding_bag_forward_only.default,
                      aten._embedding_bag.default), _embedding_bag)
