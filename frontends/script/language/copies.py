"""Bounds the copies of statements in a script: each call of a function or macro is one, and each step of a loop over a tuple."""
from legato.frontends.script.language.source import Misuse

MOST_COPIES = 10_000


class Copies:
    """The number of copies made in one graph or kernel."""

    def __init__(self) -> None:
        self._made = 0

    def add(self, what: str) -> None:
        """Counts a copy: ``"this call of 'f'"``. Misuse for one too many."""
        self._made += 1
        if self._made > MOST_COPIES:
            raise Misuse(f"{what} is the {self._made:,}th copy of statements, as each call of a function or macro is one, and each step of "
                         f"a loop over a tuple; {MOST_COPIES:,} are the most")
