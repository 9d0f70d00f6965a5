"""Ops on complex numbers in terms of their real and imaginary parts, where the exporter has them of real numbers alone."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _apart(op: Any) -> Callable[..., Any]:
    """A linear op, or one that moves elements, of the parts of all complex tensors among its operands."""
    def linear(*operands: Any, **options: Any) -> Any:
        tensors = [x for operand in operands for x in (operand if isinstance(operand, (list, tuple)) else [operand])
                   if isinstance(x, torch.Tensor)]
        if not any(x.is_complex() for x in tensors):
            return NotImplemented
        dtype = next(x.dtype for x in tensors if x.is_complex()).to_real()

        def part(which: Callable[[Any], Any], real: bool, operand: Any) -> Any:
            if isinstance(operand, (list, tuple)):
                return [part(which, real, one) for one in operand]
            if isinstance(operand, complex):
                return operand.real if real else operand.imag
            if not isinstance(operand, torch.Tensor) or not (operand.is_complex() or operand.is_floating_point()):
                return operand
            return which(operand) if operand.is_complex() else operand.to(dtype) if real else torch.zeros_like(operand, dtype=dtype)

        return torch.complex(*(op(*(part(which, real, operand) for operand in operands), **options)
                               for which, real in ((torch.real, True), (torch.imag, False))))

    return linear


def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of complex first operands alone."""
    def of_any(x: Any, *others: Any, **options: Any) -> Any:
        complex_ones = [value for value in (x, *others) if isinstance(value, torch.Tensor) and value.is_complex()]
        return function(x, *others, **options) if complex_ones else NotImplemented

    return of_any


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


def _product(op: Any) -> Callable[..., Any]:
    """Products of matrices, by four of real ones."""
    def product(x: Any, y: Any) -> Any:
        if not x.is_complex():
            return torch.complex(op(x, y.real), op(x, y.imag))
        if not y.is_complex():
            return torch.complex(op(x.real, y), op(x.imag, y))
        return torch.complex(op(x.real, y.real) - op(x.imag, y.imag), op(x.real, y.imag) + op(x.imag, y.real))

    return _of_complex(product)


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
    return torch.where(x.abs() == 0, 0, found)


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


def _isnan(x: Any) -> Any:
    return x.real.isnan() | x.imag.isnan()


def _norm(x: Any, order: Any = 2, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of the absolute values."""
    return torch.linalg.vector_norm(x.abs(), order, axes, keepdim)


def _sgn(x: Any) -> Any:
    """x / |x|; 0 of 0."""
    size = x.abs()
    scale = torch.where(size == 0, 0, 1 / torch.where(size == 0, 1, size))
    return torch.complex(x.real * scale, x.imag * scale)


def _zeros_like(x: Any, **options: Any) -> Any:
    if options.get("dtype") not in (None, x.dtype):
        return NotImplemented
    zeros = torch.zeros_like(x.real)
    return torch.complex(zeros, zeros)


def _ones_like(x: Any, **options: Any) -> Any:
    if options.get("dtype") not in (None, x.dtype):
        return NotImplemented
    return torch.complex(torch.ones_like(x.real), torch.zeros_like(x.real))


def _variance(x: Any, axes: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    """The sum of the variances of the parts."""
    return sum(part.var(axes, correction=correction, keepdim=keepdim) for part in (x.real, x.imag))


_LINEAR = (aten.unsqueeze.default, aten.select.int, aten.gather.default, aten.index_select.default, aten.index.Tensor, aten.where.self,
           aten.cumsum.default, aten.constant_pad_nd.default, aten.expand.default, aten.repeat.default, aten.tril.default,
           aten.triu.default, aten.diagonal.default, aten.scatter.src, aten.squeeze.default, aten.squeeze.dims,
           aten.select_scatter.default, aten.slice_scatter.default, aten.index_put.default)
COMPLEX = {
    **{op: _apart(op) for op in _LINEAR},
    **{op: _of_complex(function) for op, function in {
        aten.exp.default: _exp, aten.log.default: _log, aten.sqrt.default: _sqrt, aten.sin.default: _sin, aten.cos.default: _cos,
        aten.sinh.default: _sinh, aten.cosh.default: _cosh, aten.tanh.default: _tanh, aten.sigmoid.default: _sigmoid,
        aten.div.Tensor: _quotient, aten.div.Scalar: _quotient, aten.reciprocal.default: lambda x: _quotient(1, x),
        aten.pow.Tensor_Scalar: _power, aten.pow.Tensor_Tensor: _power,
        aten.eq.Tensor: _equal, aten.eq.Scalar: _equal,
        aten.ne.Tensor: lambda x, y: ~_equal(x, y), aten.ne.Scalar: lambda x, y: ~_equal(x, y),
        aten.linalg_vector_norm.default: _norm, aten.sgn.default: _sgn, aten.zeros_like.default: _zeros_like,
        aten.ones_like.default: _ones_like, aten.var.correction: _variance, aten.isnan.default: _isnan,
    }.items()},
    **dict.fromkeys((aten.mul.Tensor, aten.mul.Scalar), _times_a_number),
    aten.mm.default: _product(torch.mm),
    aten.bmm.default: _product(torch.bmm),
}
