"""Elementwise ops in terms of others."""
import functools
import math
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES
from legato.frontends.torch.decompositions.special import in_floats

aten, prims = torch.ops.aten, torch.ops.prims


def _rounded(x: Any) -> Any:
    """Rounding, which ONNX has of floats only: integers are what they are."""
    return NotImplemented if x.is_floating_point() else x.clone()


def _isnan(x: Any) -> Any:
    """Whether elements are NaN, which no integer is."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else torch.zeros_like(x, dtype=torch.bool)


def _isfinite(x: Any) -> Any:
    """Whether elements are finite, as all integers and flags are."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else torch.ones_like(x, dtype=torch.bool)


def _infinite(*limits: float) -> Callable[[Any], Any]:
    """Whether doubles are one of the limits; the exporter looks at them as floats, of which those beyond 3.4e38 are infinite."""
    def infinite(x: Any) -> Any:
        if x.dtype != torch.float64:
            return NotImplemented
        return functools.reduce(torch.logical_or, [x == limit for limit in limits])

    return infinite


def _rounded_decimals(x: Any, *, decimals: int) -> Any:
    """Decimals of halves in floats, where the numbers that are rounded do not overflow."""
    return torch.round(x.to(torch.float32), decimals=decimals).to(x.dtype) if x.dtype in HALVES else NotImplemented


def _angle(x: Any) -> Any:
    """The angle of real numbers: pi of negative ones, and NaN of a NaN, of which the exporter makes 0."""
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    angle = torch.where(x < 0, torch.full((), math.pi, dtype=dtype), 0)
    return torch.where(x.isnan(), x, angle) if x.is_floating_point() else angle


def _fmax(x: Any, y: Any) -> Any:
    """The greater of two numbers, of which one may be NaN."""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    """The lesser of two numbers, of which one may be NaN."""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y)))


def _signbit(x: Any) -> Any:
    """Whether numbers are negative, -0.0 included; of NaN, whose sign ONNX has no op for, false."""
    return (x < 0) | ((x == 0) & (x.reciprocal() < 0)) if x.is_floating_point() else x < 0


def _copysign(x: Any, y: Any) -> Any:
    """x with the sign of y; of a NaN for y, without one."""
    if not isinstance(y, torch.Tensor):
        y = torch.full((), float(y))
    x, y = (value if value.is_floating_point() else value.to(torch.get_default_dtype()) for value in (x, y))
    size = x.abs()
    return torch.where(_signbit(y), -size, size)


def _atan2(y: Any, x: Any) -> Any:
    """The angle of a point, of the lesser coordinate over the greater, so that nothing overflows; of two zeros or infinities, too."""
    y, x = (value if value.is_floating_point() else value.to(torch.get_default_dtype()) for value in torch.broadcast_tensors(y, x))
    height, width = y.abs(), x.abs()
    greater = torch.maximum(height, width)
    ratio = torch.where(greater == 0, greater, torch.minimum(height, width) / greater)
    angle = torch.where(height.isinf() & width.isinf(), 1.0, ratio).atan()
    angle = torch.where(height > width, math.pi / 2 - angle, angle)
    angle = torch.where(_signbit(x), math.pi - angle, angle)
    return torch.where(_signbit(y), -angle, angle).to(torch.result_type(y, x))


def _heaviside(x: Any, at_zero: Any) -> Any:
    """1 of positive numbers, 0 of negative ones and of NaN."""
    return torch.where(x == 0, at_zero, (x > 0).to(x.dtype))


def _hypot(x: Any, y: Any) -> Any:
    """The length of (x, y), without overflow; infinite where one is, also beside a NaN."""
    x, y = x.abs(), y.abs()
    greater = torch.maximum(x, y)
    ratio = torch.where(greater == 0, greater, torch.minimum(x, y) / greater)
    return torch.where(x.isinf() | y.isinf(), torch.inf, greater * (1 + ratio * ratio).sqrt())


def _log_add_exp(base: float) -> Callable[[Any, Any], Any]:
    """log(base ** x + base ** y) to that base: of the greater one and the distance, since the exporter's powers overflow."""
    def log_add_exp(x: Any, y: Any) -> Any:
        dtype = torch.result_type(x, y)
        if dtype.is_complex:
            return NotImplemented
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        x, y = x.to(wide), y.to(wide)
        apart = torch.where(x == y, 0, (x - y).abs())      # of equal infinities, too
        return (torch.maximum(x, y) + torch.log1p(torch.exp(-apart * math.log(base))) / math.log(base)).to(dtype)

    return log_add_exp


