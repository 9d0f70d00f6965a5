"""Index maps of layouts, given as a function of indices or as text."""
import inspect
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.user_code import blamed, source_of


def affine_map(given: Callable | str) -> ir.AffineMap:
    """The affine map of a function of indices, or of a map's text. LegatoError for a function that raises, or does not return indices."""
    if isinstance(given, str):
        return _parsed(given)
    if not callable(given):
        raise LegatoError(f"an index map is a function of indices, such as lambda i, j: (j, i), or the text of a map; not {given!r}")
    count = len(inspect.signature(given).parameters)
    try:
        results = given(*(Index(ir.AffineExpr.get_dim(d)) for d in range(count)))
    except LegatoError:
        raise
    except Exception as error:
        raise blamed(error, "the index map", given) from error
    results = tuple(results) if isinstance(results, tuple | list) else (results,)
    if not results:
        raise LegatoError(f"the index map ({source_of(given)}) returns no index")
    for one in results:
        if not isinstance(one, Index | int):
            raise LegatoError(f"the index map ({source_of(given)}) returns indices, made by +, -, *, // and % of those it is given; "
                              f"it returned {one!r}")
    found = [r.expression if isinstance(r, Index) else ir.AffineExpr.get_constant(r) for r in results]
    return ir.AffineMap.get(count, 0, found)


def _parsed(text: str) -> ir.AffineMap:
    try:
        attribute = ir.Attribute.parse(text if text.startswith("affine_map") else f"affine_map<{text}>")
    except ir.MLIRError as error:
        raise LegatoError(f"'{text}' is no index map, such as '(i, j) -> (j, i)': {error}") from error
    return ir.AffineMapAttr(attribute).value


class Index:
    """An index in a map written as a Python function; supports +, -, *, // and %."""

    def __init__(self, expression: ir.AffineExpr):
        self.expression = expression

    def __add__(self, other: Any) -> "Index":
        return Index(self.expression + _operand(other, "+"))

    def __sub__(self, other: Any) -> "Index":
        return self + other * -1

    def __rsub__(self, other: Any) -> "Index":
        return self * -1 + other

    def __mul__(self, other: int) -> "Index":
        return Index(self.expression * _number(other, "*"))

    def __floordiv__(self, other: int) -> "Index":
        return Index(ir.AffineExpr.get_floor_div(self.expression, _number(other, "//", 1)))

    def __mod__(self, other: int) -> "Index":
        return Index(self.expression % _number(other, "%", 1))

    __radd__, __rmul__ = __add__, __mul__


def _operand(given: Any, sign: str) -> Any:
    return given.expression if isinstance(given, Index) else _number(given, sign)


def _number(given: Any, sign: str, least: int | None = None) -> int:
    """The number that an index is combined with. LegatoError for anything else, and for one below ``least``."""
    if not isinstance(given, SupportsIndex) or isinstance(given, bool):
        what = "another index" if isinstance(given, Index) else repr(given)
        raise LegatoError(f"in an index map, {sign} takes an index and an int, and found {what}")
    if least is not None and given.__index__() < least:
        raise LegatoError(f"in an index map, {sign} takes an int of {least} or more, and found {given}")
    return given.__index__()


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
    return reaches_of(rows, shape) if len(rows) == len(found) else None


def reaches_of(rows: Sequence[Sequence[int]], shape: Sequence[int]) -> list[tuple[int, int]] | None:
    """``places_of`` for results that are given as their ``steps_of``."""
    left = set(range(len(shape)))
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
