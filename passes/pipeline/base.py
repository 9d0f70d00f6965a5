"""The base class of passes: a pass is a frozen dataclass that changes a module in place; its fields are its options.

    @dataclass(frozen=True)
    class FoldConstants(ModulePass):
        '''Evaluate ops whose operands are all constants.'''

        name = "relax-fold-constants"
        max_bytes: int = option(1 << 20, "leave results larger than this alone")

        def run(self, module: Module, context: PassContext) -> None: ...
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from legato.analysis.structured import StructuredKernels
from legato.core.errors import LegatoError
from legato.core.interfaces import BackendLike, CpuMachine, GpuMachine, TargetLike
from legato.passes.pipeline.options import BackendName, Option, OptionError, TargetText, option, options_of, parse_options, print_options
from legato.passes.pipeline.rounding import REORDERED, Rounding
from legato.passes.pipeline.trials import TrialResults

if TYPE_CHECKING:
    from legato.dialects.module import Module
    from legato.passes.pipeline.instrumentation import Instrumentation
    from legato.passes.pipeline.reproducer import Reproduction

__all__ = ["BackendName", "ModulePass", "Option", "OptionError", "PassContext", "TargetText", "option", "options_of"]

PASS_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@runtime_checkable
class PassObserver(Protocol):
    """What follows a pipeline pass by pass: ``checking.PassChecker``. It may raise, and must not change the module."""

    def begins(self, module: Module, context: PassContext) -> None:
        """Called before the first pass of a pipeline."""
        ...

    def after(self, name: str, text: str, position: int, count: int, rounding: Rounding, module: Module, context: PassContext) -> None:
        """Called after each pass. ``text``: the pass with its options; ``position``: its number from 1, of ``count``; ``rounding``: what it
        may change."""
        ...


@dataclass
class PassContext:
    """The state shared by the passes of a run.

    `resolve_target` returns the target for a text, `resolve_backend` the backend for a name; tools and the driver provide them. Passes
    fill `report`, for explain; the pipeline fills `times`: (pass name, seconds) in order; both add to `warnings`. `kernels` holds the
    classification of each kernel, until the kernel is rewritten (see ModulePass.keeps_kernels) or the run ends; `trials` what a pass
    that tried later passes on a kernel got from them, for these. `instrumentation`, `reproduction`, `observer`: for pipelines that have
    none of their own.
    """

    resolve_target: Callable[[str], TargetLike] | None = None
    resolve_backend: Callable[[str], BackendLike] | None = None
    report: dict[str, Any] = field(default_factory=dict)
    times: list[tuple[str, float]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kernels: StructuredKernels = field(default_factory=StructuredKernels)
    trials: TrialResults = field(default_factory=TrialResults)
    instrumentation: Instrumentation | None = None
    reproduction: Reproduction | None = None
    observer: PassObserver | None = None

    def target(self, text: str) -> TargetLike:
        """The target for a text (``"llvm{threads=2}"``). LegatoError if it is unknown."""
        if isinstance(text, TargetText) and text.value is not None:
            return text.value
        if self.resolve_target is None:
            raise LegatoError(f'the target "{text}" cannot be looked up here: give the pipeline PassContext(resolve_target=...)')
        return self.resolve_target(text)

    def cpu(self, text: str) -> CpuMachine:
        """The machine of a target that is a CPU. LegatoError for another target."""
        if (machine := self.target(text).cpu) is None:
            raise LegatoError(f"the target '{text}' is no CPU: its machine is not described by vectors, features and threads")
        return machine

    def gpu(self, text: str) -> GpuMachine:
        """The machine of a target that is a GPU. LegatoError for another target."""
        if (machine := self.target(text).gpu) is None:
            target = self.target(text)
            machine = "" if target.cpu is not None else f"; its machine, which describes no CPU either, is {target.machine!r}"
            raise LegatoError(f"the target '{target.name}' has no threads to map to: it is no GPU{machine}")
        return machine

    def backend(self, name: str) -> BackendLike:
        """The backend of that name. LegatoError, listing those there are, if it is unknown."""
        if not name:
            raise LegatoError("say which backend: {backend=NAME}")
        if self.resolve_backend is None:
            raise LegatoError(f'the backend "{name}" cannot be looked up here: give the pipeline PassContext(resolve_backend=...)')
        return self.resolve_backend(name)


class ModulePass:
    """Base of all passes. A subclass is a frozen dataclass with a `name` (kebab-case) and `run`.

    A pass sees the host part only: nested modules marked `relax.codegen` are detached while it runs. A pass that works on these
    (outlining, inlining back, calling a backend) sets `sees_external = True`.
    A pass that drops from `context.kernels` each kernel that it rewrites or erases sets `keeps_kernels = True`; after any other pass the
    pipeline forgets the classification of all kernels.
    `rounding` says what it may change about results, which ``--check-each-pass`` compares with what it does: by default as much as adding
    up in another order does. A pass whose options decide about it overrides `entitlement`.
    `completed_by` names passes that complete its work: a pipeline that goes on without them after this pass warns.
    """

    name: ClassVar[str]
    sees_external: ClassVar[bool] = False
    keeps_kernels: ClassVar[bool] = False
    completed_by: ClassVar[tuple[str, ...]] = ()
    rounding: ClassVar[Rounding] = REORDERED

    def run(self, module: Module, context: PassContext) -> None:
        """Changes `module` in place. Raises LegatoError, preferably PassFailed with the op."""
        raise LegatoError(f"{type(self).__name__} has no method run(self, module, context)")

    def entitlement(self, context: PassContext) -> Rounding:
        """What the pass, with these options, may change about results; ``context`` resolves a target among them."""
        return self.rounding

    @classmethod
    def parse(cls, options: str = "") -> ModulePass:
        """The pass with options from text (``max-bytes=4096``). Raises OptionError."""
        return cls(**parse_options(cls, options))

    @classmethod
    def help(cls) -> str:
        """The pass's docstring for ``--list-passes`` (empty if it is the signature that dataclasses generate)."""
        doc = cls.__dict__.get("__doc__") or ""
        return "" if doc.startswith(f"{cls.__name__}(") else inspect.cleandoc(doc)

    def __str__(self) -> str:
        options = print_options(self)
        return f"{self.name}{{{options}}}" if options else self.name
