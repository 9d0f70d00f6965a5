"""Memory for the weights of a model, in huge pages where the system gives them.

A weight that has left the caches is read at the memory's speed only if its addresses are translated as fast: in a virtual machine, pages of
4 KB halve it for matrices of few megabytes.
"""
import mmap
from collections.abc import Sequence
from math import prod

import numpy as np

from legato.core.cpu_table import HUGE_PAGE, LINE

CHUNK = 1 << 25         # bytes that are reserved at once; only what is written takes memory


class WeightMemory:
    """Gives arrays one behind the other, so that small ones share huge pages. What arrays lie in is freed with the last of them."""

    def __init__(self) -> None:
        self._rest = np.empty(0, np.uint8)      # of the last chunk, behind its arrays

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """An array without elements yet, that begins at a cache line: vectors of 64 bytes are in one line each."""
        size = prod(shape) * dtype.itemsize
        room = -(-size // LINE) * LINE
        if room > self._rest.size:
            self._rest = _chunk(max(room, CHUNK))
        taken, self._rest = self._rest[:size], self._rest[room:]
        return taken.view(dtype).reshape(shape)


def _chunk(size: int) -> np.ndarray:
    """At least so many bytes, from the begin of a huge page on."""
    whole = -(-size // HUGE_PAGE) * HUGE_PAGE
    memory = mmap.mmap(-1, whole + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    chunk = np.frombuffer(memory, np.uint8)
    return chunk[-chunk.ctypes.data % HUGE_PAGE:][:whole]
