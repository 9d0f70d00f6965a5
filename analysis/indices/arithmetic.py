"""The semantics of the integer ops of ``arith`` and ``affine``, over numbers of any kind.

A value of type iN is its bits read in two's complement, except i1, which is 0 or 1. ``index`` and i64 are assumed not to overflow, as in
the affine dialect; the result of an op on narrower integers is known only where it is seen to fit.
"""
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Generic, TypeVar

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of

N = TypeVar("N")
Bound = int | None

WIDE = 64  # width from which on arithmetic is assumed not to overflow
EXTENDED = ("arith.index_cast", "arith.extsi", "arith.trunci")         # sign-extended
EXTENDED_BY_ZEROS = ("arith.index_castui", "arith.extui")
EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)  # the predicates of arith.cmpi
UNSIGNED = {6: LESS, 7: LESS_EQUAL, 8: GREATER, 9: GREATER_EQUAL}


class Numbers(Generic[N]):
    """Arithmetic on numbers of one kind. Methods return None where the result is not representable or not known."""

    def given(self, value: ir.Value) -> N | None:
        """A value that is known without looking at its op, such as a variable; else None."""
        raise NotImplementedError

    def opaque(self, value: ir.Value) -> N | None:
        """The number for a value that is not computed by known arithmetic."""
        raise NotImplementedError

    def constant(self, number: int) -> N:
        """The number for an int."""
        raise NotImplementedError

    def reach(self, a: N) -> tuple[Bound, Bound]:
        """A lower and an upper bound of ``a``; None for one that is not known."""
        raise NotImplementedError

    def add(self, a: N, b: N) -> N | None:
        """a + b."""
        raise NotImplementedError

    def subtract(self, a: N, b: N) -> N | None:
        """a - b."""
        raise NotImplementedError

    def multiply(self, a: N, b: N) -> N | None:
        """a * b."""
        raise NotImplementedError

    def floor_divide(self, a: N, b: N) -> N | None:
        """a / b rounded down."""
        raise NotImplementedError

    def ceil_divide(self, a: N, b: N) -> N | None:
        """a / b rounded up."""
        negated = self.subtract(self.constant(0), a)
        quotient = None if negated is None else self.floor_divide(negated, b)
        return None if quotient is None else self.subtract(self.constant(0), quotient)

    def modulo(self, a: N, b: N) -> N | None:
        """The remainder of ``floor_divide``, with the sign of ``b``."""
        quotient = self.floor_divide(a, b)
        whole = None if quotient is None else self.multiply(quotient, b)
        return None if whole is None else self.subtract(a, whole)

    def minimum(self, a: N, b: N) -> N | None:
        """The lesser of a and b."""
        difference = self.subtract(b, a)
        low, high = (None, None) if difference is None else self.reach(difference)
        return a if low is not None and low >= 0 else b if high is not None and high <= 0 else None

    def maximum(self, a: N, b: N) -> N | None:
        """The greater of a and b."""
        small = self.minimum(a, b)
        return None if small is None else b if small is a else a

    def select(self, condition: N, a: N, b: N) -> N | None:
        """``a`` where the condition is 1, ``b`` where it is 0."""
        chosen = self.known(condition)
        return (a if a == b else None) if chosen is None else a if chosen else b

    def broadcast(self, a: N, b: N) -> N | None:
        """``b`` where ``a`` is 1, else ``a``."""
        return None

    def compare(self, predicate: int, a: N, b: N) -> N | None:
        """1 where a comparison holds, 0 where it does not. ``predicate``: one of the first six of arith.cmpi."""
        difference = self.subtract(a, b)
        low, high = (None, None) if difference is None else self.reach(difference)
        holds = compared(predicate, low, high)
        return None if holds is None else self.constant(int(holds))

    def truncated(self, name: str, a: N, b: N) -> N | None:
        """``arith.divsi`` or ``arith.remsi``, which round towards 0, of operands that may be negative."""
        return None

    def bitwise(self, name: str, a: N, b: N, bits: int) -> N | None:
        """A bitwise or unsigned op (``arith.divui``) on integers of a width."""
        return None

    def wrapped(self, a: N, bits: int) -> N | None:
        """The integer of a width with the lowest bits of ``a``."""
        low, high = self.reach(a)
        least, greatest = limits(bits)
        return a if low is not None and high is not None and least <= low and high <= greatest else None

    def is_natural(self, a: N) -> bool:
        """Whether ``a`` is known to be at least 0."""
        low = self.reach(a)[0]
        return low is not None and low >= 0

    def known(self, a: N) -> int | None:
        """The int that ``a`` is, where there is only one."""
        low, high = self.reach(a)
        return low if low is not None and low == high else None


def limits(bits: int) -> tuple[int, int]:
    """The least and the greatest integer of a width."""
    return (0, 1) if bits == 1 else (-(1 << bits - 1), (1 << bits - 1) - 1)


