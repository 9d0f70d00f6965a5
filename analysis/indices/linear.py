"""Linear forms: sums of terms times constants. A term is a variable, or the quotient of a form."""
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

from legato.dialects.relax.dims import Size

Term = Any  # an ir.Value, a Quotient, or a variable of the user's own


@dataclass(frozen=True)
class Linear:
    """``sum of term * coefficient + constant``; no coefficient is 0. The constant is an int or a symbolic size."""

    terms: dict[Term, int]
    constant: Any = 0

    def coefficient(self, term: Term) -> int:
        """The coefficient of a term; 0 where the form does not have it."""
        return self.terms.get(term, 0)

    def __add__(self, other: "Linear") -> "Linear":
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Linear({t: f for t, f in terms.items() if f}, self.constant + other.constant)

    def __sub__(self, other: "Linear") -> "Linear":
        return self + other.times(-1)

    def times(self, factor: int) -> "Linear":
        """The form multiplied by an int."""
        return Linear({t: f * factor for t, f in self.terms.items() if f * factor}, self.constant * factor)

    def only(self, terms: Collection[Term]) -> "Linear":
        """The part of the form with these terms, without the constant."""
        return Linear({t: f for t, f in self.terms.items() if t in terms})

    def without(self, terms: Collection[Term]) -> "Linear":
        """The form without these terms."""
        return Linear({t: f for t, f in self.terms.items() if t not in terms}, self.constant)

    def renamed(self, names: Mapping[Term, Term]) -> "Linear":
        """The form with other variables; variables in quotients stay."""
        return Linear({names.get(t, t): f for t, f in self.terms.items()}, self.constant)

    @property
    def is_constant(self) -> bool:
        """Whether the form has no terms."""
        return not self.terms

    @property
    def variable(self) -> Any:
        """The term, where the form is a single term with coefficient 1; else None."""
        if self.constant == 0 and len(self.terms) == 1 and next(iter(self.terms.values())) == 1:
            return next(iter(self.terms))
        return None

    def divisor(self, of_term: Callable[[Term], int] = lambda _: 1) -> int:
        """A number that the value is a multiple of; 0 for the form 0. ``of_term``: such a number for a term."""
        return gcd(self.constant, *(factor * of_term(t) for t, factor in self.terms.items())) if isinstance(self.constant, int) else 1

    def range(self, extents: Mapping[Term, int]) -> tuple[int, int] | None:
        """The least and the greatest value, both attained, where each variable is in [0, extent) independently of the others.

        None where an extent is not in the table, or a variable is in two terms.
        """
        if not isinstance(self.constant, int):
            return None
        low = high = self.constant
        seen: set[Hashable] = set()
        for term, factor in self.terms.items():
            used = variables_of(term)
            reach = reach_of(term, extents)
            if reach is None or used & seen:
                return None
            seen |= used
            least, greatest = reach if factor > 0 else (reach[1], reach[0])
            low, high = low + factor * least, high + factor * greatest
        return low, high


@dataclass(frozen=True)
class Quotient:
    """``(terms + constant) // divisor``, rounded down, as a term of a linear form."""

    terms: frozenset[tuple[Term, int]]
    constant: int
    divisor: int

    @property
    def numerator(self) -> Linear:
        """The form that is divided."""
        return Linear(dict(self.terms), self.constant)


def reach_of(term: Term, extents: Mapping[Term, int]) -> tuple[int, int] | None:
    """The least and the greatest value of a term: see ``Linear.range``."""
    if not isinstance(term, Quotient):
        return (0, extents[term] - 1) if term in extents else None
    reach = term.numerator.range(extents)
    return None if reach is None else (reach[0] // term.divisor, reach[1] // term.divisor)


def variables_of(term: Term) -> set[Any]:
    """The variable that a term is, or the variables in its quotient."""
    return variables(term.numerator) if isinstance(term, Quotient) else {term}


def variables(form: Linear) -> set[Any]:
    """The variables in a form, those in quotients included."""
    return {v for term in form.terms for v in variables_of(term)}


def quotients(form: Linear) -> int:
    """The number of terms that are quotients."""
    return sum(isinstance(term, Quotient) for term in form.terms)


def digits(form: Linear, extents: Mapping[Term, Size], size: Size) -> list[Any] | None:
    """The terms of a form that are the digits of a number below ``size``, most significant first; None where they are not."""
    if len(form.terms) < 2 or form.constant != 0 or not isinstance(size, int):
        return None
    expected, found = 1, []
    for term, factor in sorted(form.terms.items(), key=lambda t: t[1]):
        extent = extents.get(term)
        if factor != expected or not isinstance(extent, int):
            return None
        found.insert(0, term)
        expected *= extent
    return found if expected == size else None
