"""Inverse trigonometric and hyperbolic functions of complex numbers, in terms of their real and imaginary parts: by W. Kahan, "Branch Cuts
for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit" (1987), without loss near 0, 1 and -1."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def log1p(x: Any) -> Any:
    """log(1 + x), without loss near 0."""
    a, b = x.real, x.imag
    near = x.abs() < 0.5
    square = torch.where(near, a * (2 + a) + b * b, 0)                  # |1 + x|^2 - 1
    size = torch.where(near, square.log1p() / 2, torch.complex(1 + a, b).abs().log())
    return torch.complex(size, torch.atan2(b, 1 + a))


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """The real part of x y, and the imaginary one of conj(x) y."""
    return x.real * y.real - x.imag * y.imag, x.real * y.imag - x.imag * y.real


def _roots(x: Any) -> tuple[Any, Any]:
    """The roots of 1 - x and 1 + x, of which a zero imaginary part keeps its sign."""
    return tuple(torch.complex(1 + sign * x.real, sign * x.imag).sqrt() for sign in (-1, 1))


def asin(x: Any) -> Any:
    """The inverse sine."""
    low, high = _roots(x)
    real, imaginary = _product(low, high)
    return torch.complex(torch.atan2(x.real, real), imaginary.asinh())


def acos(x: Any) -> Any:
    """The inverse cosine."""
    low, high = _roots(x)
    return torch.complex(2 * torch.atan2(low.real, high.real), _product(high, low)[1].asinh())


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    a, b = x.real.abs(), x.imag      # odd, and nearest to its pole where a is positive
    size = (4 * a / ((1 - a) ** 2 + b * b)).log1p() / 4
    return torch.complex(torch.copysign(size, x.real), torch.atan2(2 * b, (1 - a) * (1 + a) - b * b) / 2)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine."""
    low, high = (torch.complex(x.real + number, x.imag).sqrt() for number in (-1, 1))
    size = (low.real * high.real + low.imag * high.imag).asinh()        # of the real part of conj(low) high
    return torch.complex(size, 2 * torch.atan2(low.imag, high.real))


def _turned(function: Any) -> Any:
    """-i f(i x), as asinh and atan are of asin and atanh."""
    def of(x: Any) -> Any:
        made = function(torch.complex(-x.imag, x.real))
        return torch.complex(made.imag, -made.real)

    return of


COMPLEX_INVERSES = {
    aten.log1p.default: log1p, aten.asin.default: asin, aten.acos.default: acos, aten.atanh.default: atanh, aten.acosh.default: acosh,
    aten.asinh.default: _turned(asin), aten.atan.default: _turned(atanh)}
