"""Reads of a file's arrays in the background, while the rest of the model is imported."""
import os
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import numpy as np

from legato.core import background
from legato.core.errors import LegatoError


class Reads:
    """Arrays to read from a file. ``arrays``, ``done``: by name; an array has its elements when its read is done. Whoever makes it calls
    ``finish``."""

    def __init__(self, path: Path) -> None:
        """OSError if the file cannot be opened."""
        self.file = open(path, "rb")
        self.arrays: dict[str, np.ndarray] = {}
        self.done: dict[str, Future[None]] = {}
        self._path = path
        self._places: dict[str, int] = {}

    def add(self, name: str, array: np.ndarray, place: int) -> None:
        """Adds a contiguous array, which lies at a place of the file, in bytes."""
        self.arrays[name], self._places[name] = array, place

    def clear(self) -> None:
        """Forgets the arrays, none of which is being read yet."""
        self.arrays.clear()

    def begin(self) -> None:
        """Begins to read. All arrays are allocated by then: an allocation waits for the kernel while threads touch fresh memory."""
        for name, array in self.arrays.items():
            self.done[name] = background.begin(partial(self._fill, array, self._places[name]))

    def finish(self) -> None:
        """Returns when all is read, and closes the file. LegatoError if that failed."""
        background.wait(self.done.values())
        self.file.close()
        for read in self.done.values():
            read.result()

    def _fill(self, array: np.ndarray, place: int) -> None:
        left = array.reshape(-1).view(np.uint8).data
        try:
            while left.nbytes:
                count = os.preadv(self.file.fileno(), [left], place)
                if not count:
                    raise LegatoError(f"{self._path} was cut off while it was read")
                left, place = left[count:], place + count
        except OSError as error:
            raise LegatoError(f"cannot read {self._path}: {error.strerror}") from error
