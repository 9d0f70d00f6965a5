"""Bounds of integer values as polynomials of numbers that are not known but are never negative, as sizes are."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TypeVar

from legato.analysis.indices.arithmetic import Bound, Evaluator, Numbers
from legato.core.mlir import ir

Unknown = TypeVar("Unknown")
Monomial = tuple     # the numbers that are multiplied, in order; () for a constant
MOST_TERMS = 32      # of a polynomial that is kept


@dataclass(frozen=True)
class Polynomial:
    """A polynomial with coefficients above 0, so that it grows with each number in it."""

    terms: Mapping[Monomial, Fraction | int]

    @staticmethod
    def of(number: int) -> Polynomial:
        """A constant, 0 or more."""
        return Polynomial({(): number} if number else {})

    @staticmethod
    def variable(number: object) -> Polynomial:
        """A number that is not known."""
        return Polynomial({(number,): 1})

    @property
    def constant(self) -> Fraction | int | None:
        """What it is, if that is constant."""
        return 0 if not self.terms else self.terms[()] if list(self.terms) == [()] else None

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial({m: self.terms.get(m, 0) + other.terms.get(m, 0) for m in {**self.terms, **other.terms}})

    def __mul__(self, other: Polynomial) -> Polynomial:
        found: dict[Monomial, Fraction | int] = {}
        for one, a in self.terms.items():
            for another, b in other.terms.items():
                product = tuple(sorted((*one, *another)))
                found[product] = found.get(product, 0) + a * b
        return Polynomial(found)

    def divided(self, number: int) -> Polynomial:
        """The polynomial by a number above 0."""
        return Polynomial({m: Fraction(a) / number for m, a in self.terms.items()})

    def joined(self, other: Polynomial) -> Polynomial:
        """A polynomial that is nowhere below either."""
        return Polynomial({m: max(self.terms.get(m, 0), other.terms.get(m, 0)) for m in {**self.terms, **other.terms}})

    def covers(self, other: Polynomial) -> bool:
        """Whether it is nowhere below another one, as the coefficients say."""
        return all(self.terms.get(m, 0) >= a for m, a in other.terms.items())


@dataclass(frozen=True)
class PolynomialRange:
    """The values from -``below`` to ``above``; None for a bound that is not known. ``exact``: the only value, if that is constant."""

    below: Polynomial | None
    above: Polynomial | None
    exact: int | None = None


ZERO = Polynomial({})
ANYTHING = PolynomialRange(None, None)


class PolynomialBounds(Numbers[PolynomialRange]):
    """Bounds of values. Subclasses say which values are given, and which number an opaque one is."""

    def __init__(self) -> None:
        self._evaluator = Evaluator(self)

    def of(self, value: ir.Value) -> PolynomialRange:
        """Those of an integer value."""
        return self._evaluator.value(value) or ANYTHING

    def constant(self, number: int) -> PolynomialRange:
        return PolynomialRange(Polynomial.of(max(0, -number)), Polynomial.of(max(0, number)), number)

    def reach(self, a: PolynomialRange) -> tuple[Bound, Bound]:
        if a.exact is not None:
            return a.exact, a.exact
        below, above = (None if side is None else side.constant for side in (a.below, a.above))
        return None if below is None else -floor(below), None if above is None else floor(above)

    def add(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        if a.exact is not None and b.exact is not None:
            return self.constant(a.exact + b.exact)
        return PolynomialRange(_sum(a.below, b.below), _sum(a.above, b.above))

    def subtract(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        if a.exact is not None and b.exact is not None:
            return self.constant(a.exact - b.exact)
        return PolynomialRange(_sum(a.below, b.above), _sum(a.above, b.below))

    def multiply(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        if a.exact is not None and b.exact is not None:
            return self.constant(a.exact * b.exact)
        return PolynomialRange(_join(_product(a.above, b.below), _product(a.below, b.above)),
                               _join(_product(a.above, b.above), _product(a.below, b.below)))

    def floor_divide(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        divisor = b.exact
        if divisor is None or divisor <= 0:     # a division by 0 has no result
            return PolynomialRange(ZERO, a.above) if self.is_natural(a) and self.is_natural(b) else ANYTHING
        if a.exact is not None:
            return self.constant(a.exact // divisor)
        below = a.below if a.below is None or not a.below.terms else a.below.divided(divisor) + Polynomial.of(1)
        return PolynomialRange(below, None if a.above is None else a.above.divided(divisor))

    def modulo(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        if a.exact is not None and b.exact is not None and b.exact > 0:
            return self.constant(a.exact % b.exact)
        if not self.is_natural(b):
            return ANYTHING
        least = _lesser(a.above, b.above) if self.is_natural(a) else b.above
        return PolynomialRange(ZERO, least if b.exact is None else _lesser(least, Polynomial.of(max(b.exact - 1, 0))))

    def minimum(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        return PolynomialRange(_join(a.below, b.below), _lesser(a.above, b.above))

    def maximum(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        return PolynomialRange(_lesser(a.below, b.below), _join(a.above, b.above))

    def select(self, condition: PolynomialRange, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        return PolynomialRange(_join(a.below, b.below), _join(a.above, b.above))

    def broadcast(self, a: PolynomialRange, b: PolynomialRange) -> PolynomialRange:
        return self.select(ANYTHING, a, b)


def _sum(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    return None if a is None or b is None else _kept(a + b)


def _product(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if (a is not None and not a.terms) or (b is not None and not b.terms):
        return ZERO
    return None if a is None or b is None else _kept(a * b)


def _join(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    return None if a is None or b is None else _kept(a.joined(b))


def _lesser(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """A bound of what has two bounds: the lower one, where that is seen, else the one of fewer terms."""
    known = [one for one in (a, b) if one is not None]
    if len(known) < 2:
        return known[0] if known else None
    for one, other in ((known[0], known[1]), (known[1], known[0])):
        if other.covers(one):
            return one
    return min(known, key=lambda one: (one.constant is None, len(one.terms)))


def _kept(polynomial: Polynomial) -> Polynomial | None:
    return polynomial if len(polynomial.terms) <= MOST_TERMS else None
