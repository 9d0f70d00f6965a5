"""A folder of cached results, which processes share: entries by key, each a folder that never changes once it is there.

An entry is made in a staging folder and renamed into place, so a reader finds all of it or nothing, at whatever moment a writer is killed;
readers take no locks. Of two writers of one key the first wins, and both entries are the same. An entry's time is that of its last use;
those unused for longest are removed when all together exceed the limit.
"""
from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from legato.core.errors import LegatoError
from legato.runtime.staging import staged

VARIABLE, LIMIT_VARIABLE = "LEGATO_CACHE", "LEGATO_CACHE_LIMIT"
DEFAULT_LIMIT = 4 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class CacheFolder:
    """The folder at ``path``, of entries of at most ``limit`` bytes together. One larger than half of that is not kept."""

    path: Path
    limit: int = DEFAULT_LIMIT

    def find(self, key: str) -> Path | None:
        """The folder of an entry, which counts as used now; None if there is none. It may vanish at any moment."""
        entry = self.path / key
        try:
            os.utime(entry)
        except OSError:
            return None
        return entry

    def add(self, key: str, fill: Callable[[Path], None]) -> bool:
        """Adds an entry, whose files ``fill`` writes into a new folder. Whether there is one now; what ``fill`` raises is raised."""
        with staged(self.path / key) as folder:
            made = folder / key
            made.mkdir()
            fill(made)
            if _size(made) > self.limit // 2:
                return False
            try:
                os.rename(made, self.path / key)
            except OSError:   # another process has added it
                return (self.path / key).is_dir()
            self._evict(folder, key)
        return True

    def drop(self, key: str) -> None:
        """Removes an entry, if it is there."""
        with staged(self.path / key) as folder:
            _take(self.path / key, folder)

    def clear(self) -> None:
        """Removes all entries. Processes that run code of theirs keep it."""
        if self.path.is_dir():
            with staged(self.path / "all") as folder:
                for entry in self.entries():
                    _take(entry, folder)

    def entries(self) -> list[Path]:
        """The folders of all entries, those unused for longest first."""
        found = []
        try:
            for entry in os.scandir(self.path):
                if _KEY.fullmatch(entry.name):
                    found.append((entry.stat().st_mtime_ns, Path(entry.path)))
        except OSError:   # another process has just removed it
            pass
        return [entry for _, entry in sorted(found)]

    def size(self) -> int:
        """The bytes of all entries."""
        return sum(map(_size, self.entries()))

    def _evict(self, folder: Path, newest: str) -> None:
        sizes = {entry: _size(entry) for entry in self.entries()}
        total = sum(sizes.values())
        for entry, size in sizes.items():
            if total <= self.limit:
                return
            if entry.name != newest:
                _take(entry, folder)
                total -= size


def configured() -> tuple[CacheFolder | None, str]:
    """The folder that the environment names, and an empty text; or None and the reason. ``$LEGATO_CACHE`` is a path or ``off``; without it,
    ``legato`` in ``$XDG_CACHE_HOME`` or ``~/.cache``. LegatoError for a limit (``$LEGATO_CACHE_LIMIT``: 500M, 8G) that is none."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() in ("off", "0", "no"):
        return None, f"${VARIABLE} is {given}"
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path(os.path.expanduser("~/.cache"))   # XDG: relative paths are to be ignored
    path = Path(given).expanduser().absolute() if given else base / "legato"
    return CacheFolder(path, _limit()), ""


def trusted(folder: CacheFolder) -> str:
    """Makes the folder where it is missing. The reason why code in it must not be run, empty if it may be: others could have put it there,
    or the folder cannot be made."""
    try:
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.stat(folder.path)
    except OSError as error:
        return f"{folder.path} cannot be made: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder.path} is no folder"
    if found.st_uid != os.geteuid():
        return f"{folder.path} belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{folder.path} can be written by other users: chmod go-w"
    if not os.access(folder.path, os.R_OK | os.W_OK | os.X_OK):
        return f"{folder.path} cannot be written"
    return ""


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "").strip().upper()
    if not text:
        return DEFAULT_LIMIT
    match = re.fullmatch(r"(\d+)([KMG]?)B?", text)
    if match is None:
        raise LegatoError(f"${LIMIT_VARIABLE} is '{text}', expected a size: 500M, 8G")
    return int(match[1]) * _UNITS[match[2]]


def _take(entry: Path, folder: Path) -> None:
    """Moves an entry into a staging folder, which is removed with it."""
    try:
        os.rename(entry, folder / f"{entry.name}.old")
    except OSError:   # another process was first
        shutil.rmtree(folder / f"{entry.name}.old", ignore_errors=True)


def _size(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in os.scandir(folder))
    except OSError:   # another process has just removed it
        return 0
