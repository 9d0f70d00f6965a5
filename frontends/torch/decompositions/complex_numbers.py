"""Ops on complex numbers in terms of their real and imaginary parts, where the exporter has them of real numbers alone."""
import cmath
import math
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.complex_elements import COMPLEX_ELEMENTS
from legato.frontends.torch.decompositions.complex_inverses import COMPLEX_INVERSES
from legato.frontends.torch.decompositions.complex_matrices import COMPLEX_MATRICES, of_complex

aten = torch.ops.aten


def _times_a_number(x: Any, number: Any) -> Any:
    """Real numbers times a complex one."""
    if not isinstance(number, complex) or x.is_complex():
        return NotImplemented
    x = x.to(torch.result_type(x, number).to_real())
    return torch.complex(x * number.real, x * number.imag)


def _exp(x: Any) -> Any:
    return torch.polar(x.real.exp(), x.imag)


def _log(x: Any) -> Any:
    return torch.complex(x.abs().log(), x.angle())


def _expm1(x: Any) -> Any:
    """Without loss near 0."""
    return torch.complex(x.real.expm1() * x.imag.cos() - 2 * (x.imag / 2).sin() ** 2, x.real.exp() * x.imag.sin())


def _sinc(x: Any) -> Any:
    turned = x * math.pi
    return torch.where(x.abs() == 0, torch.ones_like(x), turned.sin() / turned)


def _sqrt(x: Any) -> Any:
    """The root with a real part of at least 0, without loss where the real part is near the absolute value."""
    size = x.abs()
    greater = ((size + x.real.abs()) / 2).sqrt()
    lesser = torch.where(greater == 0, 0, x.imag.abs() / (2 * torch.where(greater == 0, 1, greater)))
    ahead = x.real >= 0
    return torch.complex(torch.where(ahead, greater, lesser), torch.copysign(torch.where(ahead, lesser, greater), x.imag))


def _sin(x: Any) -> Any:
    return torch.complex(x.real.sin() * x.imag.cosh(), x.real.cos() * x.imag.sinh())


def _cos(x: Any) -> Any:
    return torch.complex(x.real.cos() * x.imag.cosh(), -x.real.sin() * x.imag.sinh())


def _sinh(x: Any) -> Any:
    return torch.complex(x.real.sinh() * x.imag.cos(), x.real.cosh() * x.imag.sin())


def _cosh(x: Any) -> Any:
    return torch.complex(x.real.cosh() * x.imag.cos(), x.real.sinh() * x.imag.sin())


def _tanh(x: Any) -> Any:
    """sinh(2a) + i sin(2b) over cosh(2a) + cos(2b), of which both sides are 1 or -1 far from 0."""
    twice = (2 * x.real).clamp(-80, 80)
    under = twice.cosh() + (2 * x.imag).cos()
    return torch.complex(twice.sinh() / under, (2 * x.imag).sin() / under)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + torch.exp(-x))


def _power(x: Any, exponent: Any) -> Any:
    """Small whole powers by products, others by exp and log; 0 to the power of a positive number is 0."""
    if isinstance(exponent, (int, float)) and not isinstance(exponent, bool) and exponent == int(exponent) and 0 <= exponent <= 8:
        made = torch.ones_like(x)
        for _ in range(int(exponent)):
            made = made * x
        return made
    if isinstance(exponent, (int, float)) and exponent == 0.5:
        return x.sqrt()
    if isinstance(exponent, (int, float)) and exponent == -1:
        return x.reciprocal()
    found = torch.exp(exponent * torch.log(x))
    return torch.where(x.abs() == 0, torch.zeros_like(found), found)


def _power_of_number(number: Any, exponent: Any) -> Any:
    if number == 0:
        return NotImplemented
    logarithm = cmath.log(number)
    return torch.exp(exponent * (logarithm if logarithm.imag else logarithm.real))


def _is_complex(value: Any) -> bool:
    return isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex())


def _parts_of(value: Any) -> tuple[Any, Any]:
    if _is_complex(value):
        return value.real, value.imag
    return value, 0


def _quotient(x: Any, y: Any) -> Any:
    """By Smith's method, which does not square the divisor's parts (R. L. Smith, Algorithm 116, Communications of the ACM 5, 1962); 0
    divides each part, as in torch."""
    dtype = next(value.dtype for value in (x, y) if isinstance(value, torch.Tensor) and value.is_complex()).to_real()
    (a, b), (c, d) = ([part.to(dtype) if isinstance(part, torch.Tensor) else part for part in _parts_of(value)] for value in (x, y))
    if not _is_complex(y):
        return torch.complex(a / c, b / c)
    c, d = (part if isinstance(part, torch.Tensor) else torch.full((), part, dtype=dtype) for part in (c, d))
    ahead = c.abs() >= d.abs()
    greater, lesser = torch.where(ahead, c, d), torch.where(ahead, d, c)
    ratio = lesser / torch.where(greater == 0, 1, greater)
    scale = 1 / torch.where(greater == 0, 0, greater + lesser * ratio)      # of either sign
    return torch.complex(torch.where(ahead, a + b * ratio, a * ratio + b) * scale, torch.where(ahead, b - a * ratio, b * ratio - a) * scale)


