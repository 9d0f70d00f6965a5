"""Patterns: values to match, built by functions and methods. ``matcher.py`` matches them."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from legato.analysis.patterns.graph import Ref
from legato.analysis.patterns.names import check_count, check_op
from legato.core.dtypes import as_dtype
from legato.core.errors import LegatoError
from legato.dialects.relax.dims import parse

Constraint = Callable[[Ref], "str | None"]  # returns None, or the reason why it does not hold


class Pattern:
    """A pattern of one value. Methods return changed copies; original and copy match separate values."""

    def __init__(self) -> None:
        self.label: str | None = None
        self.constraints: tuple[Constraint, ...] = ()
        self.is_exposed = False

    def _with(self, **changes: Any) -> Any:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def named(self, label: str) -> Any:
        """Labels the pattern; checks and backends find the matched value by it: ``match["conv"]``."""
        return self._with(label=label)

    def exposed(self) -> Any:
        """Allows the value uses outside of the match: it becomes another result of the group."""
        return self._with(is_exposed=True)

    def where(self, constraint: Constraint) -> Any:
        """Adds a constraint: a function of the value (a Ref) that returns None, or the reason why it does not hold."""
        return self._with(constraints=(*self.constraints, constraint))

    def has_attr(self, **wanted: Any) -> Any:
        """Requires attributes, defaults included, with these values; a callable is a predicate on the value."""
        return self.where(lambda ref: _attributes(ref, wanted))

    def has_dtype(self, *dtypes: Any) -> Any:
        """Requires one of these element types (``"f32"``, numpy's)."""
        accepted = [as_dtype(d) for d in dtypes]
        return self.where(lambda ref: None if ref.type is not None and ref.type.dtype in accepted else
                          f"its elements are {ref.type and ref.type.dtype}, expected {' or '.join(str(d) for d in accepted)}")

    def has_shape(self, *sizes: Any) -> Any:
        """Requires these sizes: ints, symbols' names, or None for any."""
        wanted = [parse(s) if isinstance(s, str) else s for s in sizes]

        def fits(ref: Ref) -> str | None:
            found = ref.type.dims if ref.type is not None else ()
            same = len(found) == len(wanted) and all(w is None or w == f for w, f in zip(wanted, found))
            return None if same else f"its shape is {_shown(found)}, expected {_shown(wanted)}"

        return self.where(fits)

    def has_rank(self, *ranks: int) -> Any:
        """Requires one of these ranks."""
        return self.where(lambda ref: None if ref.type is not None and ref.type.rank in ranks else
                          f"its rank is {ref.type and ref.type.rank}, expected {' or '.join(map(str, ranks))}")

    def __or__(self, other: Pattern) -> Alternatives:
        return Alternatives((self, other))

    def optional(self, epilogue: Callable[[Pattern], Pattern]) -> Alternatives:
        """Matches ``epilogue(self)`` if possible, else the pattern itself."""
        return Alternatives((epilogue(self), self))

    def repeated(self, step: Callable[[Pattern], Pattern], at_least: int = 0, at_most: int = 64) -> Repeated:
        """The pattern followed by as many applications of ``step`` as possible. ``step`` is called anew for each link."""
        return Repeated(self, step, at_least, at_most)

    def parts(self) -> Sequence[Pattern]:
        """The patterns that this one directly consists of."""
        return ()

    def ops(self) -> Sequence[str]:
        """The names of ops that this pattern itself, without its parts, matches."""
        return ()

    def roots(self) -> set[str] | None:
        """The names of ops that can define the value; None where any value can match."""
        return None


class Wildcard(Pattern):
    """Any value."""

    def __str__(self) -> str:
        return "anything"


class ConstantPattern(Pattern):
    """A constant."""

    def __str__(self) -> str:
        return "a constant"

    def roots(self) -> set[str]:
        return {"relax.constant"}


class OpPattern(Pattern):
    """The result of an op with one of these names. ``operands``: their patterns; None: any operands."""

    def __init__(self, names: tuple[str, ...], operands: tuple[Pattern, ...] | None = None):
        super().__init__()
        self.names, self.operands = names, operands

    def __call__(self, *operands: Pattern) -> OpPattern:
        for operand in operands:
            if not isinstance(operand, Pattern):
                raise LegatoError(f"an operand of the pattern {self} must be a pattern, found {operand!r}")
        if not any(isinstance(operand, EachOperand) for operand in operands):
            check_count(self.names, len(operands))
        return self._with(operands=operands)

    def parts(self) -> Sequence[Pattern]:
        return self.operands or ()

    def ops(self) -> Sequence[str]:
        return self.names

    def roots(self) -> set[str]:
        return set(self.names)

    def __str__(self) -> str:
        return " or ".join(self.names)


class Alternatives(Pattern):
    """The first of several patterns that matches."""

    def __init__(self, choices: tuple[Pattern, ...]):
        super().__init__()
        self.choices = choices

    def __or__(self, other: Pattern) -> Alternatives:
        plain = self.label is None and not self.constraints and not self.is_exposed
        return Alternatives((*self.choices, other) if plain else (self, other))

    def parts(self) -> Sequence[Pattern]:
        return self.choices

    def roots(self) -> set[str] | None:
        found = [choice.roots() for choice in self.choices]
        known = [names for names in found if names is not None]
        return set().union(*known) if len(known) == len(found) else None

    def __str__(self) -> str:
        return " or ".join(dict.fromkeys(map(str, self.choices)))


class Repeated(Pattern):
    """A chain of steps. Each link is a separate pattern, made on demand."""

    def __init__(self, base: Pattern, step: Callable[[Pattern], Pattern], at_least: int, at_most: int):
        super().__init__()
        self.base, self.step, self.at_least, self.at_most = base, step, at_least, at_most

    def choices(self) -> list[Pattern]:
        """The patterns to try: the chain with one more link first, then the base if the chain may end here."""
        links: list[Pattern] = []
        if self.at_most > 0:
            links.append(self.step(Repeated(self.base, self.step, self.at_least - 1, self.at_most - 1)))
        return links + ([self.base] if self.at_least <= 0 else [])

    def parts(self) -> Sequence[Pattern]:
        return (self.base, self.step(self.base))

    def roots(self) -> set[str] | None:
        found = [part.roots() for part in self.parts()]
        known = [names for names in found if names is not None]
        return set().union(*known) if len(known) == len(found) else None

    def __str__(self) -> str:
        return str(self.step(self.base))


class EachOperand(Pattern):
    """All operands of an op with any number of them: each must match a fresh ``make()``."""

    def __init__(self, make: Callable[[], Pattern]):
        super().__init__()
        self.make = make

    def parts(self) -> Sequence[Pattern]:
        return (self.make(),)


class Outputs(Pattern):
    """Several results of one group, each with its pattern, connected by shared values."""

    def __init__(self, patterns: tuple[Pattern, ...]):
        super().__init__()
        self.patterns = patterns

    def parts(self) -> Sequence[Pattern]:
        return self.patterns

    def roots(self) -> set[str] | None:
        return self.patterns[0].roots()

    def __str__(self) -> str:
        return " and ".join(map(str, self.patterns))


def wildcard() -> Pattern:
    """Any value: the result of an op outside of the match, an argument, a constant."""
    return Wildcard()


def is_const() -> Pattern:
    """A constant, which becomes part of the group."""
    return ConstantPattern()


def is_op(*names: str) -> OpPattern:
    """An op with one of these full names (``"relax.conv2d"``); call it with the patterns of its operands.

    The operands of a commutative op are tried in both orders. LegatoError for a name without a dialect, and for an op that relax lacks.
    """
    for name in names:
        if "." not in name:
            raise LegatoError(f"is_op takes full names of ops: 'relax.{name}' rather than '{name}'")
        if name.startswith("relax."):
            check_op(name, "is_op")
    if not names:
        raise LegatoError("is_op needs the name of an op")
    return OpPattern(names)


def each_operand(make: Callable[[], Pattern]) -> EachOperand:
    """The only operand pattern of an op with any number of operands: ``is_op("tensor.concat")(each_operand(wildcard))``."""
    return EachOperand(make)


def outputs(*patterns: Pattern) -> Outputs:
    """One group with several results. The first pattern is matched first; each other one must share a value with those before it."""
    if len(patterns) < 2:
        raise LegatoError("outputs(...) ties two patterns or more together")
    return Outputs(patterns)


def _attributes(ref: Ref, wanted: dict[str, Any]) -> str | None:
    if ref.node is None:
        return "it is an argument, which has no attributes"
    attributes = ref.node.attrs
    for name, value in wanted.items():
        if name not in attributes:
            return f"it has no attribute '{name}' (it has: {', '.join(attributes) or 'none'})"
        found = attributes[name]
        if not (value(found) if callable(value) else found == value):
            return f"its attribute '{name}' is {found}" + ("" if callable(value) else f", expected {value}")
    return None


def _shown(sizes: Sequence[Any]) -> str:
    return f"[{', '.join('any' if s is None else str(s) for s in sizes)}]"
