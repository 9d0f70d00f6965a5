"""Scripts as text."""

from itertools import count
from typing import Any

from ...dialects import Module
from .faces import I, R, T
from .functions import Function
from .source import remember_text

_numbers = count()


def parse(text: str, filename: str | None = None, **names: Any) -> Module:
    """The module that a script's text defines: its ``@I.ir_module`` class, or its last function. ``T``, ``R`` and ``I`` are known in it.

    ``names``: what else is known in it. ScriptError for what is wrong, at its line.
    """
    filename = filename or f"<script {next(_numbers)}>"
    remember_text(filename, text)
    known: dict[str, Any] = {"T": T, "R": R, "I": I, **names, "__name__": "script"}
    exec(compile(text, filename, "exec"), known)
    found = [v for k, v in known.items() if isinstance(v, (Module, Function)) and k not in names]
    if not found:
        raise ValueError(f"{filename} defines neither a module nor a function of a script")
    last = found[-1]
    return last if isinstance(last, Module) else last.module()
