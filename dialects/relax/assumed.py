"""Sizes that an op needs to be equal where only a call can tell: inference takes them for equal, and states what it took.

``n`` and ``n + 1`` are never equal, and an error; ``n`` and ``m`` may be, and so may ``n`` and 17. relax-require-sizes infers each op once
more inside of ``assumptions()`` and records what it states; the entry checks it at each call.
"""
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from legato.dialects.relax.dim import UNKNOWN, Size, floor_divide
from legato.dialects.relax.dim_bounds import lower_bound


class Assumption(NamedTuple):
    """Two sizes that an op needs to be equal. ``what``: what they are, for messages."""

    found: Size
    wanted: Size
    what: str


_stated: ContextVar[list[Assumption] | None] = ContextVar("stated", default=None)


@contextmanager
def assumptions() -> Iterator[list[Assumption]]:
    """Collects what inference assumes inside of the ``with``."""
    found: list[Assumption] = []
    token = _stated.set(found)
    try:
        yield found
    finally:
        _stated.reset(token)


def never_equal(a: Size, b: Size) -> bool:
    """Whether no values of the symbols, 0 or more, make two sizes equal, as far as a simple estimate tells."""
    if a == b or a is UNKNOWN or b is UNKNOWN:
        return False
    difference = a - b
    if isinstance(difference, int):
        return difference != 0
    return any(bound is not None and bound > 0 for bound in (lower_bound(difference, 0), lower_bound(-difference, 0)))


def assume_equal(found: Size, wanted: Size, what: str) -> bool:
    """Whether two sizes are equal, or may be at a call, which is stated then. An unknown size fits any."""
    if found == wanted or found is UNKNOWN or wanted is UNKNOWN:
        return True
    if never_equal(found, wanted):
        return False
    stated = _stated.get()
    if stated is not None:
        stated.append(Assumption(found, wanted, what))
    return True


def assume_divides(divisor: int, size: Size, what: str) -> bool:
    """Whether a number divides a size, or may at a call, which is stated then: nothing of it may be left over."""
    return size is UNKNOWN or assume_equal(floor_divide(size, divisor) * divisor, size, what)


def unified(sizes: Iterable[Size], what: str) -> Size | None:
    """The size that all of these are: a number if one is, else the first that has a name, to which the others are assumed to be equal.
    None where two are never equal; UNKNOWN if there is none with a name."""
    firm = [size for size in dict.fromkeys(sizes) if size is not UNKNOWN]
    if not firm:
        return UNKNOWN
    chosen = next((size for size in firm if isinstance(size, int)), firm[0])
    return chosen if all([assume_equal(size, chosen, what) for size in firm]) else None
