"""Symbolic dimensions: integer expressions of named sizes in a normal form, so that equal sizes are equal values.

An expression is a polynomial whose variables are symbols or non-polynomial parts: ``a // b``, ``a % b``, ``min(a, b)``, ``max(a, b)``
and ``broadcast(a, b)``, which is ``b`` where ``a`` is 1, else ``a``. Arithmetic with a constant result gives an int.

Symbols stand for sizes of 1 or more. Broadcasting never assumes that a symbol is 1.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, SupportsIndex, Union, cast

Size = Union[int, "Dim", "Unknown"]
FUNCTIONS = ("min", "max", "broadcast")   # written as calls
MEMORY = 1 << 14    # results of each function of sizes that are kept: models compute the same few sizes again and again


class DimPart(NamedTuple):
    """A variable of a polynomial that is an expression itself: ``//``, ``%``, or one of ``FUNCTIONS`` of two sizes."""

    op: str
    a: "int | Dim"
    b: "int | Dim"

    def __str__(self) -> str:
        if self.op in FUNCTIONS:
            return f"{self.op}({self.a}, {self.b})"
        left, right = (f"({x})" if isinstance(x, Dim) and not x.is_symbol else str(x) for x in (self.a, self.b))
        return f"{left} {self.op} {right}"


class Unknown:
    """The size ``?`` without a name. Arithmetic with it gives an unknown size; it is equal only to itself."""

    def _unknown(self, _other=None) -> "Unknown":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _unknown

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()
_Monomial = tuple  # of variables (str or Part), sorted by text, repeated for powers


