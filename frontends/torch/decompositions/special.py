"""Special functions in terms of elementary ones, in the precision of floats and of doubles."""
import functools
import math
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES

aten, prims = torch.ops.aten, torch.ops.prims

# of digamma: log x - 1/(2x) - z A(z) with z = 1/x^2, from 10 on (the asymptotic series)
DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
TRIGAMMA = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)    # z T(z) / x beyond 1/x + 1/(2x^2), likewise
FAR = 10
# of the inverse error function: first guesses, which Halley's method makes exact
NEAR_ABOVE, NEAR_BELOW = (-0.140543331, 0.914624893, -1.645349621, 0.886226899), (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
TAIL_ABOVE, TAIL_BELOW = (1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.6370678, 3.5438892, 1.0)
ERFCX_FAR, ERFCX_TERMS = {torch.float32: 5.0, torch.float64: 10.0}, 12


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's scheme; the coefficient of the highest power comes first."""
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def in_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of float tensors for all: integers become floats of the default type, and halves are rounded at the end alone."""
    @functools.wraps(function)
    def of_any(x: Any, *others: Any) -> Any:
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        inner = torch.float32 if dtype in HALVES else dtype
        return function(x.to(inner), *others).to(dtype)

    return of_any


@in_floats
def digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function: by steps up to 10 and the asymptotic series there, by reflection below 0. NaN at
    the negative whole numbers, infinite at 0."""
    whole = x.round()
    low = x < 0
    up = torch.where(low, 1 - x, x)
    value = torch.zeros_like(x)
    for _ in range(FAR):
        below = up < FAR
        value = torch.where(below, value - 1 / up, value)
        up = torch.where(below, up + 1, up)
    z = 1 / (up * up)
    value = value + up.log() - 0.5 / up - z * polynomial(z, DIGAMMA)
    value = torch.where(low, value - math.pi / (math.pi * (x - whole)).tan(), value)
    value = torch.where(low & (x == whole), torch.nan, value)
    return torch.where(x == 0, -1 / x, value)


@in_floats
def trigamma(x: Any) -> Any:
    """The second derivative of the logarithm of the gamma function: likewise, infinite at 0 and the negative whole numbers."""
    low = x < 0
    up = torch.where(low, 1 - x, x)
    value = torch.zeros_like(x)
    for _ in range(FAR):
        below = up < FAR
        value = torch.where(below, value + 1 / (up * up), value)
        up = torch.where(below, up + 1, up)
    z = 1 / (up * up)
    value = value + (1 + 0.5 / up + z * polynomial(z, TRIGAMMA)) / up
    return torch.where(low, (math.pi / (math.pi * (x - x.round())).sin()).square() - value, value)


@in_floats
def _ndtri(p: Any) -> Any:
    """The inverse of the normal distribution: that of erfc for the lesser of p and 1 - p, by Halley's method; NaN beyond 0 and 1."""
    tail = torch.where(p > 0.5, 1 - p, p)
    inside = (tail > 0) & (tail < 0.5)
    tail = torch.where(inside, tail, 0.25)
    root = (-tail.log()).sqrt()
    size = 1 - 2 * tail
    near = size * polynomial(size * size, NEAR_ABOVE) / polynomial(size * size, NEAR_BELOW)
    x = torch.where(tail > 0.15, near, polynomial(root, TAIL_ABOVE) / polynomial(root, TAIL_BELOW))
    for _ in range(3):
        # (erfc(x) - 2 tail) / erfc'(x), in terms that do not underflow
        step = (torch.special.erfcx(x) - (x * x + tail.log()).exp() * 2) * (math.sqrt(math.pi) / 2)
        x = x + step / (1 - x * step)
    x = torch.where(inside, x * math.sqrt(2), torch.where(p == 0.5, 0, torch.inf))
    x = torch.where(p > 0.5, x, -x)
    return torch.where((p >= 0) & (p <= 1), x, torch.nan)


@in_floats
def _erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x): with the square in two parts, whose greater one is exact; by the asymptotic series where erfc underflows."""
    far = ERFCX_FAR[x.dtype]
    least = x.clamp(max=far)
    coarse = (least * 16).round() / 16
    rest = least - coarse
    near = least.erfc() * (rest * (least + coarse)).exp() * (coarse * coarse).exp()
    great = x.clamp(min=far)
    inverse = 1 / great
    half_square = 0.5 * inverse * inverse
    series = torch.ones_like(x)
    for n in range(ERFCX_TERMS, 0, -1):
        series = 1 - (2 * n - 1) * half_square * series
    value = torch.where(x > far, inverse * (1 / math.sqrt(math.pi)) * series, near)
    return torch.where(x < -far * 100, torch.inf, value)


SPECIAL = {
    **dict.fromkeys((aten.digamma.default, prims.digamma.default), digamma),
    **dict.fromkeys((aten.special_ndtri.default, prims.ndtri.default), _ndtri),
    **dict.fromkeys((aten.special_erfcx.default, prims.erfcx.default), _erfcx),
}
