"""What the tools print on standard error: messages, in colour on terminals, and one line of progress that messages do not run into."""
from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

HEADLINE = re.compile(r"^(?P<where>.*?)\b(?P<kind>error|warning|note|remark): ", re.MULTILINE)
STYLES = {"error": "1;31", "warning": "1;35", "note": "1;36", "remark": "1;34"}
ADDED, REMOVED, PLACE = "32", "31", "36"   # of a diff, as git colours it
CLEAR = "\r\x1b[K"


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def takes_colour(stream: TextIO) -> bool:
    """Whether to write in colour to a stream: to terminals, unless NO_COLOR is set (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def styled(text: str, style: str) -> str:
    """The text in a style of ECMA-48: ``"1;31"`` is bold red."""
    return f"\x1b[{style}m{text}\x1b[0m"


@dataclass
class Console:
    """Standard error. ``live``: the line of progress that stands on the terminal now, which the next message replaces and restores."""

    live: str = ""

    def say(self, text: str) -> None:
        """Prints a message. On terminals the words "error:", "warning:", "note:" and "remark:" are coloured."""
        stream = sys.stderr
        if takes_colour(stream):
            text = HEADLINE.sub(lambda m: f"{m['where']}{styled(m['kind'] + ':', STYLES[m['kind']])} ", text)
        stream.write(f"{CLEAR if self.live else ''}{text}\n{self.live}")
        stream.flush()

    def show(self, line: str) -> None:
        """Shows a line of progress in the place of the one before, or removes it (``""``). Only for terminals."""
        if line or self.live:
            self.live = line[:shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"{CLEAR}{self.live}")
            sys.stderr.flush()


console = Console()


class _ConsoleHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        console.say(self.format(record))


@contextmanager
def logged(verbosity: int) -> Iterator[None]:
    """Context in which Legato's loggers write to standard error: with 1 what is done, with 2 each pass as well; with 0 nothing."""
    if not verbosity:
        yield
        return
    logger, handler = logging.getLogger("legato"), _ConsoleHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    before, logger.propagate = (logger.level, logger.propagate), False
    logger.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        level, logger.propagate = before
        logger.setLevel(level)
