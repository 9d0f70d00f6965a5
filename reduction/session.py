"""``legato.reduce``: makes a model or IR as small as it can be while it fails a test."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import onnx

from legato.core.errors import LegatoError
from legato.core.given import path_of
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.reduction import raw
from legato.reduction.command import Command, Failure, failure_of
from legato.reduction.ir import steps as ir_steps
from legato.reduction.ir.program import IrProgram
from legato.reduction.onnx import steps as onnx_steps
from legato.reduction.onnx.model import OnnxModel
from legato.reduction.search import OutOfTime, Search, to_fixed_point

Listener = Callable[[Search], None]
Form = IrProgram | OnnxModel | raw.RawFile
IR_SUFFIXES = (".mlir", ".mlirbc")
PATIENCE = 120.0   # seconds for reading the original


@dataclass(frozen=True, repr=False)
class ReducedModel:
    """What a reduction made.

    ``model``: an ``onnx.ModelProto``, a ``legato.Module``, or bytes that neither can read; ``path``: its file, or None; ``before``,
    ``after``: sizes as text; ``tests``: how many candidates were tested, and ``invalid`` how many were not, since a verifier refused
    them; ``finished``: False if the time ran out; ``notes``: what the user should know."""

    model: Any
    path: Path | None
    before: str
    after: str
    tests: int
    invalid: int
    finished: bool
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<legato.ReducedModel: {self.before} -> {self.after} in {self.tests} tests>"


def reduce(model: str | os.PathLike | onnx.ModelProto | Module, fails: str | Callable[[Any], bool], *,
           output: str | os.PathLike | None = None, exit_code: int | None = None, prints: Sequence[str] = (), timeout: float | None = None,
           verify: bool = True, jobs: int = 1, minutes: float | None = None, dialects: Sequence[type] = (),
           progress: Listener | None = None) -> ReducedModel:
    """Makes a model or IR as small as it can be while it fails.

    ``model``: the path of an ``.onnx`` or ``.mlir``, an ``onnx.ModelProto``, or a ``legato.Module``. ``fails``: a shell command, in which
    ``{}`` stands for the path of a candidate, or a function of a candidate (a ModelProto, or a Module) that returns whether it fails.

    A command fails by the exit code that it has on the original, or by ``exit_code``, if its output contains all of ``prints``;
    ``timeout``: seconds, after which it is killed; if it runs longer on the original, running longer is the failure. ``verify``: test no
    candidate that onnx's checker or MLIR's verifiers refuse, unless they refuse the original. ``output``: a file for the smallest one so
    far, replaced whenever there is a smaller one. ``jobs``: how many commands run at once. ``minutes``: when to end with what was found.
    ``dialects``: those of the IR besides Legato's. ``progress``: called with the search whenever the model became smaller. The result
    depends on no random numbers.

    LegatoError if the original does not fail, or cannot be read.
    """
    if jobs < 1 or (jobs > 1 and not isinstance(fails, str)):
        raise LegatoError("jobs: how many commands run at once, at least 1; a Python function is called one by one")
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="legato-reduce-") as scratch:
        original, forms = _forms(model, dialects, Path(scratch), notes, isinstance(fails, str))
        name = original.name
        if isinstance(fails, str):
            failure, _ = failure_of(Command(fails), original, exit_code, tuple(prints), timeout)
            failing: Callable[[Form], bool] = _Candidates(failure, Path(scratch), name)
        else:
            failing = _called(fails, dialects)
        start = _first_that_fails(forms, failing, notes)
        search = Search(start, failing, _validity(start, notes) if verify else lambda candidate: None,
                        _keeper(output, progress), jobs, time.monotonic() + minutes * 60 if minutes else float("inf"))
        search.kept(search)
        finished = True
        try:
            to_fixed_point(search, _steps(start))
        except OutOfTime:
            finished = False
        best = search.best
        return ReducedModel(_result(best), Path(output) if output is not None else None, start.size(), best.size(), search.tests,
                         search.invalid, finished, tuple(notes))


def _forms(model: Any, dialects: Sequence[type], scratch: Path, notes: list[str],
           for_command: bool) -> tuple[Path, list[Callable[[], Form]]]:
    """The file of the original, and the forms in which it can be reduced, the finest first. LegatoError if there is no such file."""
    if isinstance(model, onnx.ModelProto):
        found = OnnxModel.of(model)
        path = scratch / "model.onnx"
        if for_command:
            found.write(path)
        return path, [lambda: found]
    if isinstance(model, Module):
        program = IrProgram.of(model, dialects)
        path = scratch / "model.mlir"
        if for_command:
            program.write(path)
        return path, [lambda: program]
    path = path_of(model, "what is reduced, if it is no onnx.ModelProto and no legato.Module,")
    if not path.is_file():
        raise LegatoError(f"there is no file '{path}'")
    whole: Callable[[], Form] = lambda: raw.RawFile(path.read_bytes())  # noqa: E731
    if path.suffix == ".onnx":
        finer: Callable[[], Form] = lambda: OnnxModel.read(path)  # noqa: E731
    elif path.suffix in IR_SUFFIXES:
        finer = lambda: _read_ir(path, dialects)  # noqa: E731
    else:
        raise LegatoError(f"'{path}' is neither a model nor IR by its name: it ends neither in .onnx nor in .mlir or .mlirbc")
    if not _is_readable(path):
        notes.append(f"{path} cannot be parsed, so it is reduced as a file of lines and bytes")
        return path, [whole]
    return path, [finer, *([whole] if for_command else [])]


def _read_ir(path: Path, dialects: Sequence[type]) -> IrProgram:
    module = Module.load(path, make_context(dialects))
    program = IrProgram.of(module, dialects)
    return IrProgram(path.read_text(), program.weights, dialects) if path.suffix == ".mlir" else program


def _is_readable(path: Path) -> bool:
    """Whether the file can be parsed, tried in another process: a crash of the parser may be what is reduced."""
    done = subprocess.run([sys.executable, "-m", "legato.reduction.session", str(path)], capture_output=True, timeout=PATIENCE)
    return done.returncode >= 0 and b"LegatoError" not in done.stderr


def _first_that_fails(forms: Sequence[Callable[[], Form]], failing: Callable[[Form], bool], notes: list[str]) -> Form:
    """The finest form that fails when it is written anew."""
    for make in forms:
        try:
            form = make()
        except LegatoError as error:
            if make is forms[-1]:
                raise
            notes.append(f"{error}; reduced as a file of lines and bytes")
            continue
        if failing(form):
            return form
        if make is not forms[-1]:
            notes.append("the model does not fail when it is written anew, so it is reduced as a file of lines and bytes")
    raise LegatoError("the test does not fail on the original, so there is nothing to reduce"
                      + (" (it fails on its file, but not when that is read and written again)" if len(forms) > 1 else ""))


def _steps(start: Form) -> Sequence[tuple[str, Callable[[Search], None]]]:
    if isinstance(start, OnnxModel):
        return onnx_steps.STEPS
    return ir_steps.STEPS if isinstance(start, IrProgram) else raw.STEPS


def _validity(start: Form, notes: list[str]) -> Callable[[Any], str | None]:
    """The check of candidates: the strictest one that the original passes."""
    if isinstance(start, raw.RawFile):
        return lambda candidate: None
    if isinstance(start, IrProgram):
        return lambda candidate: candidate.problem()
    if start.problem(full=True) is None:
        return lambda candidate: candidate.problem(full=True)
    if start.problem(full=False) is None:
        notes.append(f"onnx's shape inference refuses the original ({_brief(start.problem(full=True))}): candidates are checked without it")
        return lambda candidate: candidate.problem(full=False)
    notes.append(f"onnx's checker refuses the original ({_brief(start.problem(full=False))}): candidates are not checked")
    return lambda candidate: None


def _brief(text: str | None) -> str:
    return " ".join((text or "").split())[:200]


class _Candidates:
    """Tests candidates by a command, each in a folder of its own under the name of the original."""

    def __init__(self, failure: Failure, folder: Path, name: str) -> None:
        self.failure, self.folder, self.name = failure, folder, name

    def __call__(self, candidate: Form) -> bool:
        place = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            path = place / self.name
            candidate.write(path)
            return self.failure(path)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _called(fails: Callable[[Any], bool], dialects: Sequence[type]) -> Callable[[Form], bool]:
    def failing(candidate: Form) -> bool:
        return bool(fails(_result(candidate)))

    return failing


def _result(form: Form) -> Any:
    if isinstance(form, OnnxModel):
        return form.whole()
    return form.module() if isinstance(form, IrProgram) else form.data


def _keeper(output: str | os.PathLike | None, progress: Listener | None) -> Listener:
    """Writes each new best to the file, which is replaced as a whole."""
    def kept(search: Search) -> None:
        if output is not None:
            write_whole(cast(Form, search.best), Path(output))
        if progress is not None:
            progress(search)

    return kept


def write_whole(form: Form, path: Path) -> None:
    """Writes a file and those beside it, by renaming: a reader, or a kill, finds the old ones or the new ones."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        form.write(Path(folder) / path.name)
        files = sorted(Path(folder).iterdir(), key=lambda file: file.name == path.name)   # those beside it first
        beside = path.with_name(f"{path.name}.safetensors")
        for file in files:
            file.replace(path.with_name(file.name))
        if isinstance(form, IrProgram) and not len(form.weights) and beside.exists():
            beside.unlink()


def _try_to_read(path: str) -> None:
    if path.endswith(".onnx"):
        OnnxModel.read(Path(path))
    else:
        Module.load(path)


if __name__ == "__main__":
    _try_to_read(sys.argv[1])
