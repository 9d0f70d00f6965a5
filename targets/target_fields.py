"""What the fields of a target are: LegatoError for anything else, where the target is made."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import ext
from legato.targets.classes import check_classes
from legato.targets.rule import Rule

NAME = re.compile(r"[A-Za-z_][\w.-]*")
FUNCTIONS = ("make_machine", "schedule_function", "packing_function", "attention_function", "fuses_attention_function",
             "row_forms_function", "winograd_function", "prepare_function")


def check_fields(target: Any) -> None:
    """LegatoError, naming the target (a ``Target``), for a field that is not what that class says."""
    if not isinstance(target.name, str) or not NAME.fullmatch(target.name):
        shown = f"'{target.name}'" if isinstance(target.name, str) else repr(target.name)
        raise LegatoError(f"{shown} cannot name a target: letters, digits, '_', '-' and '.', beginning with a letter")
    who = f"target '{target.name}'"
    _check_parents(target, who)
    _check_rules(target, who)
    _check_options(target, who)
    for name in FUNCTIONS:
        if (function := getattr(target, name)) is not None and not callable(function):
            raise LegatoError(f"{who}: {name} is a function, found {function!r}")
    if target.runs not in (True, False, None):
        raise LegatoError(f"{who}: runs is True, False, or None for what the parents say; found {target.runs!r}")
    for name in ("engine", "doc"):
        if not isinstance(value := getattr(target, name), str):
            raise LegatoError(f"{who}: {name} is a text, found {value!r}")
    check_classes(target.dialects, f"{who}: dialects", "(MyDialect,)", lambda one: issubclass(one, ext.Dialect))
    check_classes(target.passes, f"{who}: passes", "(MyPass,)", lambda one: callable(getattr(one, "run", None)))


def _check_parents(target: Any, who: str) -> None:
    for parent in target.parents if isinstance(target.parents, tuple | list) else (target.parents,):
        if not isinstance(target.parents, tuple | list) or not (isinstance(parent, str) or type(parent) is type(target)):
            raise LegatoError(f"{who}: parents are a tuple of targets or their names, parents=('llvm',); found {parent!r}")


def _check_rules(target: Any, who: str) -> None:
    if not isinstance(target.rules, tuple | list):
        raise LegatoError(f"{who}: rules are a tuple, rules=(my_softmax,); found {target.rules!r}")
    for rule in target.rules:
        if isinstance(rule, tuple | list) and all(isinstance(one, Rule) for one in rule):
            raise LegatoError(f"{who}: the rules of {', '.join(one.op for one in rule)}, made by one decorator, are a tuple of their own: "
                              f"write rules=(*{rule[0].name if rule else 'them'}, ...)")
        if not isinstance(rule, Rule):
            raise LegatoError(f"{who}: rules are made by the decorators kernel, rewrite and intrinsic; found {rule!r}")


def _check_options(target: Any, who: str) -> None:
    if not isinstance(target.options, Mapping):
        raise LegatoError(f"{who}: options are a dict of their defaults, options={{'tile': 16}}; found {target.options!r}")
    for name, value in target.options.items():
        if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
            raise LegatoError(f"{who}: {name!r} cannot name an option: letters, digits, '_' and '-'")
        if not isinstance(value, str | int | float | None):
            raise LegatoError(f"{who}: the default of the option '{name}' is a text, a number, True, False, or None; found {value!r}")
