"""Files that the tools write: where is checked before the work begins, and what was written is said."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from legato.core.errors import LegatoError


def check_output(option: str, path: str) -> None:
    """LegatoError if no file can be written at ``path``: its folder is missing, or it is a folder. ``option``: as it was given."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise LegatoError(f"{option} {path}: there is no folder '{folder}'")
    if Path(path).is_dir():
        raise LegatoError(f"{option} {path}: that is a folder")


def say_written(tool: str, files: Iterable[Path]) -> None:
    """Names the files with their sizes on standard error."""
    print(f"{tool}: wrote {', '.join(f'{file} ({_size(os.path.getsize(file))})' for file in files)}", file=sys.stderr)


def _size(count: int) -> str:
    for unit, width in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= width:
            return f"{count / width:.1f} {unit}"
    return f"{count} bytes"
