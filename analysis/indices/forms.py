"""Index arithmetic as linear forms with quotients, and the ranges of forms."""
from collections.abc import Callable, Collection, Mapping

from legato.analysis.indices.arithmetic import Bound, Evaluator, Numbers
from legato.analysis.indices.linear import Linear, Quotient, Term, quotients
from legato.analysis.indices.sizes import Known, SizeNumbers, never_negative
from legato.core.mlir import ir
from legato.dialects.relax.dims import Size
from legato.dialects.tir.loops import constant_of, loop_of


class Forms(Numbers[Linear]):
    """Reads indices as linear forms of variables.

    ``extents``: variables that start at 0, and the number of their values; variables of other loops have the loop's bounds where these are
    constant. ``substitutes``: forms for values. ``known``: maps values to sizes, which become part of the constant. ``quotients``: whether
    forms may have quotients as terms; if not, a quotient is a variable unless it is a sum, and all terms are values of the IR.
    """

    def __init__(self, extents: Mapping[Term, Size] | None = None, substitutes: Mapping[ir.Value, Linear] | None = None,
                 known: Known | None = None, quotients: bool = True) -> None:
        self.extents: dict[Term, Size] = dict(extents or {})
        self.substitutes: dict[ir.Value, Linear] = dict(substitutes or {})
        self.known_size, self.quotients = known, quotients
        self._sizes = SizeNumbers(known or (lambda _: None))

    def form(self, value: ir.Value) -> Linear:
        """The form of an integer value."""
        form = Evaluator(self).value(value)
        return self.opaque(value) if form is None else form

    # --- the arithmetic of forms ---

    def given(self, value: ir.Value) -> Linear | None:
        if value in self.substitutes:
            return self.substitutes[value]
        if value in self.extents:
            return Linear({value: 1})
        size = None if self.known_size is None else self.known_size(value)
        return None if size is None else Linear({}, size)

    def opaque(self, value: ir.Value) -> Linear:
        return Linear({value: 1})

    def constant(self, number: int) -> Linear:
        return Linear({}, number)

    def reach(self, a: Linear) -> tuple[Bound, Bound]:
        bounds = self.bounds(a)
        if bounds is None:
            return None, None
        low, high = bounds
        return (low if isinstance(low, int) else 0 if never_negative(low) else None), (high if isinstance(high, int) else None)

    def add(self, a: Linear, b: Linear) -> Linear:
        return a + b

    def subtract(self, a: Linear, b: Linear) -> Linear:
        return a - b

    def multiply(self, a: Linear, b: Linear) -> Linear | None:
        for one, other in ((a, b), (b, a)):
            if other.is_constant and isinstance(other.constant, int):
                return one.times(other.constant)
        return Linear({}, a.constant * b.constant) if a.is_constant and b.is_constant else None

    def floor_divide(self, a: Linear, b: Linear) -> Linear | None:
        if not b.is_constant:
            return None
        if a.is_constant:
            return self._size(self._sizes.floor_divide(a.constant, b.constant))
        if not isinstance(a.constant, int) or not isinstance(b.constant, int) or b.constant <= 0:
            return None
        quotient = self.quotient(a, b.constant)
        return quotient if self.quotients or not quotients(quotient) else None

    def modulo(self, a: Linear, b: Linear) -> Linear | None:
        if a.is_constant and b.is_constant:
            return self._size(self._sizes.modulo(a.constant, b.constant))
        return super().modulo(a, b)

    def ceil_divide(self, a: Linear, b: Linear) -> Linear | None:
        if a.is_constant and b.is_constant:
            return self._size(self._sizes.ceil_divide(a.constant, b.constant))
        return super().ceil_divide(a, b)

    def minimum(self, a: Linear, b: Linear) -> Linear | None:
        if a.is_constant and b.is_constant:
            return self._size(self._sizes.minimum(a.constant, b.constant))
        return super().minimum(a, b)

    def maximum(self, a: Linear, b: Linear) -> Linear | None:
        if a.is_constant and b.is_constant:
            return self._size(self._sizes.maximum(a.constant, b.constant))
        return super().maximum(a, b)

    def _size(self, size: Size | None) -> Linear | None:
        return None if size is None else Linear({}, size)

    def quotient(self, form: Linear, divisor: int) -> Linear:
        """``form // divisor``, rounded down, of a form with an int constant, with as few quotients as possible."""
        whole = {term: f // divisor for term, f in form.terms.items() if f % divisor == 0}
        number, rest_number = divmod(form.constant, divisor)
        rest = Linear({term: f for term, f in form.terms.items() if f % divisor}, rest_number)
        low, high = self.reach(rest)
        if low is not None and high is not None and 0 <= low and high < divisor:
            return Linear(whole, number)
        term = next(iter(rest.terms)) if len(rest.terms) == 1 else None
        if isinstance(term, Quotient) and rest.terms[term] == 1 and rest.constant == 0:  # x // a // b is x // (a * b)
            return Linear(whole, number) + self.quotient(term.numerator, term.divisor * divisor)
        return Linear(whole, number) + Linear({Quotient(frozenset(rest.terms.items()), rest.constant, divisor): 1})

    # --- ranges ---

    def bounds(self, form: Linear) -> tuple[Size, Size] | None:
        """A lower and an upper bound, ints or symbolic; None where a variable has no known range."""
        for term, factor in form.terms.items():
            if isinstance(term, Quotient) and factor % term.divisor == 0:  # k * (x - x // n * n) is k times a remainder
                times = -factor // term.divisor
                rest = Linear({t: f for t, f in form.terms.items() if t != term}, form.constant) - term.numerator.times(times)
                if len(rest.terms) < len(form.terms) - 1 and (bounds := self.bounds(rest)) is not None:
                    reach = times * (term.divisor - 1)
                    return bounds[0] + min(reach, 0), bounds[1] + max(reach, 0)
        low: Size = form.constant
        high: Size = form.constant
        for term, factor in form.terms.items():
            of_term = self.bounds_of(term)
            if of_term is None:
                return None
            least, greatest = of_term if factor > 0 else reversed(of_term)
            low, high = low + least * factor, high + greatest * factor
        return low, high

    def bounds_of(self, term: Term) -> tuple[Size, Size] | None:
        """The bounds of a term."""
        if isinstance(term, Quotient):
            low, high = self.bounds(term.numerator) or (None, None)
            return (low // term.divisor, high // term.divisor) if isinstance(low, int) and isinstance(high, int) else None
        if term in self.extents:
            return 0, self.extents[term] - 1
        loop = loop_of(term) if isinstance(term, ir.Value) else None
        lower, upper = (None, None) if loop is None else map(constant_of, loop.bounds)
        return None if lower is None or upper is None or lower >= upper else (lower, upper - 1)

    def is_inside(self, form: Linear, size: Size) -> bool:
        """Whether an index is known to be in [0, size)."""
        bounds = self.bounds(form)
        return bounds is not None and at_most(0, bounds[0]) is True and at_most(bounds[1], size - 1) is True

    def is_linear(self, form: Linear) -> bool:
        """Whether all terms are variables of ``extents``."""
        return all(term in self.extents for term in form.terms)


def at_most(a: Size, b: Size) -> bool | None:
    """Whether ``a <= b``; None where that depends on symbols."""
    difference = b - a
    return difference >= 0 if isinstance(difference, int) else None


class _ThroughBlocks(Forms):
    """Replaces the axes of blocks by the values they are bound to."""

    def given(self, value: ir.Value) -> Linear | None:
        owner = value.owner
        if isinstance(owner, ir.Block) and owner.owner.operation.name == "tir.block":
            return self.form(owner.owner.operation.operands[ir.BlockArgument(value).arg_number])
        return super().given(value)


PLAIN = Forms(quotients=False)


def linear(value: ir.Value) -> Linear:
    """The form of an integer value; all terms are values of the IR."""
    return PLAIN.form(value)


def in_loops(value: ir.Value, quotients: bool = True, extents: Mapping[Term, Size] | None = None,
             kept: Collection[ir.Value] = ()) -> Linear:
    """The form of an index in loop variables, variables of ``extents`` and values that are ``kept``: the axes of blocks are replaced by the
    values they are bound to."""
    return _ThroughBlocks(extents, {one: Linear({one: 1}) for one in kept}, quotients=quotients).form(value)


def place(value: ir.Value) -> Linear:
    """``linear`` without the variables of one-step loops from 0."""
    return moving(linear(value))


def moving(form: Linear) -> Linear:
    """A form of values of the IR without the variables of one-step loops from 0."""
    return form.without([v for v in form.terms if stands_still(v)])


def stands_still(value: ir.Value) -> bool:
    """Whether a value is the variable of a loop with the single value 0."""
    loop = loop_of(value)
    return loop is not None and loop.extent == 1 and constant_of(loop.bounds[0]) == 0


def depends(value: ir.Value, values: Collection[ir.Value]) -> bool:
    """Whether a value is one of ``values``, or computed from one."""
    seen, todo = {value}, [value]
    while todo:
        one = todo.pop()
        if one in values:
            return True
        new = [] if isinstance(one.owner, ir.Block) else [v for v in one.owner.operation.operands if v not in seen]
        seen.update(new)
        todo += new
    return False


def roots(value: ir.Value, given: Callable[[ir.Value], bool] = lambda _: False) -> set[ir.Value]:
    """The block arguments (loop variables and parameters) that a value is computed from, without the values that are ``given``."""
    seen, todo = {value}, [value]
    while todo:
        one = todo.pop()
        if not isinstance(one.owner, ir.Block):
            new = [operand for operand in one.owner.operation.operands if operand not in seen and not given(operand)]
            seen.update(new)
            todo += new
    return {one for one in seen if isinstance(one.owner, ir.Block)}