def _sign(x: Any) -> Any:
    """-1, 0 or 1; 0 of a NaN."""
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype) if x.is_floating_point() else NotImplemented


@in_floats
def _sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), by a pi of the type's precision."""
    angle = math.pi * x
    return torch.where(angle == 0, 1, angle.sin() / angle)


def _logit(x: Any, eps: float | None = None) -> Any:
    """The logarithm of the odds between bounds, the lower one first, which matters of more than a half; the exporter's bounds lose NaN."""
    if eps is None or not x.is_floating_point():
        return NotImplemented
    x = torch.where(x < eps, eps, torch.where(x > 1 - eps, 1 - eps, x))
    return torch.log(x / (1 - x))


def _fused(combine: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Halves combined in floats and rounded once."""
    def fused(x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
        if x.dtype not in HALVES:
            return NotImplemented
        return combine(x.to(torch.float32), value * a.to(torch.float32), b.to(torch.float32)).to(x.dtype)

    return fused


def _frexp(x: Any) -> tuple[Any, Any]:
    """Mantissas from 0.5 to 1 and exponents of two. The logarithm may miss the exponent by one; a denormal number is scaled first."""
    least = torch.finfo(x.dtype).tiny
    scale = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}[x.dtype]
    small = x.abs() < least
    whole = torch.where(small, x * 2.0 ** scale, x)
    plain = whole.isfinite() & (whole != 0)
    exponent = torch.where(plain, whole.abs(), 1.0).log2().floor() + 1
    half = (exponent / 2).floor()    # 2 ** exponent itself may overflow
    mantissa = whole * (-half).exp2() * (half - exponent).exp2()
    high, low = mantissa.abs() >= 1, mantissa.abs() < 0.5
    mantissa = torch.where(high, mantissa / 2, torch.where(low, mantissa * 2, mantissa))
    exponent = exponent + high.to(x.dtype) - low.to(x.dtype) - torch.where(small, float(scale), 0.0)
    return torch.where(plain, mantissa, x), torch.where(plain, exponent, 0.0).to(torch.int32)


def _float_less_integers(x: Any, other: Any, alpha: Any = 1) -> Any:
    """A float less integers, which torch's exporter takes for a difference that has a number in place of its first tensor."""
    dtype = torch.result_type(x, other)
    return NotImplemented if dtype == x.dtype or alpha != 1 else -x.to(dtype) + other


ELEMENTWISE = {
    aten.rsub.Scalar: _float_less_integers,
    aten.isnan.default: _isnan,
    aten.isfinite.default: _isfinite,
    aten.isinf.default: _infinite(math.inf, -math.inf),
    aten.isposinf.default: _infinite(math.inf),
    aten.isneginf.default: _infinite(-math.inf),
    aten.round.decimals: _rounded_decimals,
    aten.angle.default: _angle,
    **dict.fromkeys((aten.ceil.default, aten.floor.default, aten.round.default), _rounded),
    **dict.fromkeys((aten.fmax.default, prims.fmax.default), _fmax),
    **dict.fromkeys((aten.fmin.default, prims.fmin.default), _fmin),
    **dict.fromkeys((aten.signbit.default, prims.signbit.default), _signbit),
    **dict.fromkeys((aten.copysign.Tensor, aten.copysign.Scalar), _copysign),
    aten.atan2.default: _atan2,
    aten.heaviside.default: _heaviside,
    **dict.fromkeys((aten.hypot.default, prims.hypot.default), _hypot),
    aten.logaddexp.default: _log_add_exp(math.e),
    aten.logaddexp2.default: _log_add_exp(2),
    aten.sign.default: _sign,
    aten.logit.default: _logit,
    aten.sinc.default: _sinc,
    aten.addcmul.default: _fused(lambda x, a, b: x + a * b),
    aten.addcdiv.default: _fused(lambda x, a, b: x + a / b),
    **dict.fromkeys((aten.frexp.Tensor, prims.frexp.default), _frexp),
}
