"""Replaces the files of a saved model as one, whatever other processes save there, and whenever a process is killed.

Files are made in a folder of their own beside the model, and renamed into place. The file with the code is the last, and names the others
by a digest of their contents: whoever opens a model finds the files that belong to its code. Renames, and the removal of files that the
code does not name, happen under a lock of the model's folder. A lock ends with its process, so a staging folder whose lock is free was
left by a process that died.
"""
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".legato-saving-"
_SIDE_FILE = r"\.[0-9a-f]{16}\.(weights|artifacts)"


def side_path(path: Path, digest: bytes, kind: str) -> Path:
    """The file of the weights or artifacts (``kind``) of that digest, of the model saved at ``path``."""
    return path.with_name(f"{path.name}.{digest.hex()[:16]}.{kind}")


@contextmanager
def staged(beside: Path) -> Iterator[Path]:
    """A new folder in that of ``beside``, removed at the end, as are those that dead processes left."""
    with _locked(beside.parent):
        for left in beside.parent.glob(PREFIX + "*"):
            _remove_abandoned(left)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside.parent))
        held = _lock(folder, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def place(files: Sequence[tuple[Path, Path]]) -> None:
    """Renames staged files to their final names, the one with the code last; then removes the weights and artifacts of earlier saves
    under its name."""
    path = files[-1][1]
    final = {to for _, to in files}
    with _locked(path.parent):
        for staged_file, to in files:
            os.replace(staged_file, to)
        for other in path.parent.iterdir():
            if re.fullmatch(re.escape(path.name) + _SIDE_FILE, other.name) and other not in final:
                other.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    held = _lock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock(folder: Path, how: int) -> int | None:
    """A descriptor that holds the lock; None on file systems without locks. BlockingIOError if ``how`` does not wait."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_abandoned(folder: Path) -> None:
    try:
        held = _lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:   # its process lives, or it has just gone
        return
    if held is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)
