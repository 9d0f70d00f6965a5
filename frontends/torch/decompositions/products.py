"""Products and distances in terms of others."""
from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES

aten = torch.ops.aten


def _cdist(x: Any, y: Any, p: float, compute_mode: int | None = None) -> Any:
    """The distances of all rows of x [..., m, k] to those of y [..., n, k] by the p-norm: [..., m, n]."""
    return _length(x.unsqueeze(-2) - y.unsqueeze(-3), p)


def _pdist(x: Any, p: float = 2) -> Any:
    """The distances of each row of x [n, k] to those behind it, by the p-norm: [n * (n - 1) / 2], row after row. The row of a pair is where
    a triangle of the pairs behind it begins."""
    rows = x.shape[0]
    pairs = rows * (rows - 1) // 2
    behind = pairs - 1 - torch.arange(pairs)
    height = ((torch.sqrt(8 * behind.to(torch.float64) + 1) - 1) / 2).floor().to(torch.int64)      # of the triangle, less 1
    first = rows - 2 - height
    second = rows - 1 - (behind - height * (height + 1) // 2)
    return _length(x[first] - x[second], p)


def _length(x: Any, p: float) -> Any:
    """The p-norm along the last axis."""
    size = x.abs()
    if p == 0:
        return (size != 0).to(x.dtype).sum(-1)
    if p == float("inf"):
        return size.amax(-1)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return size.square().sum(-1).sqrt()
    return size.pow(p).sum(-1).pow(1 / p)


def _trilinear(a: Any, b: Any, c: Any, expand_a: Sequence[int], expand_b: Sequence[int], expand_c: Sequence[int], axes: Sequence[int],
               unroll_dim: int = 1) -> Any:
    """The sum over ``axes`` of the product of three tensors, each with further axes of size 1."""
    for place in expand_a:
        a = a.unsqueeze(place)
    for place in expand_b:
        b = b.unsqueeze(place)
    for place in expand_c:
        c = c.unsqueeze(place)
    product = a * b * c
    return product.sum(tuple(axes)) if axes else product


def _sum_with_product(x: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """``beta * x + alpha * (a @ b)`` of halves, of which a product that is scaled need not be one."""
    if x.dtype not in HALVES or (alpha == 1 and beta == 1):
        return NotImplemented
    product = alpha * torch.matmul(a.float(), b.float())
    return (product if beta == 0 else product + beta * x.float()).to(x.dtype)


PRODUCTS = {
    **dict.fromkeys((aten.addmm.default, aten.baddbmm.default), _sum_with_product),
    aten._cdist_forward.default: _cdist,
    **dict.fromkeys((aten.pdist.default, aten._pdist_forward.default), _pdist),
    aten._trilinear.default: _trilinear,
}
