"""Sizes, linear forms and index arithmetic as terms of the solver z3: what holds of these is proved for all values, not sampled.

Integers are mathematical ones; arithmetic on narrow integers wraps, and that on index and i64 is assumed to fit, as the compiler does.
"""
from collections.abc import Mapping, Sequence
from typing import Any

import z3
from index_programs import PREDICATES, WIDTHS

from legato.analysis.indices.linear import Linear, Quotient
from legato.core.mlir import ir
from legato.dialects.relax.dim import Dim, DimPart, Size

EFFORT = 2_000_000      # of z3's own units, about a second: the same on every machine, as a limit of time would not be


class NotModelledError(Exception):
    """An op without a translation."""


def counterexample(claim: Any, *assumed: Any, effort: int = EFFORT) -> str | None:
    """Values for which a claim does not hold although what is assumed does; None if there are none. ``Undecided`` where z3 gives up."""
    solver = z3.Solver()
    solver.set("rlimit", effort)
    solver.add(*assumed, z3.Not(claim))
    found = solver.check()
    if found == z3.unknown:
        raise UndecidedError
    return None if found == z3.unsat else str(solver.model())


class UndecidedError(Exception):
    """The solver found neither a proof nor a counterexample."""


def floor_divide(a: Any, b: Any) -> Any:
    """a // b rounded down, b not 0. z3's own quotient rounds so that the remainder is not negative."""
    a, b = z3.IntVal(a) if isinstance(a, int) else a, z3.IntVal(b) if isinstance(b, int) else b
    if z3.is_int_value(b):
        return a / b if b.as_long() > 0 else (-a) / z3.IntVal(-b.as_long())
    return z3.If(b > 0, a / b, (-a) / (-b))


def ceil_divide(a: Any, b: Any) -> Any:
    """a / b rounded up."""
    return -floor_divide(-a, b)


def of_size(size: Size, symbols: Mapping[str, Any]) -> Any:
    """A size as a term."""
    if not isinstance(size, Dim):
        return z3.IntVal(int(str(size)))
    total = z3.IntVal(0)
    for monomial, coefficient in size.terms:
        product: Any = z3.IntVal(coefficient)
        for variable in monomial:
            product = product * (symbols[variable] if isinstance(variable, str) else _of_part(variable, symbols))
        total = total + product
    return total


def divisors(size: Size, symbols: Mapping[str, Any]) -> list[Any]:
    """That no divisor in a size is 0."""
    parts = [v for v in size.variables() if isinstance(v, DimPart)] if isinstance(size, Dim) else []
    found = [one for part in parts for inner in (part.a, part.b) for one in divisors(inner, symbols)]
    return found + [of_size(part.b, symbols) != 0 for part in parts if part.op in ("//", "%")]


def _of_part(part: DimPart, symbols: Mapping[str, Any]) -> Any:
    a, b = of_size(part.a, symbols), of_size(part.b, symbols)
    return OPERATORS[part.op](a, b)


OPERATORS = {
    "//": floor_divide, "%": lambda a, b: a - floor_divide(a, b) * b, "+": lambda a, b: a + b, "-": lambda a, b: a - b,
    "*": lambda a, b: a * b, "min": lambda a, b: z3.If(a < b, a, b), "max": lambda a, b: z3.If(a > b, a, b),
    "broadcast": lambda a, b: z3.If(a == 1, b, a),
}


class Meaning:
    """What the values of a program are, by the words of the dialects arith and affine. ``known``: the terms of its variables and
    parameters. ``defined``: what holds where no op has undefined behaviour."""

    def __init__(self, known: Mapping[ir.Value, Any]) -> None:
        self.terms: dict[ir.Value, Any] = dict(known)
        self.defined: dict[ir.Value, list[Any]] = {value: [] for value in known}

    def of(self, value: ir.Value) -> Any:
        """The term of a value: its bits in two's complement, 0 or 1 for i1. NotModelledError for ops on bits."""
        if value not in self.terms:
            op = value.owner.operation
            operands = [self.of(v) for v in op.operands]
            self.defined[value] = [one for v in op.operands for one in self.defined[v]]
            self.terms[value] = self._result(op, operands, self.defined[value])
        return self.terms[value]

    def of_form(self, form: Linear) -> Any:
        """The term of a linear form of values."""
        return sum((factor * self._of_term(term) for term, factor in form.terms.items()), z3.IntVal(int(str(form.constant))))

    def _of_term(self, term: Any) -> Any:
        return floor_divide(self.of_form(term.numerator), term.divisor) if isinstance(term, Quotient) else self.of(term)

    def _result(self, op: ir.Operation, operands: list[Any], defined: list[Any]) -> Any:
        name, bits = op.name.split(".")[1], WIDTHS[str(op.results[0].type)]
        if name == "constant":
            number = ir.IntegerAttr(op.attributes["value"]).value
            return z3.IntVal(number & 1 if bits == 1 else number)
        before = WIDTHS[str(op.operands[0].type)]
        if op.name.startswith("affine."):
            results = [affine(e, operands[:2], operands[2:]) for e in ir.AffineMapAttr(op.attributes["map"]).value.results]
            return results[0] if len(results) == 1 else OPERATORS[name](*results)
        if name == "select":
            return z3.If(operands[0] == 1, operands[1], operands[2])
        read = [-a if before == 1 else a for a in operands]      # signed: the bit of an i1 is -1
        raw = [natural(a, before) for a in operands]
        if name == "cmpi":
            return _compared(PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value], read, raw)
        if name in ("index_cast", "extsi", "trunci"):
            return wrapped(read[0], bits)
        if name in ("index_castui", "extui"):
            return wrapped(raw[0], bits)
        exact = _arithmetic(name, read, raw, before, defined)
        return exact if bits == 64 and name in ("addi", "subi", "muli", "shli") else wrapped(exact, bits)


