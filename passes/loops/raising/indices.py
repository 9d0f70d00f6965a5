"""The indices of accesses as linear forms of axes, with the quotients that reshapes are made of."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from legato.analysis.linear import Linear
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of
from legato.passes.loops.raising.sizes import CASTS, Size, Sizes, at_most

DIVISIONS = ("arith.floordivsi", "arith.divui", "arith.divsi")
REMAINDERS = ("arith.remui", "arith.remsi")


@dataclass(frozen=True)
class Quotient:
    """``(terms + constant) // divisor``, as a term of a linear form."""

    terms: frozenset[tuple[Any, int]]
    constant: int
    divisor: int

    @property
    def numerator(self) -> Linear:
        return Linear(dict(self.terms), self.constant)


class Indices:
    """Reads indices. ``extents``: the axes (or loop variables), which run from 0, by the number of their values."""

    def __init__(self, extents: Mapping[ir.Value, Size], sizes: Sizes, others: Mapping[ir.Value, Linear] | None = None):
        self.extents, self.sizes, self.others = dict(extents), sizes, dict(others or {})

    def form(self, value: ir.Value) -> Linear:
        """The linear form of an integer; what is none (an element of a buffer, say) is a term of its own."""
        if value in self.others:
            return self.others[value]
        if value in self.extents:
            return Linear({value: 1})
        size = self.sizes.of(value)
        if size is not None:
            return Linear({}, size)
        owner = value.owner
        if not isinstance(owner, ir.Block):
            name, operands = owner.name, list(owner.operands)
            if name in CASTS:
                return self.form(operands[0])
            if name in ("arith.addi", "arith.subi"):
                a, b = self.form(operands[0]), self.form(operands[1])
                return a + b if name == "arith.addi" else a - b
            if name == "arith.muli":
                a, b = self.form(operands[0]), self.form(operands[1])
                for one, other in ((a, b), (b, a)):
                    if other.is_constant and isinstance(other.constant, int):
                        return one.times(other.constant)
            divisor = constant_of(operands[1]) if len(operands) == 2 else None
            if name in (*DIVISIONS, *REMAINDERS) and divisor is not None and divisor > 0:
                form = self.form(operands[0])
                if isinstance(form.constant, int) and (name == "arith.floordivsi" or self.is_positive(form)):
                    quotient = self.quotient(form, divisor)
                    return quotient if name in DIVISIONS else form - quotient.times(divisor)
        return Linear({value: 1})

    def quotient(self, form: Linear, divisor: int) -> Linear:
        """``form // divisor``, rounded down; as much of it as possible without a quotient."""
        whole = {key: f // divisor for key, f in form.terms.items() if f % divisor == 0}
        number, rest_number = divmod(form.constant, divisor)
        rest = Linear({key: f for key, f in form.terms.items() if f % divisor}, rest_number)
        bounds = self.bounds(rest)
        if bounds is not None and all(isinstance(b, int) for b in bounds) and 0 <= bounds[0] and bounds[1] < divisor:
            return Linear(whole, number)
        key = next(iter(rest.terms)) if len(rest.terms) == 1 else None
        if isinstance(key, Quotient) and rest.terms[key] == 1 and rest.constant == 0:  # x // a // b is x // (a * b)
            return Linear(whole, number) + self.quotient(key.numerator, key.divisor * divisor)
        return Linear(whole, number) + Linear({Quotient(frozenset(rest.terms.items()), rest.constant, divisor): 1})

    def bounds(self, form: Linear) -> tuple[Size, Size] | None:
        """The least and the greatest value; None where an extent of data is in it."""
        for key, factor in form.terms.items():
            if isinstance(key, Quotient) and factor % key.divisor == 0:  # k * (x - x // n * n) is k times a remainder
                times = -factor // key.divisor
                rest = Linear({k: f for k, f in form.terms.items() if k != key}, form.constant) - key.numerator.times(times)
                if len(rest.terms) < len(form.terms) - 1 and (bounds := self.bounds(rest)) is not None:
                    reach = times * (key.divisor - 1)
                    return bounds[0] + min(reach, 0), bounds[1] + max(reach, 0)
        low: Size = form.constant
        high: Size = form.constant
        for key, factor in form.terms.items():
            of_key = self.bounds_of(key)
            if of_key is None:
                return None
            least, greatest = of_key if factor > 0 else reversed(of_key)
            low, high = low + least * factor, high + greatest * factor
        return low, high

    def is_inside(self, form: Linear, size: Size) -> bool:
        """Whether an index is one of a dimension of ``size``, for all values of its axes."""
        bounds = self.bounds(form)
        return bounds is not None and at_most(0, bounds[0]) is True and at_most(bounds[1], size - 1) is True

    def renamed(self, axes: list[ir.Value]) -> "Indices":
        """The same for other names of the axes."""
        return Indices(dict(zip(axes, self.extents.values(), strict=True)), self.sizes)

    def bounds_of(self, key: Any) -> tuple[Size, Size] | None:
        if isinstance(key, Quotient):
            bounds = self.bounds(key.numerator)
            known = bounds is not None and all(isinstance(b, int) for b in bounds)
            return (bounds[0] // key.divisor, bounds[1] // key.divisor) if known else None
        return (0, self.extents[key] - 1) if key in self.extents else None

    def is_positive(self, form: Linear) -> bool:
        """Whether a form is never less than 0, as far as is known."""
        bounds = self.bounds(form)
        return bounds is not None and isinstance(bounds[0], int) and bounds[0] >= 0

    def is_linear(self, form: Linear) -> bool:
        """Whether a form has axes only."""
        return all(key in self.extents for key in form.terms if not isinstance(key, Quotient)) and not quotients(form)


def quotients(form: Linear) -> int:
    """How many quotients are in a form."""
    return sum(isinstance(key, Quotient) for key in form.terms)


def digits(form: Linear, extents: Mapping[Any, Size], size: Size) -> list[Any] | None:
    """The terms of a form that are the digits of a number below ``size``, the most significant first. None where they are not."""
    if len(form.terms) < 2 or form.constant != 0 or not isinstance(size, int):
        return None
    expected, found = 1, []
    for key, factor in sorted(form.terms.items(), key=lambda t: t[1]):
        if factor != expected or not isinstance(extents.get(key), int):
            return None
        found.insert(0, key)
        expected *= extents[key]
    return found if expected == size else None