def compared(predicate: int, low: Bound, high: Bound) -> bool | None:
    """Whether a difference with these bounds compares to 0 as the predicate says; None where that is not known."""
    if predicate in (GREATER, GREATER_EQUAL):
        low, high = (None if high is None else -high), (None if low is None else -low)
        predicate = LESS if predicate == GREATER else LESS_EQUAL
    if predicate in (LESS, LESS_EQUAL):
        edge = -1 if predicate == LESS else 0
        return True if high is not None and high <= edge else False if low is not None and low > edge else None
    apart = (low is not None and low > 0) or (high is not None and high < 0)
    same = low == 0 == high
    return None if not apart and not same else same == (predicate == EQUAL)


def bits_of(type_: ir.Type) -> int | None:
    """The width of an integer type, ``WIDE`` for index; None for other types."""
    if isinstance(type_, ir.IndexType):
        return WIDE
    return type_.width if isinstance(type_, ir.IntegerType) else None


class Evaluator(Generic[N]):
    """Evaluates integer values and caches the results: not to be kept while the IR changes."""

    def __init__(self, numbers: Numbers[N]) -> None:
        self.numbers = numbers
        self.seen: dict[ir.Value, N | None] = {}

    def value(self, value: ir.Value) -> N | None:
        """The number that an integer value is."""
        if value not in self.seen:
            self.seen[value] = self._value(value)
        return self.seen[value]

    def _value(self, value: ir.Value) -> N | None:
        given = self.numbers.given(value)
        if given is not None:
            return given
        number = constant_of(value)
        if number is not None:
            return self.numbers.constant(number)
        if not isinstance(value.owner, ir.Block):
            computed = self._result(value.owner.operation)
            if computed is not None:
                return computed
        return self.numbers.opaque(value)

    def _result(self, op: ir.Operation) -> N | None:
        if not op.name.startswith(("arith.", "affine.")) or len(op.results) != 1:
            return None
        bits = bits_of(op.results[0].type)
        compute = RULES.get(op.name)
        if bits is None or compute is None:
            return None
        if (sides := _broadcast_sides(op)) is not None:
            a, b = map(self.value, sides)
            return None if a is None or b is None else self.numbers.broadcast(a, b)
        operands = []
        for operand in op.operands:
            found = self.value(operand)
            if found is None:
                return None
            operands.append(found)
        return compute(self.numbers, op, operands, bits)


