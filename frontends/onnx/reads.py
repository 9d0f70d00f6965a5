"""Reads of a file's arrays in the background, while the rest of the model is imported."""
import os
from concurrent.futures import Future, wait
from pathlib import Path

import numpy as np

from legato.core import background
from legato.core.errors import LegatoError


class Reads:
    """Arrays that are being read from a file. ``arrays``, ``done``: by name; an array has its elements when its read is done. Whoever makes
    it calls ``finish``."""

    def __init__(self, path: Path) -> None:
        """OSError if the file cannot be opened."""
        self.file = open(path, "rb")
        self.arrays: dict[str, np.ndarray] = {}
        self.done: dict[str, Future[None]] = {}
        self._path = path

    def begin(self, name: str, array: np.ndarray, place: int) -> None:
        """Begins to read a contiguous array from a place of the file, in bytes."""
        self.arrays[name] = array
        self.done[name] = background.begin(lambda: self._fill(array, place))

    def finish(self) -> None:
        """Returns when all is read, and closes the file. LegatoError if that failed."""
        wait(self.done.values())
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
