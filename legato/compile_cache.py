"""The cache in a compile: finds what an earlier compile of the same model made, and keeps what this one makes."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.cache_keys import code_key, model_key
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.runtime import cached_model
from legato.runtime.cache_folder import CacheFolder, configured, trusted
from legato.runtime.executable import Executable
from legato.runtime.packed import Artifacts
from legato.targets.target import Target

WORTH_IT = 0.2   # seconds of work that an entry saves, from which on it is written; linking its code takes 0.05
_DAMAGED = (LegatoError, OSError, ValueError, KeyError, RuntimeError)   # what reading and loading an entry can raise


@dataclass
class Uses:
    """How often compiles of this process found an entry, and how often not."""

    hits: int = 0
    misses: int = 0


uses = Uses()
_writers: dict[str, threading.Thread] = {}


class CompileCache:
    """The cache as one compile uses it. ``folder``: None for a compile without it. A graph is looked up before it is lowered, if it has a
    key, else its lowered module before LLVM gets it."""

    def __init__(self, folder: CacheFolder | None) -> None:
        self._folder = folder
        self._key: str | None = None
        self._has_model_key = False

    @staticmethod
    def of(wanted: bool) -> CompileCache:
        """The cache that the environment names, if the compile wants it and the folder can be trusted."""
        folder = configured()[0] if wanted else None
        return CompileCache(folder if folder is not None and not trusted(folder) else None)

    def model(self, module: Module, target: Target) -> tuple[Executable, Mapping[str, Any]] | None:
        """The executable that a compile of this graph would make, and what was kept about that compile; None if there is none."""
        if self._folder is None:
            return None
        self._key = model_key(module, target)
        self._has_model_key = self._key is not None
        with self._entry() as found:
            if found is not None and found.weights is not None:
                return cached_model.executable(found, found.weights), found.about
        return None

    def code(self, lowered: ir.Module, weights: Mapping[str, np.ndarray], artifacts: Artifacts) -> Executable | None:
        """The executable of machine code that LLVM made of the same module before; None if there is none, or if the graph has a key."""
        if self._folder is None or self._has_model_key:
            return None
        self._key = code_key(lowered)
        with self._entry() as found:
            if found is not None:
                from legato.codegen.jit import jit

                return jit(lowered, weights, artifacts=artifacts, made=found)
        return None

    def keep(self, executable: Executable, whole: float, native: float, about: Callable[[], Mapping[str, Any]]) -> None:
        """Keeps what a compile made, which took ``whole`` seconds, of these ``native`` in LLVM: all of it, or machine code only.

        A thread writes it: hundreds of megabytes of weights take a second. The process does not end before."""
        seconds = whole if self._has_model_key else native
        folder, key, write = self._folder, self._key, executable.write_entry
        if folder is None or key is None or write is None or seconds < WORTH_IT:
            return

        def work() -> None:
            with suppress(LegatoError, OSError):   # no linker, no room on the disk: the next compile takes as long as this one
                folder.add(key, lambda entry: write(entry, about() if self._has_model_key else None))

        thread = threading.Thread(target=work, name="legato cache")
        _writers[key] = thread
        thread.start()

    @contextmanager
    def _entry(self) -> Iterator[cached_model.CachedModel | None]:
        """The entry of the key, None if there is none. A damaged one, which shows when it is read or loaded, is dropped: the compile goes
        on as if it had not been there."""
        assert self._folder is not None
        key, found = self._key, None
        if key is None:
            yield None
            return
        if key in _writers:
            _writers.pop(key).join()
        entry = self._folder.find(key)
        if entry is not None:
            try:
                found = cached_model.read(entry)
            except _DAMAGED:
                self._folder.drop(key)
        uses.hits, uses.misses = uses.hits + (found is not None), uses.misses + (found is None)
        with suppress(*_DAMAGED):
            yield found
            return
        self._folder.drop(key)


def wait_for_writers() -> None:
    """Returns when all that this process keeps has been written."""
    for key in list(_writers):
        _writers.pop(key).join()
