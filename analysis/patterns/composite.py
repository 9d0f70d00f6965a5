"""A pattern with a name and a check: one line of what a backend takes."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from legato.analysis.patterns.language import Pattern
from legato.analysis.patterns.match import Match
from legato.core.errors import LegatoError

NAME = re.compile(r"[A-Za-z_]\w*")
Check = Callable[[Match], "bool | str"]


@dataclass(frozen=True)
class Composite:
    """``check(match)``: True, or the reason why the backend does not take this one."""

    name: str
    pattern: Pattern
    check: Check | None = None

    def refusal(self, match: Match) -> str | None:
        """The check's reason against a match; None where it takes it."""
        answer = True if self.check is None else self.check(match)
        if answer is True:
            return None
        if isinstance(answer, str) and answer:
            return answer
        raise LegatoError(f"the check of the pattern '{self.name}' must return True or the reason why not; it returned {answer!r}")


def composite(name: str, pattern: Pattern, check: Check | None = None) -> Composite:
    """A pattern under a name (letters, digits, ``_``), which the functions made of its matches carry."""
    if not NAME.fullmatch(name):
        raise LegatoError(f"'{name}' cannot name a pattern: letters, digits and '_'")
    if not isinstance(pattern, Pattern):
        raise LegatoError(f"the pattern '{name}' must be made of is_op, wildcard, is_const, outputs, ...; found {pattern!r}")
    return Composite(name, pattern, check)


def as_composites(patterns: Iterable[Any], whose: str) -> tuple[Composite, ...]:
    """Composites from composites and from tuples (name, pattern) or (name, pattern, check). LegatoError if two have one name."""
    found: dict[str, Composite] = {}
    for one in patterns:
        made = one if isinstance(one, Composite) else composite(*one)
        if made.name in found:
            raise LegatoError(f"{whose} has two patterns named '{made.name}'")
        found[made.name] = made
    return tuple(found.values())
