"""Processes the input of legato-opt: parses each part, runs the pipeline, prints the result or compares diagnostics."""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from legato.core.diagnostics import Diagnostic, from_mlir, of_error
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.core.weights_beside import write_ir
from legato.dialects.inline_weights import inlined_weights, take_inline_weights
from legato.dialects.late_loading import load_mentioned
from legato.dialects.module import Module
from legato.dialects.parsing import parsable
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.tools.console import console
from legato.tools.errors import FAILURE, UsageError, show_diagnostic, show_error, show_traceback
from legato.tools.expected_diagnostics import expectations, mismatches
from legato.tools.models import is_stream
from legato.tools.opt_arguments import Arguments
from legato.tools.opt_input import Input
from legato.tools.output import bytecode_of, say_written, write_out

STANDARD_OUTPUT = "-"


@dataclass
class Session:
    """Processes one input: runs the pipeline on every part in order, in one MLIR context."""

    arguments: Arguments
    pipeline: PassPipeline
    context: PassContext
    mlir_context: ir.Context
    said: list[Diagnostic] = field(default_factory=list)

    def run(self, text: Input) -> int:
        """Processes the parts and writes the results. Returns the exit code."""
        self.mlir_context.attach_diagnostic_handler(self._hear)
        if self.arguments.split and text.bytecode is not None:
            raise UsageError("--split-input-file splits text, and the input is bytecode")
        parts = text.parts(self.arguments.separator) if self.arguments.split else [text]
        results = [self._process(part) for part in parts]
        modules = [module for module, _ in results if module is not None]
        with self._timed("print"):
            if self.arguments.explain:
                self._explain()
            if not self.arguments.explain or self.arguments.output != STANDARD_OUTPUT:
                self._write(modules)
        for warning in dict.fromkeys(self.context.warnings):
            console.say(f"legato-opt: warning: {warning}")
        return 0 if all(good for _, good in results) else FAILURE

    def _process(self, part: Input) -> tuple[Module | None, bool]:
        """The resulting module of a part, or None, and whether the part is as it should be."""
        self.said.clear()
        module, error = None, None
        try:
            module = self._parse(part)
            self.pipeline.run(module, self.context)
            if self.arguments.view:
                from legato.viewing import view

                view(module).save(self.arguments.view)
            if self.arguments.roundtrip:
                self._check_roundtrip(module)
        except Exception as one:
            if not self.arguments.verify_diagnostics and not _is_foreseen(one):
                raise
            module, error = None, one
        if self.arguments.verify_diagnostics:
            return module, self._as_expected(part, error)
        for diagnostic in self.said:
            console.say(show_diagnostic(diagnostic, part.source))
        if error is not None:
            show_traceback(error, self.arguments.debug)
            console.say(show_error(error, part.source))
        return module, error is None

    def _parse(self, part: Input) -> Module:
        with self._timed("parse"):
            written = parsable(part.source.text if part.bytecode is None else part.bytecode)
            load_mentioned(self.mlir_context, written)
            parsed = ir.Module.parse(written, self.mlir_context)
            module = Module(parsed, take_inline_weights(parsed.operation, part.weights and part.weights.copy()))
            module.check_weights(part.where_weights())
            return module

    def _as_expected(self, part: Input, error: Exception | None) -> bool:
        said = [*self.said, *(of_error(error) if error is not None else ())]
        problems = mismatches(expectations(part.source.text), said, part.source)
        for problem in problems:
            console.say(problem)
        return not problems

    def _text(self, module: ir.Module) -> str:
        """The module as text. It has been verified, so printing does not verify again."""
        return self.arguments.printer.text(module.operation, assume_verified=True)

    def _emitted(self, module: Module) -> str:
        """The module in the form that --emit asks for."""
        if self.arguments.emit == "script":
            from legato.script import print_script

            return print_script(module).rstrip("\n")
        with inlined_weights(module) if self.arguments.inline_weights else nullcontext():
            return self._text(module.module)

    def _check_roundtrip(self, module: Module) -> None:
        once = self._text(module.module)
        again = self._text(ir.Module.parse(once, module.context))
        if once != again:
            changed = next((pair for pair in zip(once.splitlines(), again.splitlines()) if pair[0] != pair[1]), ("", ""))
            raise LegatoError(f"the IR does not print as it parses; the first line that differs:\n  {changed[0]}\n  {changed[1]}")

    def _write(self, modules: list[Module]) -> None:
        if not modules:
            return
        if self.arguments.emit_bytecode:
            text = bytecode_of(modules[0].module.operation)
        else:
            text = f"\n\n{self.arguments.separator}\n".join(map(self._emitted, modules)) + "\n"
        if self.arguments.output == STANDARD_OUTPUT:
            write_out(text)
            return
        path = Path(self.arguments.output)
        weights = [] if self.arguments.inline_weights else [module.weights for module in modules if len(module.weights)]
        if weights and len(modules) > 1:
            raise UsageError("-o writes one set of weights: it cannot take several parts (--split-input-file) with weights")
        if is_stream(path):
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        elif len(written := write_ir(path, text, weights[0] if weights else WeightStore())) > 1:
            say_written("legato-opt", written)

    def _explain(self) -> None:
        """Prints the rules and patterns that were applied in all parts. UsageError if no pass used any."""
        from legato.targets.explain import explanation

        target = self.context.report.get("target")
        if target is None and "partition" not in self.context.report:
            raise UsageError("--explain: no pass that works by a target's rules or a backend's patterns ran; add one, such as "
                             "--relax-legalize=target=llvm or --relax-fuse-by-pattern=backend=onnxruntime")
        told = explanation(target, self.context.report)
        print(told.json() if self.arguments.explain == "json" else told)

    def _hear(self, diagnostic: ir.Diagnostic) -> bool:
        self.said.append(from_mlir(diagnostic))
        return True

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.context.times.append((what, time.perf_counter() - begun))


def _is_foreseen(error: Exception) -> bool:
    """Whether an error is reported like other errors of the input. Any other error is a bug and ends the tool."""
    return isinstance(error, LegatoError | ir.MLIRError)
