"""Bounds of symbolic sizes, and sizes that bounds decide: the smaller and the greater of two, and those of broadcasting."""
from functools import lru_cache
from typing import cast

from legato.dialects.relax.dim import MEMORY, UNKNOWN, Dim, DimPart, Size, part_size, terms_of


def minimum(a: Size, b: Size, symbols_from: int = 1) -> Size:
    """The smaller of two sizes, where every symbol is at least ``symbols_from``."""
    return _extreme("min", a, b, symbols_from)


def maximum(a: Size, b: Size, symbols_from: int = 1) -> Size:
    """The greater of two sizes, where every symbol is at least ``symbols_from``. Inference takes 1 (a call that gives 0 is checked then);
    whoever allocates memory takes 0."""
    return _extreme("max", a, b, symbols_from)


def broadcast_size(a: Size, b: Size) -> Size:
    """The size that numpy's broadcasting gives for two sizes that it accepts: ``b`` where ``a`` is 1, else ``a``.

    Of several sizes it is the first that is not 1. One that stands among them already adds nothing, so that the sizes of layers that each
    broadcast to the same ones stay short.
    """
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if isinstance(a, int):
        return b if a == 1 else a
    if is_filled(a, b):
        return b
    *before, last = _broadcast_parts(b)
    for one in before:
        a = broadcast_size(a, one)
    if last == 1 or any(one == last or is_filled(last, one) for one in _broadcast_parts(a)):
        return a
    return part_size(DimPart("broadcast", a, last)) if isinstance(a, Dim) else broadcast_size(a, last)


def _broadcast_parts(size: Size) -> list[Size]:
    """The sizes that a size is broadcast from, in order: itself, unless it is a ``broadcast``."""
    found: list[Size] = []
    while isinstance(size, Dim) and (part := _single(size)) is not None and part.op == "broadcast":
        found.append(part.b)
        size = part.a
    return [size, *reversed(found)]


def _single(size: Dim) -> DimPart | None:
    """The part that a size is; None for another."""
    if len(size.terms) != 1:
        return None
    monomial, coefficient = size.terms[0]
    return monomial[0] if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], DimPart) else None


def is_filled(a: Size, b: Size) -> bool:
    """Whether ``a`` is ``max(0, b)``, as slices have it: equal, for ``b`` is a size and so not negative."""
    return isinstance(b, Dim) and a != b and a == maximum(b, 0)


def _extreme(op: str, a: Size, b: Size, symbols_from: int) -> Size:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    return _known_extreme(op, a, b, symbols_from)


@lru_cache(MEMORY)
def _known_extreme(op: str, a: "int | Dim", b: "int | Dim", symbols_from: int) -> "int | Dim":
    for small, great in ((a, b), (b, a)):
        bound = lower_bound(great - small, symbols_from)
        if bound is not None and bound >= 0:
            return small if op == "min" else great
    return part_size(DimPart(op, *sorted((a, b), key=str)))


def lower_bound(size: "int | Dim", symbols_from: int = 1) -> int | None:
    """A lower bound of the expression, or None if this simple estimate finds none; every symbol is at least ``symbols_from``."""
    total = 0
    for monomial, coefficient in terms_of(size):
        if monomial and coefficient < 0:
            return _bound_by_cases(size, symbols_from)
        for variable in monomial:
            bound = symbols_from if isinstance(variable, str) else _part_bound(variable, symbols_from)
            if bound is None or bound < 0:
                return _bound_by_cases(size, symbols_from)
            coefficient *= bound
        total += coefficient
    return total


@lru_cache(MEMORY)     # cases of several extremes meet the same sums
def _bound_by_cases(size: "int | Dim", symbols_from: int) -> int | None:
    """The bound of a sum with a minimum, a maximum or a rounded quotient, by what may stand in its place: ``max(a, 4) - a`` and
    ``a - a // 8 * 8`` are at least 0."""
    for monomial, coefficient in terms_of(size):
        part = monomial[0] if len(monomial) == 1 else None
        if not isinstance(part, DimPart):
            continue
        rest = size - part_size(part) * coefficient
        if part.op in ("min", "max"):
            bounds = [lower_bound(cast("int | Dim", rest + one * coefficient), symbols_from) for one in (part.a, part.b)]
            if (part.op == "max") == (coefficient > 0):
                return max((bound for bound in bounds if bound is not None), default=None)
            return None if None in bounds else min(bound for bound in bounds if bound is not None)
        if part.op == "//" and isinstance(part.b, int) and part.b > 0 and coefficient % part.b == 0:
            dividend = part.a if coefficient < 0 else part.a - (part.b - 1)      # of the greatest quotient, or of the least
            return lower_bound(cast("int | Dim", rest + dividend * (coefficient // part.b)), symbols_from)
    return None


def _part_bound(part: DimPart, symbols_from: int) -> int | None:
    a, b = lower_bound(part.a, symbols_from), lower_bound(part.b, symbols_from)
    if part.op == "%":
        return 0 if b is not None and b >= 0 else None      # a call whose sizes divide by 0 is refused
    if part.op == "//":
        if a is None or b is None or b <= 0:
            return None
        return a // part.b if isinstance(part.b, int) else (0 if a >= 0 else None)
    if part.op in ("min", "broadcast"):
        return None if a is None or b is None else min(a, b)
    return max((x for x in (a, b) if x is not None), default=None)