def _equal(x: Any, y: Any) -> Any:
    (a, b), (c, d) = _parts_of(x), _parts_of(y)
    return torch.logical_and(a == c, b == d)


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    difference = (x - y).abs()
    close = _equal(x, y) | (difference.isfinite() & (difference <= atol + rtol * y.abs()))
    return close | (_isnan(x) & _isnan(y)) if equal_nan else close


def _isnan(x: Any) -> Any:
    return x.real.isnan() | x.imag.isnan()


def _isinf(x: Any) -> Any:
    return x.real.isinf() | x.imag.isinf()


def _isfinite(x: Any) -> Any:
    return x.real.isfinite() & x.imag.isfinite()


def _conj(x: Any) -> Any:
    return torch.complex(x.real, -x.imag)


def _to_copy(x: Any, *, dtype: Any = None, **options: Any) -> Any:
    """To other complex numbers, or whether a number is not 0. The real part alone is not taken: a caller that means real numbers would
    lose the other."""
    if dtype is None or dtype == x.dtype:
        return torch.complex(x.real.clone(), x.imag.clone())
    if dtype.is_complex:
        return torch.complex(x.real.to(dtype.to_real()), x.imag.to(dtype.to_real()))
    return ~_equal(x, 0) if dtype == torch.bool else NotImplemented


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + (end - x) * weight


def _prod(x: Any, axis: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A product along an axis whose size is known, by halves."""
    if dtype not in (None, x.dtype) or not isinstance(x.shape[axis], int):
        return NotImplemented
    while (size := x.shape[axis]) > 1:
        half = size // 2
        made = x.narrow(axis, 0, half) * x.narrow(axis, half, half)
        x = torch.cat([made, x.narrow(axis, 2 * half, size - 2 * half)], axis)
    x = x if size else torch.complex(*(torch.full_like(x.real.sum(axis, keepdim=True), part) for part in (1, 0)))
    return x if keepdim else x.squeeze(axis)


def _norm(x: Any, order: Any = 2, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of the absolute values."""
    return torch.linalg.vector_norm(x.abs(), order, axes, keepdim)


def _sgn(x: Any) -> Any:
    """x / |x|; 0 of 0."""
    size = x.abs()
    scale = torch.where(size == 0, 0, 1 / torch.where(size == 0, 1, size))
    return torch.complex(x.real * scale, x.imag * scale)


def _variance(x: Any, axes: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    """The sum of the variances of the parts."""
    return sum(part.var(axes, correction=correction, keepdim=keepdim) for part in (x.real, x.imag))


COMPLEX = {
    **COMPLEX_ELEMENTS,
    **COMPLEX_MATRICES,
    **{op: of_complex(function) for op, function in {
        **COMPLEX_INVERSES,
        aten.exp.default: _exp, aten.log.default: _log, aten.sqrt.default: _sqrt, aten.sin.default: _sin, aten.cos.default: _cos,
        aten.expm1.default: _expm1, aten.sinc.default: _sinc,
        aten.sinh.default: _sinh, aten.cosh.default: _cosh, aten.tanh.default: _tanh, aten.sigmoid.default: _sigmoid,
        aten.div.Tensor: _quotient, aten.div.Scalar: _quotient, aten.reciprocal.default: lambda x: _quotient(1, x),
        aten.pow.Tensor_Scalar: _power, aten.pow.Tensor_Tensor: _power, aten.pow.Scalar: _power_of_number,
        aten.eq.Tensor: _equal, aten.eq.Scalar: _equal,
        aten.isclose.default: _isclose, aten.nonzero.default: lambda x: torch.nonzero(~_equal(x, 0)),
        aten.ne.Tensor: lambda x, y: ~_equal(x, y), aten.ne.Scalar: lambda x, y: ~_equal(x, y),
        aten.linalg_vector_norm.default: _norm, aten.sgn.default: _sgn,
        aten.var.correction: _variance, aten.isnan.default: _isnan, aten.isinf.default: _isinf, aten.isfinite.default: _isfinite,
        aten.logical_not.default: lambda x: _equal(x, 0), aten._to_copy.default: _to_copy, aten.tan.default: lambda x: x.sin() / x.cos(),
        aten._conj.default: _conj, aten._conj_physical.default: _conj, torch.ops.prims.conj_physical.default: _conj,
        aten.silu.default: lambda x: x * _sigmoid(x),
        aten.rsqrt.default: lambda x: x.sqrt().reciprocal(), aten.log2.default: lambda x: x.log() / math.log(2),
        aten.log10.default: lambda x: x.log() / math.log(10), aten.prod.dim_int: _prod, aten.lerp.Scalar: _lerp, aten.lerp.Tensor: _lerp,
        aten.addcmul.default: lambda x, y, z, value=1: x + y * z * value,
        aten.addcdiv.default: lambda x, y, z, value=1: x + y / z * value,
    }.items()},
    aten._neg_view.default: torch.neg,      # the imaginary parts of a conjugate
    **dict.fromkeys((aten.mul.Tensor, aten.mul.Scalar), _times_a_number),
}
