"""Index maps of layouts, given as a function of indices or as text."""
import inspect
from collections.abc import Callable, Sequence
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


def steps_of(expression: ir.AffineExpr, count: int) -> list[int] | None:
    """How far an expression moves by a step of each of so many indices, and, last, where it begins. None where it divides."""
    e = expression.maybe_downcast()
    if isinstance(e, ir.AffineConstantExpr):
        return [*[0] * count, e.value]
    if isinstance(e, ir.AffineDimExpr):
        return [int(d == e.position) for d in range(count + 1)]
    if not isinstance(e, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    a, b = steps_of(e.lhs, count), steps_of(e.rhs, count)
    if a is None or b is None:
        return None
    if isinstance(e, ir.AffineAddExpr):
        return [one + other for one, other in zip(a, b)]
    by, of = (a, b) if not any(a[:-1]) else (b, a)      # one of the two is a constant
    return [one * by[-1] for one in of]


def places_of(map: ir.AffineMap, shape: Sequence[int]) -> list[tuple[int, int]] | None:
    """The least and the greatest place along each axis of a map of indices below these sizes, if the map exchanges, joins and skews axes:
    each result moves along indices of its own, which are the digits of a number, and besides only along indices of results before. None for
    other maps, which may put two elements into one place."""
    found = [steps_of(e, len(shape)) for e in map.results]
    rows = [row for row in found if row is not None]
    left = set(range(len(shape)))
    if len(rows) < len(found):
        return None
    for row in sorted(rows, key=lambda row: sum(step != 0 for step in row[:-1])):
        own, reach = sorted((d for d in left if row[d]), key=lambda d: abs(row[d])), 1
        for d in own:
            if abs(row[d]) < reach:
                return None
            reach += abs(row[d]) * (shape[d] - 1)
        left -= {*own}
    if any(shape[d] != 1 for d in left):
        return None
    ends = [[(0, step * (size - 1)) for step, size in zip(row, shape)] for row in rows]
    return [(row[-1] + sum(min(pair) for pair in one), row[-1] + sum(max(pair) for pair in one)) for row, one in zip(rows, ends)]
