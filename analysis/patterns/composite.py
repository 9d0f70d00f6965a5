"""A pattern with a name and a check: one entry of a backend's list."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from legato.analysis.patterns.language import Pattern
from legato.analysis.patterns.match import Match
from legato.analysis.patterns.names import check_ops
from legato.core.errors import LegatoError
from legato.core.user_code import blamed, prefixed, source_of

NAME = re.compile(r"[A-Za-z_]\w*")
Check = Callable[[Match], "bool | str"]


@dataclass(frozen=True)
class Composite:
    """A named pattern. ``check(match)`` returns True, or the reason why the backend does not support the match."""

    name: str
    pattern: Pattern
    check: Check | None = None

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
        if answer is True:
            return None
        if isinstance(answer, str) and answer:
            return answer
        raise LegatoError(f"the check of the pattern '{self.name}' must return True or the reason why not; it returned {answer!r}")


def composite(name: str, pattern: Pattern, check: Check | None = None) -> Composite:
    """A pattern with a name (letters, digits, ``_``), which functions outlined from its matches carry, and a check."""
    if not NAME.fullmatch(name):
        raise LegatoError(f"'{name}' cannot name a pattern: letters, digits and '_'")
    if not isinstance(pattern, Pattern):
        raise LegatoError(f"the pattern '{name}' must be made of is_op, wildcard, is_const, outputs, ...; found {pattern!r}")
    if check is not None and not callable(check):
        raise LegatoError(f"the check of the pattern '{name}' is a function of the match; found {check!r}")
    return Composite(name, pattern, check)


def as_composites(patterns: Iterable[Any], whose: str) -> tuple[Composite, ...]:
    """Composites from composites and from tuples (name, pattern) or (name, pattern, check). LegatoError if two have the same name."""
    found: dict[str, Composite] = {}
    for one in patterns:
        made = one if isinstance(one, Composite) else composite(*one)
        check_ops(made.pattern, f"{whose}: the pattern '{made.name}'")
        if made.name in found:
            raise LegatoError(f"{whose} has two patterns named '{made.name}'")
        found[made.name] = made
    return tuple(found.values())
