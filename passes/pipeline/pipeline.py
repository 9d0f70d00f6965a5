"""Pipelines: Legato's, the user's and upstream's passes in one list, run on a module.

    PassPipeline('relax-fold-constants{max-bytes=64},func.func(canonicalize),external<"npu">(cse)').run(module)
"""
from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError
from legato.core.given import path_of
from legato.core.interfaces import TargetLike
from legato.core.mlir import ir
from legato.core.upstream import failed_of, threads_for
from legato.core.user_code import blamed, raised_in
from legato.dialects.loading import load_dialects
from legato.dialects.tir import check_prim_funcs
from legato.passes.pipeline.base import ModulePass, PassContext, PassObserver
from legato.passes.pipeline.instrumentation import Instrumentation, check_instrumentation
from legato.passes.pipeline.malformed import malformed
from legato.passes.pipeline.reproducer import Reproducer, Reproduction
from legato.passes.pipeline.rounding import REORDERED, Rounding
from legato.passes.pipeline.scope import as_module, backend_of, external_modules, host_part, symbol
from legato.passes.pipeline.steps import (
    ExternalOf,
    ExternalStep,
    PassNames,
    PythonStep,
    Step,
    UpstreamStep,
    backends_of,
    external,
    names_of,
    resolve,
    targets_of,
    with_target,
)
from legato.passes.pipeline.text import PipelineError, print_external
from legato.passes.pipeline.upstream import run_upstream

if TYPE_CHECKING:
    from legato.dialects.module import Module

__all__ = ["PassPipeline", "PipelineError", "external"]

NO_INSTRUMENTATION = Instrumentation()
HINT = " (verify_each, or --verify-each, tells after which pass)"
LOGGER = logging.getLogger(__name__)
Work = PythonStep | list[UpstreamStep]  # one Python pass, or adjacent upstream passes that run in one PassManager


