"""MLIR's diagnostics and the errors of passes as plain values, which stay valid after the IR is gone."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from legato.core.errors import LegatoError
from legato.core.locations import describe, model_name
from legato.core.mlir import ir

Severity = Literal["error", "warning", "note", "remark"]
# what upstream advises about an op of an unknown dialect is for its own tools
_UPSTREAMS_ADVICE = re.compile(r"If this is intended, please .*?-allow-unregistered-dialect with the MLIR (?:opt )?tool used")
_ADVICE = "Import the Python module that defines the dialect first (--load of the tools), or allow it (--allow-unregistered-dialect)"


@dataclass(frozen=True)
class Position:
    """A place in a text: file name (``-`` for text that was no file), line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message of MLIR or of a pass. ``name``: the model's own name for the op, ``position``: where the op stands in a text;
    either may be None."""

    severity: Severity
    message: str
    position: Position | None = None
    name: str | None = None
    notes: tuple[Diagnostic, ...] = ()

    def with_notes(self) -> Iterator[Diagnostic]:
        """The diagnostic, then its notes, depth first."""
        yield self
        for note in self.notes:
            yield from note.with_notes()

    def __str__(self) -> str:
        where = str(self.position) if self.position else ""
        if self.name is not None:
            where += f' ("{self.name}")' if where else f'"{self.name}"'
        return f"{where}: {self.severity}: {self.message}" if where else f"{self.severity}: {self.message}"


def position_of(location: ir.Location) -> Position | None:
    """The first position in a text that a location carries: looks through names, call sites (callee first) and fused locations."""
    if isinstance(location, ir.FileLineColLoc):
        return Position(location.filename, location.start_line, location.start_col)
    if isinstance(location, ir.NameLoc):
        return position_of(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return position_of(location.callee) or position_of(location.caller)
    if isinstance(location, ir.FusedLoc):
        return next((position for position in map(position_of, location.locations) if position is not None), None)
    return None


def from_mlir(info: Any) -> Diagnostic:
    """A diagnostic of MLIR (``ir.Diagnostic`` of a handler, ``ir.DiagnosticInfo`` of an ``MLIRError``) as a value."""
    severity = cast(Severity, str(info.severity).rsplit(".", 1)[-1].lower())
    # a diagnostic's location has the base class only: go through its attribute
    location = ir.Location.from_attr(info.location.attr, info.location.context)
    message = _UPSTREAMS_ADVICE.sub(_ADVICE, info.message)
    return Diagnostic(severity, message, position_of(location), model_name(location), tuple(map(from_mlir, info.notes)))


def of_error(error: BaseException) -> list[Diagnostic]:
    """The diagnostics of an error: MLIR's own, those of a PassFailed, or the text of any other error, without a position."""
    cause = error.__cause__
    if cause is not None and isinstance(cause, ir.MLIRError) and not hasattr(error, "diagnostics"):
        return of_error(cause)
    if isinstance(error, ir.MLIRError):
        return [from_mlir(info) for info in error.error_diagnostics] or [Diagnostic("error", error.message)]
    if found := getattr(error, "diagnostics", None):
        return list(found)
    return [Diagnostic("error", str(error))]


def unparsable(error: ir.MLIRError, name: str) -> LegatoError:
    """The error for a text that MLIR cannot parse, with the text's ``name`` in place of MLIR's ``-``."""
    made = LegatoError(_UPSTREAMS_ADVICE.sub(_ADVICE, str(error)).replace('"-":', f'"{name}":'))
    made.__dict__["diagnostics"] = tuple(_renamed(one, name) for one in of_error(error))
    return made


def _renamed(one: Diagnostic, name: str) -> Diagnostic:
    position = replace(one.position, file=name) if one.position is not None and one.position.file == "-" else one.position
    return replace(one, position=position, notes=tuple(_renamed(note, name) for note in one.notes))


class PassFailed(LegatoError):
    """A pass failed. `where` is the op or the location concerned, or None.

    The pipeline fills in `pass_name`, `scope` (the external module, if the pass ran on one) and `reproducer` (the path of a file that
    legato-opt accepts). `diagnostics` says the same as values; for an upstream pass they are MLIR's own.
    """

    def __init__(self, message: str, where: ir.Operation | ir.OpView | ir.Location | None = None, diagnostics: tuple[Diagnostic, ...] = ()):
        super().__init__(message)
        self.message = message
        self.pass_name: str | None = None
        self.scope: str | None = None
        self.reproducer: str | None = None
        self.subject = ""
        if where is not None and not diagnostics:
            location = where if isinstance(where, ir.Location) else where.location
            self.subject = f"location {location}" if where is location else describe(where)
            diagnostics = (Diagnostic("error", message, position_of(location), model_name(location)),)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        where = self.diagnostics[0].position if self.diagnostics else None
        return f"{self._who()}{f' at {where}' if where else ''}: {self.message}"

    def headline(self) -> tuple[Diagnostic, ...]:
        """The diagnostics to show. The first one's message names the pass and the op."""
        first, *others = self.diagnostics or (Diagnostic("error", self.message),)
        return (replace(first, message=f"{self._who()}: {self.message}"), *others)

    def _who(self) -> str:
        parts = [f"{self.pass_name} failed" if self.pass_name else "failed",
                 f"in the external module {self.scope}" if self.scope else "",
                 f"on {self.subject}" if self.subject else ""]
        return " ".join(filter(None, parts))
