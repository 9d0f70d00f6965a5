"""Files that cannot be parsed, as lines and bytes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.core.notebook import bytes_text
from legato.reduction.search import Search


@dataclass(frozen=True)
class RawFile:
    """The bytes of a file."""

    data: bytes

    def content(self) -> bytes:
        """The bytes."""
        return self.data

    def size(self) -> str:
        """The number of bytes."""
        return bytes_text(len(self.data))

    def write(self, path: Path) -> None:
        """Writes the file."""
        path.write_bytes(self.data)


def drop_lines(search: Search[RawFile]) -> None:
    """Drops lines."""
    search.minimize(search.best.data.splitlines(keepends=True), lambda kept: RawFile(b"".join(kept)))


def drop_bytes(search: Search[RawFile]) -> None:
    """Drops bytes."""
    data = search.best.data
    search.minimize(range(len(data)), lambda kept: RawFile(bytes(data[n] for n in kept)))


STEPS: Sequence[tuple[str, Callable[[Search[RawFile]], None]]] = (("lines", drop_lines), ("bytes", drop_bytes))
