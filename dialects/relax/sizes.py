"""Queries on sizes, constant or symbolic: rounding division, element counts, symbols, substitution."""

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from math import gcd

from legato.dialects.relax.dim import FUNCTIONS, MEMORY, Dim, DimPart, Size, floor_divide, modulo, symbol
from legato.dialects.relax.dim_bounds import broadcast_size, lower_bound, maximum, minimum


def ceil_divide(a: Size, b: Size) -> Size:
    """``a / b`` rounded up."""
    return -floor_divide(-a, b) if isinstance(a, int) else floor_divide(a + b - 1, b)


def steps_between(begin: Size, end: Size, step: int) -> Size:
    """How many steps lead from begin to before the end, upwards or downwards."""
    return maximum(ceil_divide(end - begin, step) if step > 0 else ceil_divide(begin - end, -step), 0)


def product(sizes) -> Size:
    """The number of elements of a shape; 0 if one size is 0, even if others are unknown."""
    sizes = list(sizes)
    return 0 if 0 in sizes else reduce(lambda a, b: a * b, sizes, 1)


LARGEST = 1 << 56   # bytes: no process can address more, and sums and strides of such sizes are far from the limits of an i64


def magnitude(size: Size) -> Size:
    """A bound of the absolute value of ``size`` and of the terms that it adds: ``n + 4`` for ``n - 4``. It grows with every symbol. UNKNOWN
    counts as 1.
    """
    if isinstance(size, int):
        return abs(size)
    return _magnitude(size) if isinstance(size, Dim) else 1


@lru_cache(MEMORY)
def _magnitude(size: Dim) -> Size:
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = abs(coefficient)
        for variable in monomial:
            term = term * (symbol(variable) if isinstance(variable, str) else _part_magnitude(variable))
        total = total + term
    return total


def _part_magnitude(part: DimPart) -> Size:
    a, b = magnitude(part.a), magnitude(part.b)
    if part.op == "min" and any(isinstance(one, int) and one >= 0 for one in (part.a, part.b)):   # models write 2**63 - 1 for "all"
        return b if isinstance(part.a, int) else a
    if part.op in FUNCTIONS:
        return maximum(a, b)
    if part.op == "//" and (least := _least(part.b)):
        return floor_divide(a, least) + 1
    return a + b


def _least(divisor: Size) -> int:
    """A number that a divisor of a call, which is at least 1, is not less than: the factor of all its terms; 0 if it may be negative."""
    if isinstance(divisor, int):
        return max(divisor, 0)
    if not isinstance(divisor, Dim) or (bound := lower_bound(divisor, 0)) is None or bound < 0:
        return 0
    return gcd(*(coefficient for _, coefficient in divisor.terms))


@lru_cache(MEMORY)
def nested(size: Size) -> tuple[Dim, ...]:
    """A size and what its quotients, remainders, minima and maxima are of, each once: none of these sums may wrap."""
    if not isinstance(size, Dim):
        return ()
    parts = [part for part in size.variables() if isinstance(part, DimPart)]
    return (*dict.fromkeys(one for part in parts for one in (*nested(part.a), *nested(part.b))), size)


def is_too_large(sizes: Iterable[Size], itemsize: int) -> bool:
    """Whether a tensor has more than ``LARGEST`` bytes by its static sizes and the factors of its symbols, sizes of 0 left out."""
    total = itemsize
    for size in sizes:
        total *= max(1, abs(size) if isinstance(size, int) else _factors(size))
    return total > LARGEST


@lru_cache(MEMORY)
def _factors(size: Size) -> int:
    """The magnitude of a size with every symbol at 1."""
    if not isinstance(size, Dim):
        return 1
    if size.is_symbol:
        return 1
    return int(substitute(magnitude(size), dict.fromkeys(symbols(size), 1)))


def symbols(size: Size) -> set[str]:
    """The names in an expression."""
    return set(_symbols(size)) if isinstance(size, Dim) else set()


@lru_cache(MEMORY)
def _symbols(size: Dim) -> frozenset[str]:
    return frozenset().union(*({v} if isinstance(v, str) else symbols(v.a) | symbols(v.b) for v in size.variables()))


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """The expression with names replaced by sizes; names without a value stay."""
    return _substituted(size, values, {})


def _substituted(size: Size, values: Mapping[str, Size], done: dict[DimPart, Size]) -> Size:
    """``done``: the values of parts so far, of which one may stand in many others."""
    if not isinstance(size, Dim):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for variable in monomial:
            if isinstance(variable, str):
                term = term * values.get(variable, symbol(variable))
                continue
            if variable not in done:
                done[variable] = _FUNCTIONS[variable.op](*(_substituted(part, values, done) for part in (variable.a, variable.b)))
            term = term * done[variable]
        total = total + term
    return total


_FUNCTIONS = {"//": floor_divide, "%": modulo, "min": minimum, "max": maximum, "broadcast": broadcast_size}
