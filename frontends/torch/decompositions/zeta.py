"""Hurwitz's zeta function, and the derivatives of digamma, which it makes."""
import math
from fractions import Fraction
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.special import digamma, trigamma

aten, prims = torch.ops.aten, torch.ops.prims
TERMS = 9       # that are summed one by one; the others are an integral with corrections (Euler and Maclaurin's formula)
BELOW = 32      # negative whole numbers up to which the sum may begin; beyond, NaN
BERNOULLI = tuple(Fraction(*pair) for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
                                                (43867, 798), (-174611, 330)))      # B2, B4, ...


def _zeta(s: Any, q: Any) -> Any:
    """The sum of (q + k) ** -s over whole k from 0, computed in doubles: for s > 1, and q > 0 or, for whole s, not whole."""
    s, q = (value if isinstance(value, torch.Tensor) else torch.full((), value, dtype=torch.float64) for value in (s, q))
    dtype = torch.result_type(s, q)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    s, q = torch.broadcast_tensors(s.to(torch.float64), q.to(torch.float64))
    total, at = torch.zeros_like(q), q
    whole = s == s.floor()
    odd = whole & ((s / 2).floor() * 2 != s)
    for _ in range(BELOW):      # powers of negative numbers, whose signs are those of whole exponents
        low = at < 0
        power = at.abs().pow(-s)
        total = torch.where(low, total + torch.where(odd, -power, power), total)
        at = torch.where(low, at + 1, at)
    for _ in range(TERMS):
        total = total + at.pow(-s)
        at = at + 1
    power = at.pow(-s)
    total = total + power * at / (s - 1) + power / 2
    factor = s / at         # s (s + 1) ... (s + 2j - 2) / at ** (2j - 1)
    for j, number in enumerate(BERNOULLI, 1):
        total = total + power * factor * float(number / math.factorial(2 * j))
        factor = factor * (s + 2 * j - 1) * (s + 2 * j) / (at * at)
    total = torch.where(q == torch.inf, 0, total)
    total = torch.where((q <= 0) & (q == q.floor()), torch.inf, total)
    total = torch.where((q < 0) & (q != q.floor()) & (~whole | (q < -BELOW)), torch.nan, total)
    total = torch.where(s == 1, torch.inf, torch.where(s < 1, torch.nan, total))
    return torch.where(s.isnan() | q.isnan(), torch.nan, total).to(dtype)


def _polygamma(n: int, x: Any) -> Any:
    """The derivatives of digamma."""
    if n < 2:
        return digamma(x) if n == 0 else trigamma(x)
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    found = _zeta(torch.full((), n + 1, dtype=torch.float64), x.to(torch.float64)) * (-1) ** (n + 1) * math.factorial(n)
    return found.to(x.dtype)


ZETA = {
    **dict.fromkeys((aten.special_zeta.default, prims.zeta.default), _zeta),
    aten.polygamma.default: _polygamma,
}
