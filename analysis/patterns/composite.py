"""A pattern with a name and a check: one entry of a backend's list."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.analysis.patterns.language import Alternatives, OpPattern, Outputs, Pattern, Repeated, all_parts
from legato.analysis.patterns.match import Match
from legato.analysis.patterns.names import check_ops
from legato.core.errors import LegatoError
from legato.core.user_code import blamed, prefixed, source_of

NAME = re.compile(r"[A-Za-z_]\w*")
Check = Callable[[Match], "bool | str"]


@dataclass(frozen=True)
class Composite:
    """A named pattern. ``check(match)`` returns True, or the reason why the backend does not support the match. LegatoError for a name
    that is no identifier, and for a pattern that cannot match an op."""

    name: str
    pattern: Pattern
    check: Check | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise LegatoError(f"{self.name!r} cannot name a pattern: letters, digits and '_'")
        if not isinstance(self.pattern, Pattern):
            raise LegatoError(f"the pattern '{self.name}' must be made of is_op, wildcard, is_const, outputs, ...; found {self.pattern!r}")
        if not ends_in_op(self.pattern):
            raise LegatoError(f"the pattern '{self.name}' has no op that defines its value, so that it matches nothing: it must end in an "
                              "is_op(...)")
        if self.check is not None and not callable(self.check):
            raise LegatoError(f"the check of the pattern '{self.name}' is a function of the match; found {self.check!r}")
        check_labels(self.pattern, f"the pattern '{self.name}'")

    def refusal(self, match: Match) -> str | None:
        """The check's reason against a match, or None. LegatoError if the check returns anything else."""
        if self.check is None:
            return None
        try:
            answer = self.check(match)
        except LegatoError as error:
            raise prefixed(error, f"the check of the pattern '{self.name}' ({source_of(self.check)})") from error
        except Exception as error:
            raise blamed(error, f"the check of the pattern '{self.name}'", self.check) from error
        if isinstance(answer, bool | np.bool_) and answer:
            return None
        if isinstance(answer, str) and answer:
            return answer
        raise LegatoError(f"the check of the pattern '{self.name}' must return True or the reason why not; it returned {answer!r}")


def composite(name: str, pattern: Pattern, check: Check | None = None) -> Composite:
    """A pattern with a name (letters, digits, ``_``), which functions outlined from its matches carry, and a check."""
    return Composite(name, pattern, check)


def ends_in_op(pattern: Pattern) -> bool:
    """Whether an op of the pattern can define its value."""
    if isinstance(pattern, Alternatives):
        return any(map(ends_in_op, pattern.choices))
    if isinstance(pattern, Outputs):
        return all(map(ends_in_op, pattern.patterns))
    return isinstance(pattern, OpPattern | Repeated)


def check_labels(pattern: Pattern, whose: str) -> None:
    """LegatoError if two parts that one match has have the same label."""
    known: dict[Pattern, dict[str, set[Pattern]]] = {}   # the parts by their labels

    def labels(one: Pattern) -> dict[str, set[Pattern]]:
        if one in known:
            return known[one]
        found: dict[str, set[Pattern]] = {} if one.label is None else {one.label: {one}}
        for part in one.parts():
            for label, parts in labels(part).items():
                if label in found and not parts & found[label] and not isinstance(one, Alternatives | Repeated):
                    raise LegatoError(f"{whose} has two parts named '{label}': a match has one value of a name")
                found[label] = found.get(label, set()) | parts
        known[one] = found
        return found

    labels(pattern)


def as_composites(patterns: Any, whose: str) -> tuple[Composite, ...]:
    """Composites from composites and from tuples (name, pattern) or (name, pattern, check). LegatoError for anything else, and if two have
    the same name."""
    found: dict[str, Composite] = {}
    if not isinstance(patterns, list | tuple):
        raise LegatoError(f"{whose}: patterns are a list of composite(name, pattern, check), or of such tuples; found {patterns!r}")
    for one in patterns:
        if not isinstance(one, Composite) and not (isinstance(one, tuple | list) and len(one) in (2, 3)):
            raise LegatoError(f"{whose}: its patterns are composite(name, pattern, check), or tuples (name, pattern) and (name, pattern, "
                              f"check); found {one!r}")
        try:
            made = one if isinstance(one, Composite) else composite(*one)
        except LegatoError as error:
            raise prefixed(error, whose) from error
        check_ops(all_parts(made.pattern), f"{whose}: the pattern '{made.name}'")
        if made.name in found:
            raise LegatoError(f"{whose} has two patterns named '{made.name}'")
        found[made.name] = made
    return tuple(found.values())
