"""Index arithmetic as sizes: ints, and expressions of the symbols of a signature."""
from collections.abc import Callable

from legato.analysis.indices.arithmetic import Bound, Evaluator, Numbers
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Dim, Size

Known = Callable[[ir.Value], Size | None]


class SizeNumbers(Numbers[Size]):
    """``known(value)``: the size that a value is known to be, such as a dimension of a buffer; else None. ``by_symbols``: whether
    quotients by symbolic sizes are allowed; they may be computed where the program does not divide, so the symbol must not be 0 there.
    """

    def __init__(self, known: Known, by_symbols: bool = False) -> None:
        self._known, self._by_symbols = known, by_symbols

    def given(self, value: ir.Value) -> Size | None:
        return self._known(value)

    def opaque(self, value: ir.Value) -> None:
        return None

    def constant(self, number: int) -> Size:
        return number

    def reach(self, a: Size) -> tuple[Bound, Bound]:
        return (a, a) if isinstance(a, int) else (0 if never_negative(a) else None, None)

    def add(self, a: Size, b: Size) -> Size:
        return a + b

    def subtract(self, a: Size, b: Size) -> Size:
        return a - b

    def multiply(self, a: Size, b: Size) -> Size:
        return a * b

    def floor_divide(self, a: Size, b: Size) -> Size | None:
        return dims.floor_divide(a, b) if self._divides(b) else None

    def ceil_divide(self, a: Size, b: Size) -> Size | None:
        return dims.ceil_divide(a, b) if self._divides(b) else None

    def modulo(self, a: Size, b: Size) -> Size | None:
        return dims.modulo(a, b) if self._divides(b) else None

    def minimum(self, a: Size, b: Size) -> Size:
        return dims.minimum(a, b)

    def maximum(self, a: Size, b: Size) -> Size:
        return dims.maximum(a, b)

    def _divides(self, b: Size) -> bool:
        return b > 0 if isinstance(b, int) else self._by_symbols and never_negative(b)


def size_of(value: ir.Value, known: Known) -> Size | None:
    """The size that an integer is; None for a value computed from data or loop variables."""
    return Evaluator(SizeNumbers(known)).value(value)


def never_negative(size: Size) -> bool:
    """Whether ``size`` is known to be at least 0: symbols are, and so are sums and products of such sizes."""
    if isinstance(size, int):
        return size >= 0
    if not isinstance(size, Dim):
        return False
    return all(coefficient >= 0 for _, coefficient in size.terms) and all(
        isinstance(v, str) or (never_negative(v.a) and never_negative(v.b)) for v in size.variables())
