"""Names the user's code that Legato calls (rules, code generation, ops, passes) in the errors about what it raised."""
from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError

OWN = f"{Path(__file__).parents[1]}{os.sep}"
INSTALLED = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def source_of(function: Callable[..., Any]) -> str:
    """Where a function is defined: folder/file.py:line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return type(function).__name__ if code is None else _short(code.co_filename, code.co_firstlineno)


def _short(filename: str, line: int | None) -> str:
    path = Path(filename)
    return f"{path.parent.name}/{path.name}:{line}" if path.parent.name else f"{path.name}:{line}"


def raised_in(error: BaseException, function: Callable[..., Any] | None = None) -> str | None:
    """The innermost place in the user's code that Legato had called when ``error`` was raised: ``folder/file.py:line in function``.

    None if only Legato, Python's library and installed packages were running. ``function``: what Legato called; the code in its folder is
    the user's also where it is installed.
    """
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    home = os.path.dirname(code.co_filename) if code is not None and not code.co_filename.startswith(OWN) else None
    found, called = None, False
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(OWN):
            called = True
        elif called and (os.path.dirname(frame.filename) == home or not frame.filename.startswith((*INSTALLED, "<frozen"))):
            found = f"{_short(frame.filename, frame.lineno)} in {frame.name}"
    return found


def warn_of(texts: Iterable[str]) -> None:
    """Warns of each of these once, at the line outside of Legato that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(text, stacklevel=level)


def asked(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """What a user's function, which ``what`` describes, returns. LegatoError, naming it, for what it raises."""
    try:
        return function(*arguments)
    except LegatoError:
        raise
    except Exception as error:
        raise blamed(error, what, function) from error


def blamed(error: Exception, what: str, function: Callable[..., Any]) -> LegatoError:
    """A LegatoError for an exception that is none, raised in the user's ``function``, which ``what`` describes."""
    place = raised_in(error, function)
    return LegatoError(f"{what} ({source_of(function)}) raised {type(error).__name__}: {error}{f' (at {place})' if place else ''}")


def prefixed(error: LegatoError, who: str) -> LegatoError:
    """``error`` with ``who`` before its text, unless it stands there, or in a note where its class takes more than a text."""
    if str(error).startswith(who):
        return error
    if type(error).__init__ is LegatoError.__init__:
        made = type(error)(f"{who}: {error}")
        made.__dict__.update(error.__dict__)
        return made
    error.add_note(f"in {who}")
    return error
