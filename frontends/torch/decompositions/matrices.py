"""Factors and solutions of square matrices in terms of steps by columns. A matrix that has none, about which PyTorch raises an error, makes
infinities and NaN. Each step is code of its own: matrices of more columns are refused. Triangular systems are solved by blocks, whose
products take most steps' place, and may be larger."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
MOST = 32   # columns
MOST_OF_TRIANGLES = 128
BLOCK = 8   # rows that are solved one by one


def _small(function: Callable[..., Any], most: int = MOST) -> Callable[..., Any]:
    """A function of matrices [..., n, n] of real numbers with a known and small n."""
    def of_small(x: Any, *others: Any, **options: Any) -> Any:
        known = isinstance(x.shape[-1], int) and isinstance(x.shape[-2], int)
        return function(x, *others, **options) if known and x.shape[-1] <= most and not x.is_complex() else NotImplemented

    return of_small


def _triangles(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of triangular matrices [..., n, n]."""
    return _small(function, MOST_OF_TRIANGLES)


def _numbers(x: Any) -> tuple[Any, Any]:
    """The numbers of the rows [n, 1] and of the columns [n]."""
    rows, columns = (torch.arange(x.shape[axis], device=x.device) for axis in (-2, -1))
    return rows.unsqueeze(-1), columns


def _exchanged(rows: Any, step: int, best: Any) -> Any:
    """The numbers of rows, of which a step exchanges its own with another one."""
    return torch.where(rows == best, step, torch.where(rows == step, best, rows))


def eliminated(x: Any) -> tuple[Any, Any, Any]:
    """The factors L and U of x [..., m, n] with its rows exchanged, in one matrix; the row that each step exchanges its own with; and the
    order of the rows."""
    rows, columns = _numbers(x)
    order = rows.squeeze(-1).expand(x.shape[:-1])
    pivots = []
    for step in range(min(x.shape[-2:])):
        best = x[..., step:, step].abs().argmax(-1, keepdim=True) + step                                    # [..., 1]
        exchanged = _exchanged(rows.squeeze(-1), step, best)
        x = x.gather(-2, exchanged.unsqueeze(-1).expand(x.shape))
        order = order.gather(-1, exchanged)
        pivots.append(best)
        pivot = x[..., step, step].unsqueeze(-1).unsqueeze(-1)
        factor = x[..., step].unsqueeze(-1) / torch.where(pivot == 0, 1, pivot)                             # [..., m, 1]
        below = rows > step
        reduced = x - factor * x[..., step, :].unsqueeze(-2)
        x = torch.where(below & (columns > step), reduced, torch.where(below & (columns == step), factor, x))
    return (x, torch.cat(pivots, -1), order) if pivots else (x.clone(), order[..., :0].clone(), order.clone())


