"""Index maps of layouts, given as a function of indices or as text."""
import inspect
from collections.abc import Callable
from typing import Any

from legato.core.mlir import ir


def affine_map(given: Callable | str) -> ir.AffineMap:
    """The affine map of a function of indices, or of a map's text."""
    if isinstance(given, str):
        return ir.AffineMap.parse(given if given.startswith("affine_map") else f"affine_map<{given}>")
    count = len(inspect.signature(given).parameters)
    results = given(*(Index(ir.AffineExpr.get_dim(d)) for d in range(count)))
    results = results if isinstance(results, tuple) else (results,)
    found = [r.expression if isinstance(r, Index) else ir.AffineExpr.get_constant(r) for r in results]
    return ir.AffineMap.get(count, 0, found)


class Index:
    """An index in a map written as a Python function; supports +, *, // and %."""

    def __init__(self, expression: ir.AffineExpr):
        self.expression = expression

    def __add__(self, other: Any) -> "Index":
        return Index(self.expression + (other.expression if isinstance(other, Index) else other))

    def __mul__(self, other: int) -> "Index":
        return Index(self.expression * other)

    def __floordiv__(self, other: int) -> "Index":
        return Index(ir.AffineExpr.get_floor_div(self.expression, other))

    def __mod__(self, other: int) -> "Index":
        return Index(self.expression % other)

    __radd__, __rmul__ = __add__, __mul__
