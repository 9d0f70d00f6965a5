"""Queries on the affine maps and index expressions of structured ops."""
from legato.core.mlir import ir


def dim_positions(map_: ir.AffineMap) -> list[int | None]:
    """The dimension that each result of an affine map is; None for other expressions."""
    return [e.position if isinstance(e, ir.AffineDimExpr) else None for e in map_.results]


def dims_in(expression: ir.AffineExpr) -> set[int]:
    """The dimensions that an index expression depends on."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    return dims_in(expression.lhs) | dims_in(expression.rhs) if isinstance(expression, ir.AffineBinaryExpr) else set()


def is_shifted(expression: ir.AffineExpr, dim: int) -> bool:
    """Whether an index is ``dim`` plus terms that do not depend on it."""
    if not isinstance(expression, ir.AffineAddExpr):
        return isinstance(expression, ir.AffineDimExpr) and expression.position == dim
    left, right = expression.lhs, expression.rhs
    return (is_shifted(left, dim) and dim not in dims_in(right)) or (is_shifted(right, dim) and dim not in dims_in(left))


def is_identity(map_: ir.AffineMap) -> bool:
    """Whether an affine map's results are its dimensions in order."""
    return dim_positions(map_) == list(range(map_.n_dims))


def coefficients(expression: ir.AffineExpr) -> dict[int, int] | None:
    """The factor of each dimension in a sum of dimensions times numbers; None for another expression."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position: 1}
    if isinstance(expression, ir.AffineMulExpr):
        dim, number = expression.lhs, expression.rhs
        return {dim.position: number.value} if isinstance(dim, ir.AffineDimExpr) and isinstance(number, ir.AffineConstantExpr) else None
    if not isinstance(expression, ir.AffineAddExpr):
        return None
    left, right = coefficients(expression.lhs), coefficients(expression.rhs)
    return None if left is None or right is None or left.keys() & right.keys() else left | right
