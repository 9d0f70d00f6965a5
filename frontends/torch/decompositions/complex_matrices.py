"""Products of complex matrices, systems of equations and determinants, in terms of real ones."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.matrices import MOST, eliminated, parity

aten = torch.ops.aten


def _any_complex(operands: Any) -> bool:
    return any(_any_complex(operand) if isinstance(operand, (list, tuple)) else isinstance(operand, torch.Tensor) and operand.is_complex()
               for operand in operands)


def of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands of which some are complex alone."""
    return lambda *operands, **options: function(*operands, **options) if _any_complex(operands) else NotImplemented


def _multilinear(op: Any) -> Callable[..., Any]:
    """A product of tensors, linear in each, by those of the parts."""
    def product(*operands: Any) -> Any:
        at = next((at for at, operand in enumerate(operands) if operand.is_complex()), None)
        if at is None:
            return op(*operands)
        real, imaginary = (product(*operands[:at], part, *operands[at + 1:]) for part in (operands[at].real, operands[at].imag))
        if not real.is_complex():
            return torch.complex(real, imaginary)
        return torch.complex(real.real - imaginary.imag, real.imag + imaginary.real)

    return product


def _einsum(equation: str, operands: Any, **options: Any) -> Any:
    return _multilinear(lambda *parts: torch.einsum(equation, *parts))(*operands)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    made = torch.matmul(x, weight.mT)
    return made if bias is None else made + bias


def _add_product(c: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta`` 0 leaves out ``c``, whatever its numbers."""
    made = torch.matmul(x, y) if alpha == 1 else torch.matmul(x, y) * alpha
    return made if beta == 0 else made + (c if beta == 1 else c * beta)


def _solved(a: Any, b: Any) -> Any:
    """``x`` of ``a @ x = b`` by the real system of twice the size."""
    a, b = (x if x.is_complex() else torch.complex(x, torch.zeros_like(x)) for x in (a, b))
    twice = torch.cat([torch.cat([a.real, -a.imag], -1), torch.cat([a.imag, a.real], -1)], -2)
    found = aten._linalg_solve_ex.default(twice, torch.cat([b.real, b.imag], -2))[0]
    size = a.shape[-1]
    return torch.complex(found.narrow(-2, 0, size), found.narrow(-2, size, size))


def _solve(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, Any, Any, Any]:
    """The solution alone: the factors are the matrix as it is, and nobody reads them."""
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    b = b.unsqueeze(-1) if vectors else b
    found = _solved(a, b) if left or vectors else _solved(a.mT, b.mT).mT
    pivots = torch.zeros(a.shape[:-1], dtype=torch.int32)
    return found.squeeze(-1) if vectors else found, a, pivots, torch.zeros(a.shape[:-2], dtype=torch.int32)


def _inverse(a: Any, *, check_errors: bool = False) -> tuple[Any, Any]:
    unit = torch.eye(a.shape[-1], dtype=a.dtype.to_real()).expand(a.shape)
    return _solved(a, unit), torch.zeros(a.shape[:-2], dtype=torch.int32)


def _cross(x: Any, y: Any, *, dim: int = -1) -> Any:
    return _multilinear(lambda *parts: torch.linalg.cross(*parts, dim=dim))(x, y)


def _old_cross(x: Any, y: Any, dim: Any = None) -> Any:
    """Along the first axis of 3, where none is given."""
    return _cross(x, y, dim=dim if dim is not None else next(axis for axis, size in enumerate(x.shape) if size == 3))


def _factors(x: Any) -> Any:
    """The factors, the diagonal of U, the rows that the steps exchange, counted from 1, and the sign of the exchanges. None for a matrix
    of too many columns."""
    if not isinstance(x.shape[-1], int) or x.shape[-1] > MOST:
        return None
    factors, pivots, _ = eliminated(x)
    return factors, factors.diagonal(0, -2, -1), (pivots + 1).to(torch.int32), parity(pivots).to(x.dtype.to_real())


def _determinant(x: Any) -> Any:
    if (found := _factors(x)) is None:
        return NotImplemented
    factors, diagonal, pivots, sign = found
    return diagonal.prod(-1) * sign, factors, pivots


def _log_determinant(x: Any) -> Any:
    if (found := _factors(x)) is None:
        return NotImplemented
    factors, diagonal, pivots, sign = found
    return diagonal.sgn().prod(-1) * sign, diagonal.abs().log().sum(-1), factors, pivots


def _first(function: Callable[..., Any], count: int | None = None) -> Callable[..., Any]:
    """The first result of a function, or the first ones; NotImplemented where it is."""
    def first(*operands: Any) -> Any:
        made = function(*operands)
        return made if made is NotImplemented else made[0] if count is None else made[:count]

    return first


COMPLEX_MATRICES = {op: of_complex(function) for op, function in {
    aten.mm.default: _multilinear(torch.mm), aten.bmm.default: _multilinear(torch.bmm), aten.mv.default: _multilinear(torch.mv),
    aten.linear.default: _linear, aten.einsum.default: _einsum, aten.dot.default: lambda x, y: (x * y).sum(),
    aten.vdot.default: lambda x, y: (x.conj() * y).sum(), aten.addmm.default: _add_product, aten.addmv.default: _add_product,
    aten.baddbmm.default: _add_product, aten.linalg_inv_ex.default: _inverse, aten._linalg_solve_ex.default: _solve,
    aten._linalg_det.default: _determinant, aten._linalg_slogdet.default: _log_determinant,
    aten.linalg_det.default: _first(_determinant), aten.linalg_slogdet.default: _first(_log_determinant, 2),
    aten.linalg_cross.default: _cross, aten.cross.default: _old_cross,
}.items()}
