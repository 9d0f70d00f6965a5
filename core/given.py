"""Checks of plain arguments that users give: paths, texts, whole numbers, functions."""
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError


def path_of(given: Any, what: str) -> Path:
    """The path that is given as ``what``. LegatoError for a value that is none."""
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise LegatoError(f"{what} is a path, a text or a pathlib.Path, not {_shown(given)}")
    return Path(given)


def check_text(given: Any, what: str) -> None:
    """LegatoError for what is neither a text nor None."""
    if given is not None and not isinstance(given, str):
        raise LegatoError(f"{what} is a text, not {_shown(given)}")


def check_whole(given: Any, what: str) -> None:
    """LegatoError for what is no whole number; integers of numpy are numbers, too."""
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise LegatoError(f"{what} is a whole number, not {_shown(given)}")


def check_function(given: Callable[..., Any] | None, what: str) -> None:
    """LegatoError for what is neither None nor something to call; ``what`` says with which arguments."""
    if given is not None and not callable(given):
        raise LegatoError(f"{what}; it is {_shown(given)}")


def _shown(given: Any) -> str:
    return "None" if given is None else f"{type(given).__name__}: {given!r}"
