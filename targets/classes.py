"""The classes (of passes, of dialects) that a user's target or backend names."""
from collections.abc import Callable
from typing import Any

from legato.core.errors import LegatoError


def check_classes(given: Any, what: str, example: str, fits: Callable[[type], bool]) -> None:
    """LegatoError unless ``given`` is a list or tuple of classes that ``fits`` accepts. ``what``: whose, and which."""
    if not isinstance(given, list | tuple):
        raise LegatoError(f"{what} are a tuple of classes, such as {example}; found {given!r}")
    for one in given:
        if not isinstance(one, type):
            raise LegatoError(f"{what} are classes, such as {example}, and no values of them; found {one!r}")
        if not fits(one):
            raise LegatoError(f"{what} are classes such as {example}; {one.__name__} is none of the kind")
