"""Index arithmetic as linear forms: sums of values times constants. What is beyond that (a quotient, a remainder) is a value of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from legato.core.mlir import arith, ir
from legato.dialects.tir.loops import constant_of, loop_of

CASTS = ("arith.index_cast", "arith.index_castui")


@dataclass(frozen=True)
class Linear:
    """``sum of value * coefficient + constant``; no coefficient is 0."""

    terms: dict[ir.Value, int]
    constant: int = 0

    def coefficient(self, value: ir.Value) -> int:
        return self.terms.get(value, 0)

    def __add__(self, other: "Linear") -> "Linear":
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + factor
        return Linear({v: f for v, f in terms.items() if f}, self.constant + other.constant)

    def __sub__(self, other: "Linear") -> "Linear":
        return self + other.times(-1)

    def times(self, factor: int) -> "Linear":
        return Linear({v: f * factor for v, f in self.terms.items() if f * factor}, self.constant * factor)

    def only(self, values: "list[ir.Value] | set[ir.Value]") -> "Linear":
        """The terms of these values."""
        return Linear({v: f for v, f in self.terms.items() if v in values})

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def variable(self) -> ir.Value | None:
        """The value that the form is, if it is just one."""
        if self.constant == 0 and len(self.terms) == 1 and next(iter(self.terms.values())) == 1:
            return next(iter(self.terms))
        return None

    def range(self, extents: Mapping[ir.Value, int]) -> tuple[int, int] | None:
        """The least and the greatest value, where each variable runs from 0 to its extent; None where one is not known."""
        low = high = self.constant
        for value, factor in self.terms.items():
            if value not in extents:
                return None
            reach = factor * (extents[value] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


def place(value: ir.Value) -> Linear:
    """The linear form of an index, without the variables of loops that have one step, at 0."""
    form = linear(value)
    return Linear({v: f for v, f in form.terms.items() if not stands_still(v)}, form.constant)


def stands_still(value: ir.Value) -> bool:
    """Whether a value is the variable of a loop that takes the value 0 only."""
    loop = loop_of(value)
    return loop is not None and loop.extent == 1 and constant_of(loop.bounds[0]) == 0


def linear(value: ir.Value) -> Linear:
    """The linear form of an integer value."""
    number = constant_of(value)
    if number is not None:
        return Linear({}, number)
    owner = value.owner
    if not isinstance(owner, ir.Block):
        name = owner.name
        if name in CASTS:
            return linear(owner.operands[0])
        if name in ("arith.addi", "arith.subi"):
            a, b = linear(owner.operands[0]), linear(owner.operands[1])
            return a + b if name == "arith.addi" else a - b
        if name == "arith.muli":
            a, b = linear(owner.operands[0]), linear(owner.operands[1])
            if a.is_constant or b.is_constant:
                return a.times(b.constant) if b.is_constant else b.times(a.constant)
    return Linear({value: 1})


def in_loops(value: ir.Value) -> Linear:
    """The linear form of an index inside blocks, their axes replaced by what they are bound to."""
    form = linear(value)
    for term, factor in list(form.terms.items()):
        owner = term.owner
        if isinstance(owner, ir.Block) and owner.owner.operation.name == "tir.block":
            bound = owner.owner.operation.operands[ir.BlockArgument(term).arg_number]
            form = form - Linear({term: factor}) + in_loops(bound).times(factor)
    return form


def build(form: Linear) -> ir.Value:
    """The value of a form of index values, at the insertion point."""
    total = None
    for value, factor in form.terms.items():
        if not isinstance(value.type, ir.IndexType):
            value = arith.IndexCastOp(ir.IndexType.get(), value).result
        term = value if factor == 1 else arith.MulIOp(value, constant(factor)).result
        total = term if total is None else arith.AddIOp(total, term).result
    if total is None or form.constant:
        number = constant(form.constant)
        total = number if total is None else arith.AddIOp(total, number).result
    return total


def constant(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result