class Dim:
    """A size that is not constant. Immutable, hashable, equal to every other form of the same polynomial."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: tuple[tuple[_Monomial, int], ...]) -> None:
        self.terms = terms  # ((variables), coefficient), highest degree first
        self._hash = hash(terms)
        self._text: str | None = None

    @property
    def is_symbol(self) -> bool:
        """Whether this is a bare name."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1 and isinstance(self.terms[0][0][0], str)

    def variables(self) -> Iterator["str | DimPart"]:
        """The symbols and parts in its terms, with repetitions."""
        return (variable for monomial, _ in self.terms for variable in monomial)

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, Dim) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} is not known until run time")

    def __add__(self, other: Size) -> Size:
        if is_foreign(other):
            return NotImplemented
        if other is UNKNOWN:
            return other
        return self if other == 0 else _collect([*self.terms, *terms_of(other)])

    def __mul__(self, other: Size) -> Size:
        if is_foreign(other):
            return NotImplemented
        if other is UNKNOWN:
            return UNKNOWN
        return self if other == 1 else _collect([(_sorted(m + n), c * d) for m, c in self.terms for n, d in terms_of(other)])

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else self + -other

    def __rsub__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else -self + other

    def __floordiv__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else floor_divide(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else floor_divide(other, self)

    def __mod__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else modulo(self, other)

    def __rmod__(self, other: Size) -> Size:
        return NotImplemented if is_foreign(other) else modulo(other, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self._text is None:
            self._text = _print(self.terms)
        return self._text


def symbol(name: str) -> Dim:
    """The size with this name."""
    return Dim((((name,), 1),))


def floor_divide(a: Size, b: Size) -> Size:
    """``a // b`` rounded down. Divisible terms are divided: ``(n * 4 + 5) // 4`` is ``n + 1``, ``(n * m) // (n * 3)`` is ``m // 3``."""
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if b == 0:
        raise ZeroDivisionError(f"the size {a} // 0")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return _quotient(a, b)


@lru_cache(MEMORY)
def _quotient(a: "int | Dim", b: "int | Dim") -> Size:
    exact = _divide_exactly(a, b)
    if exact is not None:
        return exact
    a, b = _reduced(a, b)
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int):
        whole = _collect([(m, c // b) for m, c in terms_of(a)])
        rest = _collect([(m, c % b) for m, c in terms_of(a)])
        if rest is not a and rest != a:
            return whole + floor_divide(rest, b)
        for part, coefficient, rest in _parts(a, "//"):
            if coefficient == 1 and isinstance(rest, int) and b > 0:
                return floor_divide(part.a + rest * part.b, part.b * b)
    return part_size(DimPart("//", a, b))


def modulo(a: Size, b: Size) -> Size:
    """``a % b`` with the sign of ``b``."""
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if _divide_exactly(a, b) is not None:
        return 0
    if isinstance(b, int):
        rest = _collect([(m, c % b) for m, c in terms_of(a)])
        if rest != a:
            return modulo(rest, b)
        for part, coefficient, rest in _parts(a, "%"):
            if part.b % b == 0:
                return modulo(rest + coefficient * part.a, b)
    return part_size(DimPart("%", a, b))


def is_foreign(x: object) -> bool:
    """Whether a value is no size: its own class then says what arithmetic with it is, as expressions of kernels do."""
    return not isinstance(x, (int, Dim, Unknown, SupportsIndex))


def terms_of(size: "int | Dim") -> "tuple[tuple[_Monomial, int], ...]":
    """The terms of a size, each a monomial and its coefficient; those of a number are one without variables."""
    return size.terms if isinstance(size, Dim) else (((), size),)


@lru_cache(MEMORY)
def _sorted(monomial: _Monomial) -> _Monomial:
    return tuple(sorted(monomial, key=_variable_order))


@lru_cache(MEMORY)
def _variable_order(variable: "str | DimPart"):
    return isinstance(variable, DimPart), str(variable)


def _order(monomial: _Monomial):
    return -len(monomial), tuple(map(_variable_order, monomial))


def _collect(terms) -> "int | Dim":
    """The sum of terms in normal form."""
    sums: dict[_Monomial, int] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in sums.items() if c]
    if not kept or (len(kept) == 1 and not kept[0][0]):
        return kept[0][1] if kept else 0
    if len(kept) == 1:
        return Dim(tuple(kept))
    size = Dim(tuple(sorted(kept, key=lambda term: _order(term[0]))))
    return _rounded(size)


def _rounded(size: Dim) -> "int | Dim":
    """``n + n % 2`` and ``n + (8 - n % 8) % 8``, which round up, and ``n - n % 8``, which rounds down, as multiples of a quotient: ``n`` in
    one place, so that sizes of layers that each round stay short."""
    for part, sign, rest in _parts(size, "%"):
        over = _constant_modulo(rest + sign * part.a, part.b) if sign in (1, -1) else None
        if over is not None:
            whole = rest - over + (part.b - 1 if sign == 1 else 0)
            return cast("int | Dim", floor_divide(whole, part.b) * part.b + over)
    return size


def _parts(size: Dim, op: str) -> "Iterator[tuple[DimPart, int, int | Dim]]":
    """The parts of an op by a positive constant that are terms, with their coefficients and the sums of all other terms."""
    for monomial, coefficient in size.terms:
        if len(monomial) == 1 and isinstance(monomial[0], DimPart) and monomial[0].op == op:
            part = monomial[0]
            if isinstance(part.b, int) and part.b > 0:
                yield part, coefficient, _collect([term for term in size.terms if term[0] != monomial])


def _constant_modulo(size: "int | Dim", divisor: int) -> int | None:
    """``size % divisor`` if that is known."""
    return None if any(m and c % divisor for m, c in terms_of(size)) else sum(c for m, c in terms_of(size) if not m) % divisor


def part_size(part: DimPart) -> Dim:
    """The size that is one part."""
    return Dim((((part,), 1),))


def _divide_exactly(a: "int | Dim", b: "int | Dim") -> "int | Dim | None":
    """The quotient of two polynomials, or None if there is a remainder. Long division by the leading term."""
    (lead, factor), *_ = terms_of(b)
    quotient: int | Dim = 0
    while a != 0:
        monomial, coefficient = terms_of(a)[0]
        rest = list(monomial)
        for variable in lead:
            if variable not in rest:
                return None
            rest.remove(variable)
        if coefficient % factor:
            return None
        step = _collect([(tuple(rest), coefficient // factor)])
        quotient, a = cast("int | Dim", quotient + step), cast("int | Dim", a - step * b)
    return quotient


def _reduced(a: "int | Dim", b: "int | Dim") -> "tuple[int | Dim, int | Dim]":
    """Both divided by the symbols that are factors of every term of both; a symbol is never 0."""
    monomials = [list(monomial) for size in (a, b) for monomial, _ in terms_of(size)]
    for name in [variable for variable in monomials[0] if isinstance(variable, str)]:
        if all(name in monomial for monomial in monomials):
            for monomial in monomials:
                monomial.remove(name)
    places = iter(monomials)
    numerator, denominator = (_collect([(tuple(next(places)), c) for _, c in terms_of(size)]) for size in (a, b))
    return numerator, denominator


def _print(terms) -> str:
    """Text that ``parse`` reads back: positive terms first, the coefficient after its variables."""
    text = ""
    for monomial, coefficient in sorted(terms, key=lambda term: term[1] < 0):
        size = abs(coefficient)
        alone = len(monomial) == 1 and size == 1
        factors = [str(v) if isinstance(v, str) or alone or v.op in FUNCTIONS else f"({v})" for v in monomial]
        factors += [str(size)] if size != 1 or not monomial else []
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        if coefficient < 0 and alone and isinstance(monomial[0], DimPart) and monomial[0].op in ("//", "%"):
            factors = [f"({monomial[0]})"]
        text += sign + " * ".join(factors)
    return text
