"""Bounds the copies of functions and macros in a script: each call is one."""
from legato.frontends.script.language.source import Misuse

MOST_COPIES = 10_000


class Copies:
    """The number of copies made in one graph or kernel."""

    def __init__(self) -> None:
        self._made = 0

    def add(self, name: str) -> None:
        """Counts a copy of the function or macro ``name``. Misuse for one too many."""
        self._made += 1
        if self._made > MOST_COPIES:
            raise Misuse(f"this call of '{name}' is the {self._made:,}th copy of a function or macro, as each call is one; {MOST_COPIES:,} "
                         "are the most")
