"""Products of complex matrices, and systems of equations, in terms of real ones."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

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


COMPLEX_MATRICES = {op: of_complex(function) for op, function in {
    aten.mm.default: _multilinear(torch.mm), aten.bmm.default: _multilinear(torch.bmm), aten.mv.default: _multilinear(torch.mv),
    aten.linear.default: _linear, aten.einsum.default: _einsum, aten.dot.default: lambda x, y: (x * y).sum(),
    aten.vdot.default: lambda x, y: (x.conj() * y).sum(), aten.addmm.default: _add_product, aten.addmv.default: _add_product,
    aten.baddbmm.default: _add_product, aten.linalg_inv_ex.default: _inverse, aten._linalg_solve_ex.default: _solve,
}.items()}