def _broadcast_sides(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """The values a and b of ``select(a == 1, b, a)``, as sizes that are broadcast are computed; None for any other op."""
    if op.name != "arith.select" or isinstance(op.operands[0].owner, ir.Block):
        return None
    test, (_, b, a) = op.operands[0].owner.operation, op.operands
    is_one = (test.name == "arith.cmpi" and ir.IntegerAttr(test.attributes["predicate"]).value == EQUAL and test.operands[0] == a
              and constant_of(test.operands[1]) == 1)
    return (a, b) if is_one else None


# --- the rules ---

Rule = Callable[[Numbers, ir.Operation, list, int], Any]    # (numbers, op, operands, width of the result)
Method = Callable[[Numbers, Any, Any], Any]


def _extended(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    before, number = bits_of(op.operands[0].type), operands[0]
    if before == 1:   # sign-extended, 1 is -1
        number = numbers.subtract(numbers.constant(0), number)
    return number if number is None or before is None or before <= bits else numbers.wrapped(number, bits)


def _extended_by_zeros(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    before, number = bits_of(op.operands[0].type), operands[0]
    if before is None or before >= bits:    # a cast of index to an integer that is not wider
        return number if before == bits else None if before is None else numbers.wrapped(number, bits)
    return number if numbers.is_natural(number) else numbers.bitwise("arith.extui", number, numbers.constant(0), before)


def _fitting(method: Method) -> Rule:
    """A rule whose result is known only where it fits the width."""
    def rule(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
        if bits == 1:
            return None
        number = method(numbers, *operands)
        return number if number is None or bits >= WIDE else numbers.wrapped(number, bits)
    return rule


def _within(method: Method) -> Rule:
    """A rule whose result cannot exceed the operands' range."""
    def rule(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
        return None if bits == 1 else method(numbers, *operands)
    return rule


def _truncated(method: Method) -> Rule:
    """A rule of division that rounds towards 0, which is rounding down where nothing is negative."""
    def rule(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
        if bits == 1:
            return None
        exact = all(map(numbers.is_natural, operands)) or is_by_one(numbers, op, operands)
        return method(numbers, *operands) if exact else numbers.truncated(op.name, *operands)
    return rule


def _unsigned(method: Method) -> Rule:
    """A rule of unsigned arithmetic, which is the signed one where nothing is negative."""
    def rule(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
        exact = all(map(numbers.is_natural, operands)) or is_by_one(numbers, op, operands)
        return method(numbers, *operands) if exact else numbers.bitwise(op.name, operands[0], operands[1], bits)
    return rule


def is_by_one(numbers: Numbers, op: ir.Operation, operands: list) -> bool:
    """Whether an op is a division by 1, or its remainder, which have no sign to look at."""
    return op.name.startswith(("arith.div", "arith.rem", "arith.ceildiv")) and numbers.known(operands[1]) == 1


def _selected(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    condition, chosen, other = operands
    return numbers.select(condition, chosen, other)


def _compared(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if predicate in UNSIGNED or bits_of(op.operands[0].type) == 1:
        if not all(map(numbers.is_natural, operands)) or (predicate not in UNSIGNED and predicate > NOT_EQUAL):
            return None
    return numbers.compare(present(UNSIGNED.get(predicate, predicate)), *operands)


def _bitwise(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    mask = numbers.known(operands[1])
    if op.name == "arith.andi" and mask is not None and mask >= 0 and mask & (mask + 1) == 0:   # the lowest bits
        return numbers.modulo(operands[0], numbers.constant(mask + 1))
    return numbers.bitwise(op.name, operands[0], operands[1], bits)


def _shifted(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    places = numbers.known(operands[1])
    if places is None or not 0 <= places < min(bits, WIDE - 1):
        return numbers.bitwise(op.name, operands[0], operands[1], bits)
    power = numbers.constant(1 << places)
    if op.name == "arith.shli":
        number = numbers.multiply(operands[0], power)
        return number if number is None or bits >= WIDE else numbers.wrapped(number, bits)
    if op.name == "arith.shrsi" or numbers.is_natural(operands[0]):
        return numbers.floor_divide(operands[0], power)
    return numbers.bitwise(op.name, operands[0], operands[1], bits)


def _affine(numbers: Numbers, op: ir.Operation, operands: list, bits: int):
    map_ = ir.AffineMapAttr(op.attributes["map"]).value
    results = [affine_value(numbers, e, operands[:map_.n_dims], operands[map_.n_dims:]) for e in map_.results]
    if any(r is None for r in results):
        return None
    join = numbers.maximum if op.name == "affine.max" else numbers.minimum
    return reduce(lambda a, b: None if a is None else join(a, b), results)


def affine_value(numbers: Numbers[N], expression: ir.AffineExpr, dims: Sequence[N], symbols: Sequence[N]) -> N | None:
    """The value of an affine expression for the given dimensions and symbols."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return numbers.constant(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return dims[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    a, b = (affine_value(numbers, e, dims, symbols) for e in (expression.lhs, expression.rhs))
    return None if a is None or b is None else AFFINE[type(expression)](numbers, a, b)


ADD: Method = lambda numbers, a, b: numbers.add(a, b)                    # noqa: E731 - a method of whichever kind the numbers are
SUBTRACT: Method = lambda numbers, a, b: numbers.subtract(a, b)          # noqa: E731
MULTIPLY: Method = lambda numbers, a, b: numbers.multiply(a, b)          # noqa: E731
FLOOR_DIVIDE: Method = lambda numbers, a, b: numbers.floor_divide(a, b)  # noqa: E731
CEIL_DIVIDE: Method = lambda numbers, a, b: numbers.ceil_divide(a, b)    # noqa: E731
MODULO: Method = lambda numbers, a, b: numbers.modulo(a, b)              # noqa: E731
MINIMUM: Method = lambda numbers, a, b: numbers.minimum(a, b)            # noqa: E731
MAXIMUM: Method = lambda numbers, a, b: numbers.maximum(a, b)            # noqa: E731
AFFINE: dict[type, Method] = {ir.AffineAddExpr: ADD, ir.AffineMulExpr: MULTIPLY, ir.AffineModExpr: MODULO,
                              ir.AffineFloorDivExpr: FLOOR_DIVIDE, ir.AffineCeilDivExpr: CEIL_DIVIDE}
RULES: dict[str, Rule] = {
    **dict.fromkeys(EXTENDED, _extended), **dict.fromkeys(EXTENDED_BY_ZEROS, _extended_by_zeros),
    "arith.addi": _fitting(ADD), "arith.subi": _fitting(SUBTRACT), "arith.muli": _fitting(MULTIPLY),
    "arith.floordivsi": _within(FLOOR_DIVIDE), "arith.ceildivsi": _within(CEIL_DIVIDE),
    "arith.minsi": _within(MINIMUM), "arith.maxsi": _within(MAXIMUM),
    "arith.divsi": _truncated(FLOOR_DIVIDE), "arith.remsi": _truncated(MODULO),
    "arith.divui": _unsigned(FLOOR_DIVIDE), "arith.ceildivui": _unsigned(CEIL_DIVIDE), "arith.remui": _unsigned(MODULO),
    "arith.minui": _unsigned(MINIMUM), "arith.maxui": _unsigned(MAXIMUM),
    "arith.select": _selected, "arith.cmpi": _compared,
    **dict.fromkeys(("arith.andi", "arith.ori", "arith.xori"), _bitwise),
    **dict.fromkeys(("arith.shli", "arith.shrsi", "arith.shrui"), _shifted),
    **dict.fromkeys(("affine.apply", "affine.min", "affine.max"), _affine),
}
