"""The exponential of matrices in terms of products."""
import math
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES

aten = torch.ops.aten
TERMS = {torch.float32: 10, torch.float64: 18}      # of Taylor's series, for matrices of a norm of at most 1/2
HALVINGS = 24       # of matrices of a greater norm


def _matrix_exp(x: Any) -> Any:
    """By scaling and squaring: exp(x) is exp(x / 2 ** n) squared n times, where n is each matrix' own."""
    if x.is_complex() or x.dtype not in (*HALVES, *TERMS):
        return NotImplemented
    if x.shape[-1] == 0:
        return x.clone()
    dtype = x.dtype if x.dtype in TERMS else torch.float32
    x, given = x.to(dtype), x.dtype
    norm = x.abs().sum(-2).amax(-1).unsqueeze(-1).unsqueeze(-1)
    halvings = (norm.clamp(min=0.5).log2() + 1).ceil().clamp(max=HALVINGS)
    scaled = x * (-halvings).exp2()
    one = torch.eye(x.shape[-1], dtype=dtype)
    found = one + scaled / TERMS[dtype]
    for term in range(TERMS[dtype] - 1, 0, -1):     # Horner's scheme
        found = one + torch.matmul(scaled, found) / term
    for number in range(HALVINGS):
        found = torch.where(halvings > number, torch.matmul(found, found), found)
    return torch.where(norm <= math.ldexp(0.5, HALVINGS), found, torch.nan).to(given)


EXPONENTIALS = {aten.linalg_matrix_exp.default: _matrix_exp}
