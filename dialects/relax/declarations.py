"""What the class of a graph op declares: LegatoError for what cannot be, where the class is defined."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from legato.core.errors import LegatoError
from legato.core.user_code import source_of

TAKEN = ("loc", "ip")     # parameters of every builder
KINDS = frozenset({"float", "int", "uint", "bool", "narrow"})


def check_members(cls: type, kinds: tuple[type, ...]) -> None:
    """LegatoError, naming the class, for an operand or an attribute (of one of these ``kinds``) that is given as its class, or that has the
    name of a builder's parameter."""
    for name, member in vars(cls).items():
        if isinstance(member, type) and issubclass(member, kinds):
            raise LegatoError(f"{cls.__name__}: '{name}' is the class {member.__name__}: write {name} = {member.__name__}(...)")
        if isinstance(member, kinds) and name in TAKEN:
            raise LegatoError(f"{cls.__name__}: an operand or attribute cannot be called '{name}': builders have a parameter of that name")


def check_kinds(kinds: Any) -> None:
    """LegatoError unless these are kinds of elements."""
    if not isinstance(kinds, set | frozenset) or not kinds or not kinds <= KINDS:
        raise LegatoError(f"the kinds of elements that an operand accepts are FLOAT, INTEGER, NUMBER, BOOL, ANY, or unions of them; found "
                          f"{kinds!r}")


def check_returned(value: Any, what: str, function: Callable[..., Any]) -> None:
    """LegatoError, which begins with ``what``, for the None of a function without ``return``."""
    if value is None:
        raise LegatoError(f"{what} ({source_of(function)}) returns None: a return statement is missing")


def check_op(cls: type, name: str, results: Any, known: dict[str, type]) -> None:
    """LegatoError for results that are no tuple of names, and for a second op of the name in its dialect. A class that is defined again (a
    notebook's cell run twice) is no second one."""
    if not isinstance(results, tuple | list) or not results or not all(isinstance(one, str) for one in results):
        raise LegatoError(f"{cls.__name__}: RESULTS are names, such as RESULTS = (\"values\", \"indices\"); found {results!r}")
    before = known.get(name)
    if before is not None and (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
        raise LegatoError(f"two ops of a dialect are named '{name}': {before.__module__}.{before.__qualname__} and "
                          f"{cls.__module__}.{cls.__qualname__}")
