"""``legato.cache``: compiled models that a folder keeps, so that a second compile of a model takes a fraction of a second.

    legato.cache.info()     # where it is, what it holds, what this process found in it
    legato.cache.clear()    # removes all of it

docs/cache.md says what is kept and when. ``legato.compile(..., cache=False)`` and ``LEGATO_CACHE=off`` do without.
"""
from dataclasses import dataclass
from pathlib import Path

from legato.compile_cache import uses, wait_for_writers
from legato.runtime.cache_folder import configured, trusted

__all__ = ["CacheInfo", "clear", "info"]


@dataclass(frozen=True)
class CacheInfo:
    """The state of the cache. ``folder``: None where it is off; ``reason``: why it is off or not used, else empty; ``entries``, ``bytes``:
    what the folder holds; ``limit``: bytes that it may hold; ``hits``, ``misses``: of compiles of this process."""

    folder: Path | None
    reason: str
    entries: int
    bytes: int
    limit: int
    hits: int
    misses: int

    def __str__(self) -> str:
        if self.folder is None or self.reason:
            return f"no cache: {self.reason}"
        return (f"{self.folder}: {self.entries} entries, {self.bytes / 1e6:.0f} MB of at most {self.limit / 1e6:.0f} MB; "
                f"{self.hits} found, {self.misses} not found by this process")


def info() -> CacheInfo:
    """The state of the cache, with the hits and misses of this process. LegatoError for a ``$LEGATO_CACHE_LIMIT`` that is no size."""
    wait_for_writers()
    folder, reason = configured()
    if folder is None:
        return CacheInfo(None, reason, 0, 0, 0, uses.hits, uses.misses)
    return CacheInfo(folder.path, trusted(folder), len(folder.entries()), folder.size(), folder.limit, uses.hits, uses.misses)


def clear() -> None:
    """Removes all entries. Models that were loaded from there go on running."""
    wait_for_writers()
    folder, _ = configured()
    if folder is not None and not trusted(folder):
        folder.clear()


def __dir__() -> list[str]:
    return __all__
