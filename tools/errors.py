"""Error reports of the tools: file, line and an excerpt, like a compiler's; a traceback only with ``--debug``.

Importing this loads no MLIR, so that ``--help`` is fast.
"""
from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from legato.tools.console import console, logged

if TYPE_CHECKING:
    from legato.core.diagnostics import Diagnostic, Position

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
DEBUG_VARIABLE = "LEGATO_DEBUG"


class UsageError(Exception):
    """The command line is invalid. Reported with a hint to ``--help``; the exit code is 2."""


@contextmanager
def command_line() -> Iterator[None]:
    """Context for what looks up the names on the command line (passes, targets, stages, backends): a LegatoError in it is a UsageError."""
    from legato.core.errors import LegatoError

    try:
        yield
    except LegatoError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True)
class SourceText:
    """The text that positions refer to, and its name for the user (a path, or ``<stdin>``)."""

    name: str
    text: str = ""

    def place(self, position: Position) -> str:
        """``x.mlir:3:8``. MLIR calls text that was not read from a file ``-``."""
        return f"{self.name if position.file == '-' else position.file}:{position.line}:{position.column}"

    def excerpt(self, position: Position) -> str:
        """The line with a caret under the column; empty if the position is in another text."""
        lines = self.text.splitlines()
        if position.file not in ("-", self.name) or not 0 < position.line <= len(lines):
            return ""
        line = lines[position.line - 1].replace("\t", " ")
        return f"{line}\n{' ' * (position.column - 1)}^" if line.strip() else ""


def show_diagnostic(diagnostic: Diagnostic, source: SourceText | None = None) -> str:
    """A diagnostic with its notes, formatted like mlir-opt's; the model's name for the op precedes the message."""
    lines, shown = [], None
    for one in diagnostic.with_notes():
        where = source.place(one.position) if source and one.position else str(one.position or "")
        name = f'"{one.name}": ' if one.name is not None and f'"{one.name}"' not in one.message else ""
        lines.append(f"{f'{where}: ' if where else ''}{one.severity}: {name}{one.message}")
        if source and one.position and one.position != shown and (excerpt := source.excerpt(one.position)):
            lines.append(excerpt)
        shown = one.position
    return "\n".join(lines)


def show_error(error: BaseException, source: SourceText | None = None) -> str:
    """An error as the tools print it, with its notes and the reproducer."""
    pass_failed = getattr(error, "headline", None)
    if pass_failed is not None:
        text = "\n".join(show_diagnostic(one, source) for one in pass_failed())
    elif diagnostics := _mlir_diagnostics(error):
        text = "\n".join(show_diagnostic(one, source) for one in diagnostics)
    else:
        text = f"error: {_message(error)}"
    notes = list(getattr(error, "__notes__", ()))
    if reproducer := getattr(error, "reproducer", None):
        notes.append(f"the IR before the failing pass is in {reproducer}; run it again: legato-opt {reproducer} --run-reproducer")
    return "\n".join([text, *(f"note: {note}" for note in notes)])


@dataclass
class Outcome:
    """The exit code of a tool."""

    code: int = 0


@contextmanager
def reported(tool: str, debug: bool = False, verbosity: int = 0) -> Iterator[Outcome]:
    """Context for a tool's body: errors and warnings are printed on standard error, and errors set the exit code; the body may set it,
    too.

    `debug` (or LEGATO_DEBUG=1) shows tracebacks. `verbosity`: of the loggers ``legato.*``, see ``logged``.
    """
    outcome = Outcome()
    shown, warnings.showwarning = warnings.showwarning, lambda message, *_: console.say(f"{tool}: warning: {message}")
    try:
        with logged(verbosity):
            yield outcome
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # the reader has closed the pipe (`| head`): avoid an error when flushing at exit
    except KeyboardInterrupt:
        console.show("")
        console.say(f"{tool}: interrupted")
        outcome.code = INTERRUPTED
    except Exception as error:
        console.show("")
        show_traceback(error, debug)
        console.say(_failure(tool, error))
        outcome.code = USAGE if isinstance(error, UsageError) else FAILURE
    finally:
        warnings.showwarning = shown


def show_traceback(error: Exception, debug: bool) -> None:
    """Prints an error's traceback if `debug`, or LEGATO_DEBUG=1, asks for it."""
    if debug or os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        traceback.print_exception(error)


def _failure(tool: str, error: Exception) -> str:
    from legato.core.errors import LegatoError

    if isinstance(error, UsageError):
        return f"{tool}: error: {error}\n{tool} --help shows what there is"
    if isinstance(error, LegatoError | OSError) or _mlir_diagnostics(error):
        return f"{tool}: {show_error(error)}{_reproducer_hint(tool, error)}"
    from legato.core.user_code import raised_in

    hint = f"note: --debug (or {DEBUG_VARIABLE}=1) shows the traceback"
    if place := raised_in(error):
        return f"{tool}: error: {show_error(error).removeprefix('error: ')}\nnote: raised by {place}\n{hint}"
    return (f"{tool}: internal error, a bug in legato or in a pass: {show_error(error).removeprefix('error: ')}\n"
            f"note: --debug (or {DEBUG_VARIABLE}=1) shows where")


def _reproducer_hint(tool: str, error: Exception) -> str:
    """How to get a reproducer from the tools that write one only when asked to, since it costs a copy of the IR before each pass."""
    from legato.core.diagnostics import PassFailed

    wanted = tool in ("legato-compile", "legato-run") and isinstance(error, PassFailed) and getattr(error, "reproducer", None) is None
    return "\nnote: --reproducer=FILE writes the IR before the pass to a file that reproduces this" if wanted else ""


def _message(error: BaseException) -> str:
    from legato.core.errors import LegatoError

    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, LegatoError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _mlir_diagnostics(error: BaseException) -> list[Diagnostic]:
    """MLIR's diagnostics of an error that is, or was raised from, an MLIRError; else none."""
    if "MLIRError" not in (type(error).__name__, type(error.__cause__).__name__) or not isinstance(error, Exception):
        return []
    from legato.core.diagnostics import of_error

    return of_error(error)