class PassPipeline:
    """Passes in order. A value: it keeps no state between runs, and its text parses to an equal pipeline.

    `passes` is text, a pass, or a list of those and of ``external("npu", [...])``. `extra_passes` are classes that the text may name
    besides Legato's. `target`: what ``%s`` stands for in options of passes. The IR is verified after the whole pipeline, with
    `verify_each` after each pass. `reproducer`, a path: the IR before a failing pass is written there, with its weights beside it; this
    costs a copy of the IR before each pass. `command` and `loaded` (files executed for `extra_passes`) are recorded in it. `observer`
    follows the run pass by pass. PipelineError
    for an unknown pass or option, or a pass in a place where it cannot run.
    """

    def __init__(
        self,
        passes: str | ModulePass | ExternalOf | Sequence[str | ModulePass | ExternalOf],
        *,
        extra_passes: Iterable[type[ModulePass]] = (),
        verify: bool = True,
        verify_each: bool = False,
        instrumentation: Instrumentation | None = None,
        reproducer: str | Path | None = None,
        command: str | None = None,
        loaded: Sequence[str] = (),
        target: TargetLike | None = None,
        observer: PassObserver | None = None,
    ):
        steps = resolve(passes, PassNames(extra_passes))
        self.steps = with_target(steps, target) if target is not None else steps
        self.verify = verify
        self.verify_each = verify_each
        check_instrumentation(instrumentation)
        self.instrumentation = instrumentation
        self.reproduction = Reproduction(path_of(reproducer, "reproducer="), command, tuple(loaded)) if reproducer is not None else None
        self.observer = observer

    def __str__(self) -> str:
        return ",".join(map(str, self.steps))

    def names(self) -> list[str]:
        """The names of the passes that run, in order."""
        return list(names_of(self.steps))

    def check(self, context: PassContext) -> None:
        """Resolves the targets and backends in the options. LegatoError for an unknown one."""
        for _ in (*targets_of(self.steps, context), *backends_of(self.steps, context)):
            pass

    def run(self, module: Module, context: PassContext | None = None) -> None:
        """Runs the passes on `module`, in place.

        The dialects of the targets and backends in the passes' options are loaded into the module's context. Raises PassFailed, or the
        LegatoError that a pass raised (with a note that names the pass). The module is then in an undefined state.
        """
        context = context or PassContext()
        context.warnings += incomplete(self.steps)
        known = [dialect for target in targets_of(self.steps, context) for dialect in target.known_dialects()]
        known += [dialect for backend in backends_of(self.steps, context) for dialect in backend.dialects]
        load_dialects(module.context, known, module.module)
        verifies = bool(self.steps) and self.verify and not self.verify_each
        before = Reproducer.of(module) if verifies and self._wanted(context) else None
        if (observer := self._observer(context)) is not None:
            observer.begins(module, context)
        with module.context:
            try:
                self._run(self.steps, module, context, None)
            finally:
                context.kernels.clear()  # changes of the module after the run are not tracked
            if verifies:
                with _timed(context, "verify"):
                    self._verify_end(module, before, context)

    def _run(self, steps: Sequence[Step], module: Module, context: PassContext, scope: str | None) -> None:
        observer = self._observer(context) if scope is None else None
        for number, work in enumerate(self._together(steps, self._telling(context), observer is not None)):
            if isinstance(work, ExternalStep):
                self._run_external(work, module, context, scope)
            elif isinstance(work, PythonStep) and work.pass_.sees_external:
                self._run_one(work, module, context, scope)
            else:
                with host_part(module):
                    self._run_one(work, module, context, scope)
            if observer is not None:
                step = work[0] if isinstance(work, list) else work
                observer.after(",".join(names_of([step])), str(step), number + 1, len(steps), rounding_of(step, context), module, context)

    def _observer(self, context: PassContext) -> PassObserver | None:
        return self.observer or context.observer

    def _telling(self, context: PassContext) -> Instrumentation:
        return self.instrumentation or context.instrumentation or NO_INSTRUMENTATION

    def _wanted(self, context: PassContext) -> Reproduction | None:
        return self.reproduction or context.reproduction

    def _together(self, steps: Sequence[Step], telling: Instrumentation, observed: bool) -> Iterator[Work | ExternalStep]:
        """The steps, with adjacent upstream steps as one list if nothing has to happen between them."""
        group: list[UpstreamStep] = []
        for step in steps:
            joins = isinstance(step, UpstreamStep) and not (self.verify_each or observed or telling.alone(step.name))
            if group and not joins:
                yield group
                group = []
            if joins:
                group.append(step)
            else:
                yield [step] if isinstance(step, UpstreamStep) else step
        if group:
            yield group

    def _run_external(self, step: ExternalStep, module: Module, context: PassContext, scope: str | None) -> None:
        found = external_modules(module.module, step.backend)
        if not found:
            backends = sorted({str(backend_of(op)) for op in external_modules(module.module)})
            has = f"the external modules are for {', '.join(backends)}" if backends else "there are no external modules"
            context.warnings.append(f"{print_external(step.backend)}(...) had nothing to work on: {has}")
        for op in found:
            name = f"@{symbol(op)}" if symbol(op) else f"for {backend_of(op)}"
            with as_module(op, module) as ordinary:
                self._run(step.steps, ordinary, context, f"{scope}::{name}" if scope else name)

    def _run_one(self, work: Work, module: Module, context: PassContext, scope: str | None) -> None:
        names = [step.name for step in work] if isinstance(work, list) else [work.name]
        name = ",".join(names)
        telling = self._telling(context)
        before = Reproducer.of(module) if self._wanted(context) else None
        if len(names) == 1 and telling.prints_before(name):
            telling.dump(f"Before {name}", name, scope, module)
        shown = telling.show(module) if telling.print_after_change and telling.prints_after(name) else None
        try:
            with _timed(context, name):
                self._apply(work, module, context)
            if self.verify_each:
                self._verify(module, name)
        except Exception as problem:
            if telling.print_after_failure:
                telling.dump(f"After {name} Failed", name, scope, module)
            error = self._explained(problem, module, work)
            text = ",".join(map(str, work)) if isinstance(work, list) else str(work)
            if before is not None and isinstance(work, list) and len(work) > 1:
                failing, before = self._first_failing(work, before)
                name, text = failing.name, failing.text
            self._annotate(error, name, scope)
            if before is not None:
                self._write(before, text, error, context)
            if error is problem:
                raise
            raise error from problem
        if len(names) == 1 and telling.prints_after(name) and (shown is None or shown != telling.show(module)):
            telling.dump(f"After {name}", name, scope, module)

    def _apply(self, work: Work, module: Module, context: PassContext) -> None:
        if isinstance(work, list):
            context.kernels.clear()
            run_upstream([step.text for step in work], module)
            return
        observer, context.observer = context.observer, None  # pipelines inside of a pass are not followed
        with ir.Location.unknown():
            try:
                work.pass_.run(module, context)
            except ir.MLIRError as error:
                raise failed_of(error) from error
            finally:
                context.observer = observer
                if not work.pass_.keeps_kernels:
                    context.kernels.clear()

    def _first_failing(self, group: list[UpstreamStep], before: Reproducer) -> tuple[UpstreamStep, Reproducer]:
        """The pass of a group that fails, and the IR before it: the group is run again one by one, on the copy."""
        for step in group[:-1]:
            snapshot = before.copy()
            try:
                run_upstream([step.text], before.module)
            except PassFailed:
                return step, snapshot
        return group[-1], before

    def _verify_end(self, module: Module, before: Reproducer | None, context: PassContext) -> None:
        """Verifies the result. For a reproducer, the passes run again one by one, on a copy, to find the one that left invalid IR."""
        try:
            self._verify(module, None)
        except PassFailed as failed:
            if before is None:
                raise
            start, found = before.copy(), self._first_invalid(before, context)
            error, name, state = found or (failed, str(self), start)
            self._write(state, name, error, context, verify_each=True)
            raise error from failed.__cause__

    def _first_invalid(self, before: Reproducer, context: PassContext) -> tuple[PassFailed, str, Reproducer] | None:
        """The error about the first pass after which the IR is invalid, its text, and the IR before it. None if all are well this time."""
        for step in self.steps:
            snapshot = before.copy()
            single = PassPipeline([])
            single.steps = (step,)
            try:
                single.run(before.module, PassContext(context.resolve_target, context.resolve_backend))
            except PassFailed as failed:
                failed.pass_name = ",".join(names_of([step]))
                failed.message = failed.message.replace(HINT, "")
                return failed, str(step), snapshot
        return None

    def _verify(self, module: Module, name: str | None) -> None:
        try:
            with threads_for(module.module.operation):
                module.module.operation.verify()
            check_prim_funcs(module.module)
        except (ir.MLIRError, LegatoError) as error:
            hint = "" if name else HINT
            what = f"it left IR that is not valid{hint}"
            failed = failed_of(error, what) if isinstance(error, ir.MLIRError) else PassFailed(f"{what}: {error}")
            failed.pass_name = name or "the pipeline"
            raise failed from error

    def _explained(self, error: Exception, module: Module, work: Work) -> Exception:
        """The error; LegatoError in the place of an unforeseen one where the IR has an attribute of Legato's that is not of its kind, or
        that a user's pass raised."""
        if isinstance(error, (LegatoError, ir.MLIRError)):
            return error
        if not isinstance(error, OSError) and (what := malformed(module.module)) is not None:
            return LegatoError(what)
        if isinstance(work, PythonStep) and raised_in(error, work.pass_.run):
            return blamed(error, f"the pass {work.name}", work.pass_.run)
        return error

    def _annotate(self, error: Exception, name: str, scope: str | None) -> None:
        if isinstance(error, PassFailed):
            error.pass_name, error.scope = error.pass_name or name, error.scope or scope
        elif not hasattr(error, "__notes__") and f"the pass {name} " not in str(error):
            error.add_note(f"in the pass {name}{f' on the external module {scope}' if scope else ''}")

    def _write(self, before: Reproducer, pipeline: str, error: Exception, context: PassContext, verify_each: bool = False) -> None:
        wanted = self._wanted(context)
        if wanted is None or getattr(error, "reproducer", None) is not None:  # a pipeline inside this one's pass has written it
            return
        before.write(wanted, pipeline, error, self.verify_each or verify_each)
        error.reproducer = str(wanted.path)


def rounding_of(step: Step, context: PassContext) -> Rounding:
    """What a step may change about results."""
    if isinstance(step, PythonStep):
        return step.pass_.entitlement(context)
    if isinstance(step, ExternalStep):
        inside = [rounding_of(one, context) for one in step.steps]
        return Rounding(max((one.ulps for one in inside), default=0), max((one.relative for one in inside), default=0),
                        all(one.specials for one in inside))
    return REORDERED


@contextmanager
def _timed(context: PassContext, name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        context.times.append((name, time.perf_counter() - start))
        LOGGER.debug("%s: %.1f ms", name, context.times[-1][1] * 1e3)


def incomplete(steps: Sequence[Step]) -> list[str]:
    """Warnings of passes whose work others should complete, where the pipeline goes on after them without these."""
    found = []
    for number, step in enumerate(steps):
        behind = list(names_of(steps[number + 1:]))
        wanted = step.pass_.completed_by if isinstance(step, PythonStep) else ()
        missing = [name for name in wanted if name not in behind]
        if behind and missing:
            found.append(f"{step.name} is not followed by {' and '.join(missing)}, which complete its work: the code will be right, and "
                         "slower than it can be; legato-compile --print-pipeline shows where they stand")
    return found
