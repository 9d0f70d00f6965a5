"""Queries on sizes, constant or symbolic: rounding division, element counts, symbols, substitution."""

from collections.abc import Mapping
from functools import reduce

from legato.dialects.relax.dim import Dim, Size, floor_divide, maximum, minimum, modulo, symbol


def ceil_divide(a: Size, b: Size) -> Size:
    """``a / b`` rounded up."""
    return -floor_divide(-a, b) if isinstance(a, int) else floor_divide(a + b - 1, b)


def product(sizes) -> Size:
    """The number of elements of a shape; 0 if one size is 0, even if others are unknown."""
    sizes = list(sizes)
    return 0 if 0 in sizes else reduce(lambda a, b: a * b, sizes, 1)


def symbols(size: Size) -> set[str]:
    """The names in an expression."""
    if not isinstance(size, Dim):
        return set()
    return set().union(*({v} if isinstance(v, str) else symbols(v.a) | symbols(v.b) for v in size.variables()))


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """The expression with names replaced by sizes; names without a value stay."""
    if not isinstance(size, Dim):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for variable in monomial:
            if isinstance(variable, str):
                term = term * values.get(variable, symbol(variable))
            else:
                term = term * _FUNCTIONS[variable.op](substitute(variable.a, values), substitute(variable.b, values))
        total = total + term
    return total


_FUNCTIONS = {"//": floor_divide, "%": modulo, "min": minimum, "max": maximum}
