"""Modules from scripts as text: ``legato.script.parse``."""

import __future__

import traceback
from itertools import count
from typing import Any

from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.frontends.script.language.functions import Function
from legato.frontends.script.language.source import ScriptError, remember_text
from legato.frontends.script.namespaces import I, R, T

_numbers = count()


def parse(text: str, filename: str | None = None, **names: Any) -> Module:
    """The module that a script's text defines: its ``@I.ir_module`` class, or its last function. ``T``, ``R`` and ``I`` are known in it.

    ``names``: other names that it may use. ScriptError for what is wrong, at its line.
    """
    if not isinstance(text, str):
        raise LegatoError(f"a script is parsed from a text, not from {type(text).__name__}")
    filename = filename or f"<script {next(_numbers)}>"
    remember_text(filename, text)
    known: dict[str, Any] = {"T": T, "R": R, "I": I, **names, "__name__": "script"}
    try:
        # annotations stay syntax: the parser evaluates them, and points at what is wrong
        exec(compile(text, filename, "exec", flags=__future__.annotations.compiler_flag), known)
    except ScriptError:
        raise
    except SyntaxError as error:
        raise _script_error(filename, text, error.msg, error.lineno or 1, error.offset or 1) from None
    except Exception as error:  # whatever the text does as a Python program
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
        kind = "" if isinstance(error, LegatoError) else f"{type(error).__name__}: "
        raise _script_error(filename, text, f"{kind}{error}", (lines or [1])[-1] or 1, 1) from error
    found = [v for k, v in known.items() if isinstance(v, (Module, Function)) and k not in names]
    if not found:
        raise LegatoError(f"{filename} defines neither a module (a class under @I.ir_module) nor a function (under @T.prim_func or "
                          "@R.function)")
    last = found[-1]
    return last if isinstance(last, Module) else last.module()


def _script_error(filename: str, text: str, message: str, line: int, column: int) -> ScriptError:
    lines = text.splitlines()
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    return ScriptError(message, filename, line, max(column, len(shown) - len(shown.lstrip()) + 1), shown)
