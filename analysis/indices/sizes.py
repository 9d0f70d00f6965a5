"""Index arithmetic as sizes: ints, and expressions of the symbols of a signature."""
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from legato.analysis.indices.arithmetic import Bound, Evaluator, Numbers
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.dialects.relax.dim import FUNCTIONS, DimPart
from legato.dialects.relax.dims import Dim, Size

SLACK = 1 << 8      # what lies in memory has less than 2**48 bytes
FEW = 8             # terms of a size whose sign is found by all their bounds at once
LARGE = 1 << 20     # a symbol's value

Known = Callable[[ir.Value], Size | None]


class SizeNumbers(Numbers[Size]):
    """``known(value)``: the size that a value is known to be, such as a dimension of a buffer; else None. ``by_symbols``: whether
    quotients by symbolic sizes are allowed; they may be computed where the program does not divide, so the symbol must not be 0 there.
    ``naturals``: sizes that are at least 0 although their form does not show it (``n - 4``, which a call requires).
    """

    def __init__(self, known: Known, by_symbols: bool = False, naturals: Iterable[Size] = ()) -> None:
        self._known, self._by_symbols = known, by_symbols
        self._naturals = set(naturals)

    def given(self, value: ir.Value) -> Size | None:
        return self._known(value)

    def opaque(self, value: ir.Value) -> None:
        return None

    def constant(self, number: int) -> Size:
        return number

    def reach(self, a: Size) -> tuple[Bound, Bound]:
        return (a, a) if isinstance(a, int) else (0 if self._is_natural(a) else None, None)

    def _is_natural(self, a: Size) -> bool:
        return never_negative(a) or a in self._naturals or any(never_negative(a - size) for size in self._naturals)

    def add(self, a: Size, b: Size) -> Size:
        return self._monotone(a + b, a, b)

    def subtract(self, a: Size, b: Size) -> Size:
        return a - b

    def multiply(self, a: Size, b: Size) -> Size:
        return self._monotone(a * b, a, b)

    def floor_divide(self, a: Size, b: Size) -> Size | None:
        return self._monotone(dims.floor_divide(a, b), a, b) if self._divides(b) else None

    def ceil_divide(self, a: Size, b: Size) -> Size | None:
        return self._monotone(dims.ceil_divide(a, b), a, b) if self._divides(b) else None

    def modulo(self, a: Size, b: Size) -> Size | None:
        return self._monotone(dims.modulo(a, b), a, b) if self._divides(b) else None

    def minimum(self, a: Size, b: Size) -> Size:
        small, great = (a, b) if self._is_natural(b - a) else (b, a)
        found = small if self._is_natural(great - small) else dims.minimum(a, b, symbols_from=0)
        return self._monotone(found, a, b)

    def maximum(self, a: Size, b: Size) -> Size:
        small, great = (a, b) if self._is_natural(b - a) else (b, a)
        greater = great if self._is_natural(great - small) else dims.maximum(a, b, symbols_from=0)
        return self._monotone(greater, *((a, a) if self._is_natural(a) else (b, b)))

    def broadcast(self, a: Size, b: Size) -> Size:
        return self._monotone(dims.broadcast_size(a, b), a, b)

    def _monotone(self, result: Size, a: Size, b: Size) -> Size:
        """``result`` of an op that gives no negative number for operands that are not negative: remembered as natural if they are."""
        if self._naturals and not never_negative(result) and self._is_natural(a) and self._is_natural(b):
            self._naturals.add(result)
        return result

    def _divides(self, b: Size) -> bool:
        return b > 0 if isinstance(b, int) else self._by_symbols and self._is_natural(b)


def size_of(value: ir.Value, known: Known) -> Size | None:
    """The size that an integer is; None for a value computed from data or loop variables."""
    return Evaluator(SizeNumbers(known)).value(value)


def always_fits(size: Size, arguments: Iterable[Size]) -> bool:
    """Whether a size in bytes cannot exceed ``LARGEST``: it is at most ``SLACK`` times that of an argument, which lies in memory."""
    return any(never_negative(given * SLACK - size) for given in arguments)


@lru_cache(1 << 14)
def never_negative(size: Size, depth: int = 4) -> bool:
    """Whether ``size`` is known to be at least 0: symbols are, and so are sums and products of such sizes. Minima, maxima and quotients
    are replaced by their bounds where that is not enough, ``depth`` of them.
    """
    if isinstance(size, int):
        return size >= 0
    if not isinstance(size, Dim):
        return False
    if all(coefficient >= 0 for _, coefficient in size.terms) and all(
            isinstance(v, str) or _natural_part(v, depth) for v in size.variables()):
        return True
    if len(size.terms) > FEW and _is_refuted(size):
        return False
    return depth > 0 and any(_follows(size, part, coefficient, depth - 1) for part, coefficient in _part_terms(size))


def _is_refuted(size: Dim) -> bool:
    """Whether ``size`` is negative where the symbols that only make it less are large, and the others 1. To try the bounds of many parts
    takes long: ``depth`` of them each time."""
    raising = {symbol for monomial, coefficient in size.terms if coefficient > 0 for symbol in dims.symbols(Dim(((monomial, 1),)))}
    try:
        found = dims.substitute(size, {symbol: 1 if symbol in raising else LARGE for symbol in dims.symbols(size)})
    except ZeroDivisionError:   # a call of these sizes is refused: they say nothing
        return False
    return isinstance(found, int) and found < 0


def _natural_part(part: DimPart, depth: int) -> bool:
    if part.op == "%":
        return never_negative(part.b, depth)
    either = any if part.op == "max" else all
    return either(never_negative(operand, depth) for operand in (part.a, part.b))


def _part_terms(size: Dim) -> Iterator[tuple[DimPart, int]]:
    """The terms that are a multiple of one part, with their coefficients."""
    for monomial, coefficient in size.terms:
        if len(monomial) == 1 and isinstance(monomial[0], DimPart):
            yield monomial[0], coefficient


def _follows(size: Dim, part: DimPart, coefficient: int, depth: int) -> bool:
    """Whether ``size`` is at least 0 by the bounds of ``part``, a term of it with this coefficient."""
    def within(bound: Size) -> bool:
        return never_negative(size + (bound - Dim((((part,), 1),))) * coefficient, depth)

    a, b = part.a, part.b
    if part.op in FUNCTIONS:
        either = all if part.op == "broadcast" else any if (part.op == "min") == (coefficient < 0) else all
        return either(map(within, (a, b)))
    if not isinstance(b, int) or b <= 0:
        return False
    if part.op == "%":
        return coefficient < 0 and (within(b - 1) or (never_negative(a, depth) and within(a)))
    if coefficient % b == 0:    # a - b + 1 <= b * (a // b) <= a
        rest = size - Dim((((part,), coefficient),))
        return never_negative(rest + (a if coefficient < 0 else a - (b - 1)) * (coefficient // b), depth)
    return coefficient < 0 and never_negative(a, depth) and within(a)
