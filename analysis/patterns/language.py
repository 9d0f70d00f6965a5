"""Patterns: values to match, built by functions and methods. ``matcher.py`` matches them."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from legato.analysis.patterns.constraints import Constraint, is_count, of_a_user, of_attributes, of_dtype, of_rank, of_shape
from legato.analysis.patterns.names import check_attributes, check_count, check_op
from legato.core.errors import LegatoError


class Pattern:
    """A pattern of one value. Methods return changed copies; original and copy match separate values."""

    def __init__(self) -> None:
        self.label: str | None = None
        self.constraints: tuple[Constraint, ...] = ()
        self.is_exposed = False
        self.is_shared = False

    def __str__(self) -> str:
        return "a value"

    def __repr__(self) -> str:
        return f"<pattern {self}>"

    def _with(self, **changes: Any) -> Any:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def named(self, label: str) -> Any:
        """Labels the pattern; checks and backends find the matched value by it: ``match["conv"]``."""
        if not isinstance(label, str) or not label:
            raise LegatoError(f"the name of a part of a pattern is a text, by which a match has it, found {label!r}")
        return self._with(label=label)

    def exposed(self) -> Any:
        """Allows the value uses outside of the match: it becomes another result of the group."""
        return self._with(is_exposed=True)

    def shared(self) -> Any:
        """Allows the value uses outside of the match, for which the ops that compute it stay as well: it is cheap enough to be computed
        more than once."""
        return self._with(is_shared=True)

    def where(self, constraint: Constraint) -> Any:
        """Adds a constraint: a function of the value (a Ref) that returns None, or the reason why it does not hold."""
        return self._requires(of_a_user(constraint))

    def has_attr(self, **wanted: Any) -> Any:
        """Requires attributes, defaults included, with these values; a callable is a predicate on the value. LegatoError for one that the
        op does not have."""
        check_attributes(self.ops(), wanted)
        return self._requires(of_attributes(wanted))

    def has_dtype(self, *dtypes: Any) -> Any:
        """Requires one of these element types (``"f32"``, numpy's)."""
        return self._requires(of_dtype(dtypes))

    def has_shape(self, *sizes: Any) -> Any:
        """Requires these sizes: ints, symbols' names, or None for any."""
        return self._requires(of_shape(sizes))

    def has_rank(self, *ranks: int) -> Any:
        """Requires one of these ranks."""
        return self._requires(of_rank(ranks))

    def _requires(self, constraint: Constraint) -> Any:
        return self._with(constraints=(*self.constraints, constraint))

    def __or__(self, other: Pattern) -> Alternatives:
        return Alternatives((self, other))

    def optional(self, epilogue: Callable[[Pattern], Pattern]) -> Alternatives:
        """Matches ``epilogue(self)`` if possible, else the pattern itself."""
        return Alternatives((_built_on(self, epilogue, "optional"), self))

    def repeated(self, step: Callable[[Pattern], Pattern], at_least: int = 0, at_most: int = 64) -> Repeated:
        """The pattern followed by as many applications of ``step`` as possible. ``step`` is called anew for each link."""
        if not (is_count(at_least) and is_count(at_most) and at_least <= at_most):
            raise LegatoError(f"repeated takes at least and at most so many steps, 0 <= at_least <= at_most, found at_least={at_least!r}, "
                              f"at_most={at_most!r}")
        _built_on(self, step, "repeated")
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
        if self.operands is not None:
            raise LegatoError(f"the pattern {self} has operands already: {', '.join(map(str, self.operands)) or 'none'}")
        if len(operands) == 1 and isinstance(operands[0], EachOperand):
            return self._with(operands=operands)
        for operand in operands:
            part_of(operand, f"an operand of the pattern {self}")
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
        self.choices = tuple(part_of(choice, "an alternative") for choice in choices)

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
        if not callable(make):
            raise LegatoError(f"each_operand takes a function that makes the pattern of an operand, each_operand(wildcard); found {make!r}")
        part_of(make(), f"what the function {getattr(make, '__name__', make)} of each_operand makes")
        self.make = make

    def __str__(self) -> str:
        return f"any number of operands that are {self.make()}"

    def _with(self, **changes: Any) -> Any:
        raise LegatoError("each_operand(make) is no value: names and requirements belong to the pattern that make() returns")

    def parts(self) -> Sequence[Pattern]:
        return (self.make(),)


class Outputs(Pattern):
    """Several results of one group, each with its pattern, connected by shared values."""

    def __init__(self, patterns: tuple[Pattern, ...]):
        super().__init__()
        self.patterns = tuple(part_of(pattern, "an output") for pattern in patterns)
        for number, pattern in enumerate(patterns[1:], 1):
            if not set(all_parts(pattern)) & {part for one in patterns[:number] for part in all_parts(one)}:
                raise LegatoError(f"the output {number} ({pattern}) shares no part with those before it: use one pattern object, such as "
                                  "x = wildcard(), in both")

    def parts(self) -> Sequence[Pattern]:
        return self.patterns

    def roots(self) -> set[str] | None:
        return self.patterns[0].roots()

    def __str__(self) -> str:
        return " and ".join(map(str, self.patterns))

    def _with(self, **changes: Any) -> Any:
        raise LegatoError("outputs(...) is no value: names and requirements belong to its patterns")


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
        if not isinstance(name, str):
            raise LegatoError(f"is_op takes names of ops, is_op('relax.add', 'relax.multiply'), found {name!r}")
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


def all_parts(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all that it consists of, each once."""
    seen, left = set[Pattern](), [pattern]
    while left:
        if (one := left.pop()) not in seen:
            seen.add(one)
            yield one
            left += one.parts()


def part_of(given: Any, what: str) -> Pattern:
    """A pattern that may be a part of another one. LegatoError for anything else."""
    if not isinstance(given, Pattern):
        raise LegatoError(f"{what} must be a pattern (of is_op, wildcard, is_const, ...), found {given!r}")
    if isinstance(given, Outputs):
        raise LegatoError(f"{what} is one value, and outputs(...) are several: they are the whole pattern of a composite")
    if isinstance(given, EachOperand):
        raise LegatoError(f"{what} is one value: each_operand(make) stands alone in the operands of an op, is_op(...)(each_operand(make))")
    return given


def _built_on(base: Pattern, make: Callable[[Pattern], Pattern], method: str) -> Pattern:
    """``make(base)``. LegatoError if that is no pattern that has ``base`` as a part."""
    if not callable(make):
        raise LegatoError(f"{method} takes a function that makes a pattern of a pattern, {method}(lambda x: is_op('relax.relu')(x)); found "
                          f"{make!r}")
    made = part_of(make(base), f"what the function given to {method} returns")
    if made is base or not any(part is base for part in all_parts(made)):
        raise LegatoError(f"the pattern that the function given to {method} returns ({made}) must be made of the one that it is given "
                          f"({base}): {method}(lambda x: is_op('relax.relu')(x))")
    return made
