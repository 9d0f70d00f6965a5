"""Files that the tools write: where is checked before the work begins, and what was written is said."""
from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from legato.core.notebook import bytes_text
from legato.tools.console import console, is_terminal
from legato.tools.errors import UsageError

if TYPE_CHECKING:
    from legato.core.mlir import ir


def bytecode_of(operation: ir.Operation) -> bytes:
    """An op as MLIR's bytecode."""
    file = io.BytesIO()
    operation.write_bytecode(file)
    return file.getvalue()


def write_out(text: str | bytes) -> None:
    """Writes to standard output. UsageError for bytes if that is a terminal."""
    if isinstance(text, str):
        sys.stdout.write(text)
        return
    if is_terminal(sys.stdout):
        raise UsageError("bytecode is not for a terminal: give -o FILE.mlirbc, or pipe it")
    sys.stdout.flush()
    sys.stdout.buffer.write(text)


def check_output(option: str, path: str) -> None:
    """UsageError if no file can be written at ``path``: its folder is missing, it is a folder, or it may not be written. ``option``: as it
    was given."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder '{folder}'")
    if Path(path).is_dir():
        raise UsageError(f"{option} {path}: that is a folder")
    place = Path(path) if Path(path).exists() else folder
    if not os.access(place, os.W_OK):
        raise UsageError(f"{option} {path}: '{place}' cannot be written to")


def check_view(option: str, path: str) -> None:
    """UsageError if no picture can be written at ``path``. LegatoError if the package that it needs is not installed."""
    from legato.viewing import SUFFIXES, check_view_file

    check_output(option, path)
    if Path(path).suffix not in SUFFIXES:
        raise UsageError(f"{option} {path}: a picture is written to a file that ends in {', '.join(SUFFIXES)}")
    check_view_file(Path(path))


def say_written(tool: str, files: Iterable[Path]) -> None:
    """Names the files with their sizes on standard error."""
    console.say(f"{tool}: wrote {sizes(files)}")


def sizes(files: Iterable[Path]) -> str:
    """Files with their sizes: ``model.legato (20.5 kB), model.legato.0f3c.weights (90.9 MB)``."""
    return ", ".join(f"{file} ({bytes_text(os.path.getsize(file))})" for file in files)