def _substituted(x: Any, b: Any, upper: bool, unit: bool) -> Any:
    """The solution y of x y = b, for triangular x [..., n, n] and b [..., n, m]: by halves, of which the second one's right side is less
    the product with the first one's solution, down to blocks of a few rows."""
    size = x.shape[-1]
    b = b.expand(*torch.broadcast_shapes(x.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    if size <= BLOCK:
        return _substituted_rows(x, b, upper, unit)
    half = BLOCK * -(-size // (2 * BLOCK))
    first, second = (slice(half, size), slice(0, half)) if upper else (slice(0, half), slice(half, size))
    found = _substituted(x[..., first, first], b[..., first, :], upper, unit)
    rest = _substituted(x[..., second, second], b[..., second, :] - x[..., second, first] @ found, upper, unit)
    return torch.cat((rest, found) if upper else (found, rest), -2)


def _substituted_rows(x: Any, b: Any, upper: bool, unit: bool) -> Any:
    """The same, row by row."""
    size = x.shape[-1]
    found: list[Any] = [None] * size
    for row in reversed(range(size)) if upper else range(size):
        known = range(row + 1, size) if upper else range(row)
        rest = b[..., row, :]
        if known:
            rest = rest - (x[..., row, known.start:known.stop].unsqueeze(-1) * torch.stack([found[k] for k in known], -2)).sum(-2)
        found[row] = rest if unit else rest / x[..., row, row].unsqueeze(-1)
    return torch.stack(found, -2) if found else b.clone()


@_triangles
def _solve_triangular(x: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if left:
        return _substituted(x, b, upper, unitriangular)
    return _substituted(x.mT, b.mT, not upper, unitriangular).mT


@_triangles
def _old_triangular_solve(x: Any, b: Any, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Any, Any]:
    return _substituted(x.mT if transpose else x, b, upper != transpose, unitriangular), x.clone()


def _triangular_solve(b: Any, x: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    return _old_triangular_solve(x, b, upper, transpose, unitriangular)


def _solved(x: Any, b: Any) -> Any:
    """y of x y = b."""
    factors, _, order = eliminated(x)
    return _by_factors(factors, order, b)


def _by_factors(factors: Any, order: Any, b: Any) -> Any:
    """y of x y = b, by L and U of x in one matrix and the order of its rows."""
    shape = torch.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    b = b.expand(*shape, *b.shape[-2:])
    b = b.gather(-2, order.expand(*shape, order.shape[-1]).unsqueeze(-1).expand(b.shape))
    return _substituted(factors, _substituted(factors, b, upper=False, unit=True), upper=True, unit=False)


def _info(x: Any) -> Any:
    return torch.zeros(x.shape[:-2], dtype=torch.int32)


@_small
def _inverse(x: Any, *, check_errors: bool = False) -> tuple[Any, Any]:
    return _solved(x, torch.eye(x.shape[-1], dtype=x.dtype)), _info(x)


@_small
def _solve(x: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, Any, Any, Any]:
    factors, pivots, order = eliminated(x)
    vectors = b.ndim == 1 or (b.ndim == x.ndim - 1 and tuple(b.shape) == tuple(x.shape[:-1]))
    b = b.unsqueeze(-1) if vectors else b
    found = _by_factors(factors, order, b) if left or vectors else _solved(x.mT, b.mT).mT
    return found.squeeze(-1) if vectors else found, factors, (pivots + 1).to(torch.int32), _info(x)


@_small
def _factors(x: Any, *, pivot: bool = True, check_errors: bool = False) -> tuple[Any, Any, Any]:
    """L and U in one matrix, and the rows that the steps exchange, counted from 1."""
    if not pivot:
        return NotImplemented
    factors, pivots, _ = eliminated(x)
    return factors, (pivots + 1).to(torch.int32), _info(x)


def _parts(factors: Any) -> tuple[Any, Any]:
    """L and U of both in one matrix."""
    rows, count = factors.shape[-2], min(factors.shape[-2:])
    lower = factors[..., :count].tril(-1) + torch.eye(rows, count, dtype=factors.dtype)
    return lower, factors[..., :count, :].triu()


@_small
def _three_factors(x: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    """P, L and U."""
    if not pivot:
        return NotImplemented
    factors, _, order = eliminated(x)
    rows, _ = _numbers(x)
    return ((rows == order.unsqueeze(-2)).to(x.dtype), *_parts(factors))


@_small
def _unpacked(factors: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, Any, Any]:
    """P, L and U of both in one matrix and the rows that the steps exchange."""
    if not (unpack_data and unpack_pivots):
        return NotImplemented
    rows, _ = _numbers(factors)
    return ((rows == _order(factors, pivots).unsqueeze(-2)).to(factors.dtype), *_parts(factors))


def _order(factors: Any, pivots: Any) -> Any:
    """The order of the rows after the steps' exchanges."""
    row = torch.arange(factors.shape[-2])
    order = row.expand(factors.shape[:-1])
    for step in range(pivots.shape[-1]):
        best = pivots[..., step].to(torch.int64).unsqueeze(-1) - 1
        order = order.gather(-1, _exchanged(row, step, best))
    return order


@_small
def _solve_by_factors(factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left or adjoint:
        return NotImplemented
    return _by_factors(factors, _order(factors, pivots), b)


def parity(pivots: Any) -> Any:
    """1 for an even number of exchanges, else -1."""
    exchanges = (pivots != torch.arange(pivots.shape[-1])).to(torch.int64).sum(-1)
    return 1 - 2 * (exchanges % 2)


@_small
def _determinant(x: Any) -> tuple[Any, Any, Any]:
    factors, pivots, _ = eliminated(x)
    return factors.diagonal(0, -2, -1).prod(-1) * parity(pivots).to(x.dtype), factors, (pivots + 1).to(torch.int32)


@_small
def _log_determinant(x: Any) -> tuple[Any, Any, Any, Any]:
    factors, pivots, _ = eliminated(x)
    diagonal = factors.diagonal(0, -2, -1)
    return (diagonal.sign().prod(-1) * parity(pivots).to(x.dtype), diagonal.abs().log().sum(-1), factors, (pivots + 1).to(torch.int32))


@_small
def _cholesky(x: Any, *, upper: bool = False, check_errors: bool = False) -> tuple[Any, Any]:
    """The lower triangular L with L L^T = x, of what is below the diagonal; or the upper one, of what is above."""
    if upper:
        x = x.mT
    rows, columns = _numbers(x)
    found = torch.zeros_like(x)
    for step in range(x.shape[-1]):
        column = x[..., step] - (found * found[..., step, :].unsqueeze(-2)).sum(-1)                          # [..., n]
        column = column / column[..., step].unsqueeze(-1).sqrt()
        found = torch.where((columns == step) & (rows >= step), column.unsqueeze(-1), found)
    return found.mT if upper else found, _info(x)


def _cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    if not isinstance(factor.shape[-1], int) or factor.shape[-1] > MOST_OF_TRIANGLES or b.is_complex():
        return NotImplemented
    lower = factor.mT if upper else factor
    return _substituted(lower.mT, _substituted(lower, b, upper=False, unit=False), upper=True, unit=False)


def _cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return _cholesky_solve(torch.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


MATRICES = {
    aten.linalg_inv_ex.default: _inverse,
    aten._linalg_solve_ex.default: _solve,
    aten.linalg_lu_factor_ex.default: _factors,
    aten.linalg_lu.default: _three_factors,
    aten.lu_unpack.default: _unpacked,
    aten.linalg_lu_solve.default: _solve_by_factors,
    aten._linalg_det.default: _determinant,
    aten._linalg_slogdet.default: _log_determinant,
    aten.linalg_solve_triangular.default: _solve_triangular,
    aten.triangular_solve.default: _triangular_solve,
    aten.linalg_cholesky_ex.default: _cholesky,
    aten.cholesky_solve.default: _cholesky_solve,
    aten.cholesky_inverse.default: _cholesky_inverse,
    # without the check that would follow: an exported program has no effects, and the exporter none for it
    aten.linalg_inv.default: lambda x: aten.linalg_inv_ex.default(x)[0],
    aten.inverse.default: lambda x: aten.linalg_inv_ex.default(x)[0],
    aten.linalg_solve.default: lambda x, b, *, left=True: aten._linalg_solve_ex.default(x, b, left=left)[0],
    aten.linalg_cholesky.default: lambda x, *, upper=False: aten.linalg_cholesky_ex.default(x, upper=upper)[0],
    aten.linalg_lu_factor.default: lambda x, *, pivot=True: aten.linalg_lu_factor_ex.default(x, pivot=pivot)[:2],
    aten._linalg_check_errors.default: lambda info, api_name, *, is_matrix: None,
}
