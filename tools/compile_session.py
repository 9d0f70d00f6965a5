"""The work of legato-compile on a model that has been read: lowers or compiles it, and writes what the command line asks for."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato import driver
from legato.checking.checker import PassChecker
from legato.core.weights_beside import write_ir
from legato.dialects.inline_weights import inlined_weights
from legato.dialects.module import Module
from legato.graph_capture import capturing
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.instrumentation import time_report
from legato.passes.pipeline.reproducer import Reproduction
from legato.report import Report
from legato.report_page import report_page
from legato.runtime.package import saved_files
from legato.targets.explain import explanation
from legato.tools.compile_checks import IMPORTED, LLVM_IR, NO_STAGES, ONNX, PARTITIONED, PTX, Chosen
from legato.tools.console import takes_colour
from legato.tools.errors import UsageError
from legato.tools.ir_options import instrumentation, printer
from legato.tools.models import is_stream
from legato.tools.output import bytecode_of, write_out
from legato.tools.progress import Progress
from legato.tools.stage_diff import stage_diff
from legato.viewing import view

JSON = "json"


@dataclass
class CompileSession:
    """One compile. ``report``: of what ran."""

    options: argparse.Namespace
    chosen: Chosen
    progress: Progress
    reproduction: Reproduction | None
    checker: PassChecker | None = None
    report: Report = field(default_factory=Report)

    def run(self, module: Module) -> None:
        """Compiles or lowers the module, and writes the results. Raises LegatoError."""
        emit, output = self.options.emit, self.options.output
        if self.options.view and not emit:
            self._draw(module)
        if self.options.diff:
            written = self._diff(module)
        elif emit:
            written = self._emit(module)
        elif output:
            written = self._compile(module)
        else:
            written = []
            if self.options.explain or self.options.report_html:
                self._lower(module)
        if self.options.report_html:
            written = [*written, self._write_page(written)]
        self.progress.finish(written)
        if self.options.explain:
            told = explanation(self.report.target, self.report.details)
            print(told.json() if self.options.explain == JSON else told)
        if self.options.timing:
            print(time_report(self.progress.stages, self.progress.seconds, self.report.stage_passes), file=sys.stderr)

    def _draw(self, module: Module) -> None:
        with self.progress.stage("view"):
            view(module).save(self.options.view)

    def _write_page(self, written: Sequence[Path]) -> Path:
        told = explanation(self.report.target, self.report.details)
        page = report_page(Path(self.options.model).name, self.report, told, self.progress.stages, written)
        Path(self.options.report_html).write_text(page)
        return Path(self.options.report_html)

    def _settings(self) -> dict[str, Any]:
        """What lower and compile are given alike."""
        passes = capturing(self.chosen.target, self.options.from_stage) if self.options.report_html else ()
        return {"passes": passes, "backends": self.chosen.backends,
                "backend_options": dict(self.options.backend), "from_stage": self.options.from_stage, "progress": self.progress,
                "verify_each": self.options.verify_each, "instrumentation": instrumentation(self.options), "reproducer": self.reproduction,
                "check": self.checker}

    def _lower(self, module: Module, last: str | None = None) -> Module:
        return driver.lower(module, self.chosen.target, last=last, report=self.report, **self._settings())

    def _compile(self, module: Module) -> list[Path]:
        uses_cache = not (self.options.no_cache or self.options.timing or self.options.explain or self.options.verbose
                          or self.options.report_html)
        executable = driver.compile(module, self.chosen.target, cache=uses_cache, **self._settings())
        self.report = executable.report
        with self.progress.stage("save"):
            return saved_files(executable.save(self.options.output))

    def _emit(self, module: Module) -> Sequence[Path]:
        """Lowers the module to the stage of --emit, and prints or writes that. Returns the files written."""
        emit, output = self.options.emit, self.options.output
        if emit == PARTITIONED:
            driver.give_to_backends(module, PassContext(), self.chosen.backends, options=dict(self.options.backend))
        elif emit not in (IMPORTED, ONNX):
            module = self._lower(module, None if emit in NO_STAGES else emit)
        if self.options.view:
            self._draw(module)
        with self.progress.stage("write"):
            if emit == ONNX:
                from legato.targets.backends.onnx import export

                Path(output).write_bytes(export(module).SerializeToString())
                return [Path(output)]
            is_ir, inline = emit not in (LLVM_IR, PTX), self.options.inline_weights
            text = self._text(module)
            if not output:
                write_out(text)
                return []
            if is_ir and not inline and not is_stream(Path(output)):
                return write_ir(output, text, module.weights)  # with its weights beside it
            Path(output).write_bytes(text.encode() if isinstance(text, str) else text)
            return [Path(output)]

    def _diff(self, module: Module) -> Sequence[Path]:
        """Prints or writes what the stage of --diff changed. Raises UsageError if it comes before --from-stage."""
        target, start, output = self.chosen.target, self.options.from_stage, self.options.output
        names = [name for name, _ in target.templates()]
        stage = target.stage(self.options.diff)
        done = names.index(target.stage(start)) if start else -1
        if names.index(stage) <= done:
            raise UsageError(f"--diff {stage}: the model is past that stage, at {names[done]}")
        previous = names[names.index(stage) - 1] if names.index(stage) else None
        settings = self._settings()
        before = module
        if previous is not None and names.index(previous) > done:
            before = self._lower(module, previous)
            settings |= {"backends": (), "from_stage": previous}
        after = driver.lower(before, target, last=stage, report=self.report, **settings)
        colour = not output and takes_colour(sys.stdout)
        text = stage_diff(before, after, (previous or IMPORTED, stage), colour) + "\n"
        if not output:
            write_out(text)
            return []
        Path(output).write_text(text)
        return [Path(output)]

    def _text(self, module: Module) -> str | bytes:
        if self.options.emit == LLVM_IR:
            return driver.llvm_ir(module) + "\n"
        if self.options.emit == PTX:
            return driver.ptx(module, self.chosen.target) + "\n"
        with inlined_weights(module) if self.options.inline_weights else nullcontext():
            if self.options.emit_bytecode:
                return bytecode_of(module.operation)
            return printer(self.options, to_file=bool(self.options.output)).module(module) + "\n"