def wrapped(number: Any, bits: int) -> Any:
    """The integer of a width with the lowest bits of a number: signed, and 0 or 1 for one bit."""
    if bits == 1:
        return number % 2
    half = 1 << (bits - 1)
    return z3.If(z3.And(number >= -half, number < half), number, (number + half) % (2 * half) - half)


def natural(number: Any, bits: int) -> Any:
    """The bits of an integer read without a sign."""
    return number if bits == 1 else z3.If(number < 0, number + (1 << bits), number)


def _compared(predicate: str, read: Sequence[Any], raw: Sequence[Any]) -> Any:
    a, b = raw if predicate.startswith("u") else read
    holds = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return z3.If(holds[predicate if predicate in ("eq", "ne") else predicate[1:]], z3.IntVal(1), z3.IntVal(0))


def _arithmetic(name: str, read: Sequence[Any], raw: Sequence[Any], bits: int, defined: list[Any]) -> Any:
    (a, b), (x, y) = read, raw
    if "div" in name or "rem" in name:
        defined.append(b != 0)
        if name in ("divsi", "floordivsi", "ceildivsi"):
            defined.append(z3.Not(z3.And(a == -(1 << bits - 1), b == -1)))
        towards_0 = z3.If((a < 0) == (b < 0), floor_divide(a, b), ceil_divide(a, b))
        quotients = {"floordivsi": floor_divide(a, b), "ceildivsi": ceil_divide(a, b), "divsi": towards_0, "divui": floor_divide(x, y),
                     "ceildivui": ceil_divide(x, y), "remsi": a - towards_0 * b, "remui": x - floor_divide(x, y) * y}
        return quotients[name]
    if name in ("shli", "shrsi", "shrui", "andi"):
        if not z3.is_int_value(y):
            raise NotModelledError(name)
        number = y.as_long()
        if name == "andi":
            if number < 0 or number & (number + 1):
                raise NotModelledError(name)
            return x % (number + 1)
        if number >= bits or number < 0:
            raise NotModelledError(name)
        return a * (1 << number) if name == "shli" else floor_divide(a if name == "shrsi" else x, 1 << number)
    simple = {"addi": lambda: a + b, "subi": lambda: a - b, "muli": lambda: a * b, "minsi": lambda: OPERATORS["min"](a, b),
              "maxsi": lambda: OPERATORS["max"](a, b), "minui": lambda: OPERATORS["min"](x, y), "maxui": lambda: OPERATORS["max"](x, y)}
    if name not in simple:
        raise NotModelledError(name)
    return simple[name]()


def affine(e: ir.AffineExpr, dims: Sequence[Any], symbols: Sequence[Any]) -> Any:
    """An affine expression as a term."""
    e = e.maybe_downcast()
    if isinstance(e, ir.AffineConstantExpr):
        return z3.IntVal(e.value)
    if isinstance(e, ir.AffineDimExpr):
        return dims[e.position]
    if isinstance(e, ir.AffineSymbolExpr):
        return symbols[e.position]
    a, b = (affine(one, dims, symbols) for one in (e.lhs, e.rhs))
    return {ir.AffineAddExpr: OPERATORS["+"], ir.AffineMulExpr: OPERATORS["*"], ir.AffineModExpr: OPERATORS["%"],
            ir.AffineFloorDivExpr: floor_divide, ir.AffineCeilDivExpr: ceil_divide}[type(e)](a, b)
