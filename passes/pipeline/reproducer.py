"""Reproducers: the IR before a pass that failed, the rest of the pipeline, and the command line, in one file for legato-opt.

The file is MLIR with a header of comments (``// pipeline: ...``); weights are in a file beside it, as for any saved module.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.errors import LegatoError
from legato.core.weights_beside import remove_ir

if TYPE_CHECKING:
    from legato.dialects.module import Module

TITLE = "// legato-opt reproducer"


@dataclass(frozen=True)
class Reproduction:
    """Where to write a reproducer, and what its header tells: the command line, and the files given to ``--load``."""

    path: Path
    command: str | None = None
    loaded: tuple[str, ...] = ()


@dataclass
class Reproducer:
    """A copy of a module before a pass; its weights are shared."""

    module: Module

    @staticmethod
    def of(module: Module) -> Reproducer:
        """A reproducer with a copy of the module."""
        return Reproducer(module.clone())

    def copy(self) -> Reproducer:
        """A second copy, in the same state."""
        return Reproducer(self.module.clone())

    def write(self, wanted: Reproduction, pipeline: str, error: Exception, verify_each: bool, check: str | None = None) -> None:
        """Writes the copy, and the weights that it uses beside it. ``check``: the file beside it with the inputs for --check-each-pass."""
        path, command, loaded = wanted.path, wanted.command, wanted.loaded
        self.module.drop_unused_weights()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.module.save(path)
        lines = [TITLE, f"// run it: legato-opt {path.name} --run-reproducer"]
        if command:
            lines.append(f"// command: {_one_line(command)}")
        lines.append(f"// error: {_one_line(str(error) or type(error).__name__)}")
        lines += [f"// load: {Path(file).resolve() if Path(file).is_file() else file}" for file in loaded]
        if verify_each:
            lines.append("// verify-each: true")
        if check is not None:
            lines.append(f"// check-inputs: {check}")
        lines.append(f"// pipeline: {_one_line(pipeline)}")
        path.write_text("\n".join(lines) + "\n" + path.read_text())


def remove_stale(path: Path, command: str) -> None:
    """Removes the reproducer that the same command wrote when it failed."""
    if not path.is_file():
        return
    header = [line for line in path.read_text(errors="replace").splitlines()[:3]]
    if header[:1] == [TITLE] and header[2:] == [f"// command: {_one_line(command)}"]:
        remove_ir(path)


@dataclass(frozen=True)
class Recipe:
    """The contents of a reproducer's header."""

    pipeline: str
    verify_each: bool
    load: tuple[str, ...]
    check_inputs: str | None = None


def read_header(text: str, name: str) -> Recipe:
    """The header of a reproducer. LegatoError if there is none; `name`: the file's, for the message."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    pipeline = [line.removeprefix("pipeline:").strip() for line in lines if line.startswith("pipeline:")]
    if not lines or "// " + lines[0] != TITLE or not pipeline:
        raise LegatoError(f'{name} is no reproducer: it has to begin with "{TITLE}" and to hold a line "// pipeline: ..."')
    load = tuple(line.removeprefix("load:").strip() for line in lines if line.startswith("load:"))
    check = next((line.removeprefix("check-inputs:").strip() for line in lines if line.startswith("check-inputs:")), None)
    return Recipe(pipeline[0], "verify-each: true" in lines, load, check)


def _one_line(text: str) -> str:
    return " ".join(text.split())
