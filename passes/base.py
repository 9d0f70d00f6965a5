"""What a pass is: a frozen dataclass that changes a module in place; its fields are its options.

    @dataclass(frozen=True)
    class FoldConstants(ModulePass):
        \"\"\"Evaluate ops whose operands are all constants.\"\"\"

        name = "relax-fold-constants"
        max_bytes: int = option(1 << 20, "leave results larger than this alone")

        def run(self, module: Module, context: PassContext) -> None: ...
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..dialects.errors import LegatoError
from ..dialects.locations import describe, model_name
from ..mlir import ir
from .diagnostics import Diagnostic, position_of
from .options import Option, OptionError, TargetText, option, options_of, parse_options, print_options

if TYPE_CHECKING:
    from ..dialects.module import Module

__all__ = ["ModulePass", "Option", "OptionError", "PassContext", "PassFailed", "TargetText", "option", "options_of"]

PASS_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class PassFailed(LegatoError):
    """A pass gave up. `where` is the op or the location it is about, or None.

    The pipeline fills in `pass_name`, `scope` (the external module, if the pass ran on one) and `reproducer` (the path of a file that
    legato-opt takes). `diagnostics` are the same as values; MLIR's own, where the pass is upstream's.
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
        """The diagnostics to show: the first says which pass failed, and on what."""
        first, *others = self.diagnostics or (Diagnostic("error", self.message),)
        return (replace(first, message=f"{self._who()}: {self.message}"), *others)

    def _who(self) -> str:
        parts = [f"{self.pass_name} failed" if self.pass_name else "failed",
                 f"in the external module {self.scope}" if self.scope else "",
                 f"on {self.subject}" if self.subject else ""]
        return " ".join(filter(None, parts))


@dataclass
class PassContext:
    """What a run of passes shares.

    `resolve_target` makes a target of its text, `resolve_backend` a backend of its name (passes know neither, tools do). `report` is filled
    by passes, for explain; `times` by the pipeline: (pass name, seconds) in order; `warnings` by both.
    """

    resolve_target: Callable[[str], Any] | None = None
    resolve_backend: Callable[[str], Any] | None = None
    report: dict[str, Any] = field(default_factory=dict)
    times: list[tuple[str, float]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def target(self, text: str) -> Any:
        """The target that `text` names (``"llvm{threads=2}"``). Raises LegatoError for one that is unknown."""
        if self.resolve_target is None:
            raise LegatoError(f'the target "{text}" cannot be looked up here: give the pipeline PassContext(resolve_target=...)')
        return self.resolve_target(text)

    def backend(self, name: str) -> Any:
        """The backend of that name. Raises LegatoError, with those there are, for one that is unknown."""
        if not name:
            raise LegatoError("say which backend: {backend=NAME}")
        if self.resolve_backend is None:
            raise LegatoError(f'the backend "{name}" cannot be looked up here: give the pipeline PassContext(resolve_backend=...)')
        return self.resolve_backend(name)


class ModulePass:
    """Base of all passes. A subclass is a frozen dataclass with a `name` (kebab-case) and `run`.

    A pass sees the host part only: nested modules marked `relax.codegen` are taken out while it runs. A pass whose subject they are
    (outlining, inlining back, calling a backend) says `sees_external = True`.
    """

    name: ClassVar[str]
    sees_external: ClassVar[bool] = False

    def run(self, module: Module, context: PassContext) -> None:
        """Change `module` in place. Raises LegatoError (best PassFailed, with the op) when it cannot."""
        raise NotImplementedError(f"{type(self).__name__} has no run method")

    @classmethod
    def parse(cls, options: str = "") -> ModulePass:
        """The pass with options from text (``max-bytes=4096``). Raises OptionError."""
        return cls(**parse_options(cls, options))

    @classmethod
    def help(cls) -> str:
        """What the pass does: its docstring (not the signature that a dataclass gets in place of one)."""
        doc = cls.__dict__.get("__doc__") or ""
        return "" if doc.startswith(f"{cls.__name__}(") else inspect.cleandoc(doc)

    def __str__(self) -> str:
        options = print_options(self)
        return f"{self.name}{{{options}}}" if options else self.name
