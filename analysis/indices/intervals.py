"""The ranges of integer values, from the ranges of the values that they are computed of."""
from collections.abc import Mapping

from legato.analysis.indices.arithmetic import Bound, Evaluator, Numbers
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of, loop_of

Interval = tuple[Bound, Bound]
ANY: Interval = (None, None)


class Intervals(Numbers[Interval]):
    """Lower and upper bounds; None for one that is not known.

    ``extents``: variables that start at 0, and the number of their values, None where that is not known. Variables of loops have the bounds
    of the loop.
    """

    def __init__(self, extents: Mapping[ir.Value, int | None]) -> None:
        self._extents = extents
        self._evaluator = Evaluator(self)

    def of(self, value: ir.Value) -> Interval:
        """The interval of an integer value."""
        return self._evaluator.value(value) or ANY

    def given(self, value: ir.Value) -> Interval | None:
        if value in self._extents:
            extent = self._extents[value]
            return 0, None if extent is None else extent - 1
        if (loop := loop_of(value)) is None:
            return None
        lower, upper = loop.bounds
        low, end = constant_of(lower), constant_of(upper)
        high = end if end is not None else self.of(upper)[1]
        return low if low is not None else self.of(lower)[0], None if high is None else high - 1

    def opaque(self, value: ir.Value) -> Interval:
        is_size = not isinstance(value.owner, ir.Block) and value.owner.name == "memref.dim"
        return (0, None) if is_size else ANY

    def constant(self, number: int) -> Interval:
        return number, number

    def reach(self, a: Interval) -> Interval:
        return a

    def add(self, a: Interval, b: Interval) -> Interval:
        return _sum(a[0], b[0]), _sum(a[1], b[1])

    def subtract(self, a: Interval, b: Interval) -> Interval:
        return _sum(a[0], None if b[1] is None else -b[1]), _sum(a[1], None if b[0] is None else -b[0])

    def multiply(self, a: Interval, b: Interval) -> Interval:
        (low, high), (least, most) = a, b
        if low is not None and high is not None and least is not None and most is not None:
            products = [x * y for x in (low, high) for y in (least, most)]
            return min(products), max(products)
        return (low * least, None) if low is not None and least is not None and low >= 0 and least >= 0 else ANY

    def floor_divide(self, a: Interval, b: Interval) -> Interval:
        divisor = self.known(b)
        if divisor is None or divisor <= 0:
            return (0, a[1]) if self.is_natural(a) and b[0] is not None and b[0] > 0 else ANY
        low, high = (None if bound is None else bound // divisor for bound in a)
        return low, high

    def modulo(self, a: Interval, b: Interval) -> Interval:
        if b[0] is None or b[0] <= 0:
            return ANY
        if self.is_natural(a) and a[1] is not None and a[1] < b[0]:
            return a
        return 0, None if b[1] is None else b[1] - 1

    def minimum(self, a: Interval, b: Interval) -> Interval:
        highs = [bound for bound in (a[1], b[1]) if bound is not None]
        return None if a[0] is None or b[0] is None else min(a[0], b[0]), min(highs, default=None)

    def maximum(self, a: Interval, b: Interval) -> Interval:
        lows = [bound for bound in (a[0], b[0]) if bound is not None]
        return max(lows, default=None), None if a[1] is None or b[1] is None else max(a[1], b[1])

    def select(self, condition: Interval, a: Interval, b: Interval) -> Interval:
        return (None if a[0] is None or b[0] is None else min(a[0], b[0])), (None if a[1] is None or b[1] is None else max(a[1], b[1]))


def _sum(a: Bound, b: Bound) -> Bound:
    return None if a is None or b is None else a + b


def are_apart(a: Interval, b: Interval) -> bool:
    """Whether no value is in both."""
    return any(high is not None and low is not None and high < low for high, low in ((a[1], b[0]), (b[1], a[0])))
