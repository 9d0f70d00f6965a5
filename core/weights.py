"""The weight store: bytes of large constants, by key, outside the IR."""

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from legato.core import safetensors_file
from legato.core.errors import LegatoError
from legato.core.weight_memory import WeightMemory


class MissingWeightError(LegatoError, KeyError):
    """The store has no weight of that key."""

    __str__ = Exception.__str__


class WeightStore(Mapping):
    """A mapping from key to read-only numpy array. An array is held as given, or memory-mapped from a file at its first read."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}
        self._files: dict[str, tuple[Path, safetensors_file.TensorEntry]] = {}
        self._maps: dict[Path, np.ndarray] = {}
        self._kept: frozenset[str] = frozenset()
        self._filling: dict[str, Future[None]] = {}     # arrays that have their elements when this is done
        self._memory = WeightMemory()

    def __getitem__(self, key: str) -> np.ndarray:
        if key in self._filling:
            self._filling[key].result()
            self._filling.pop(key, None)
        array = self._arrays.get(key)
        if array is not None:
            return array
        if key not in self._files:
            raise MissingWeightError(f"no weight '{key}' in the store, which has {len(self)} weights")
        path, entry = self._files[key]
        array = self._arrays[key] = self._map(key, path, entry)
        return array

    def __contains__(self, key: object) -> bool:
        return key in self._arrays or key in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(list(dict.fromkeys([*self._files, *self._arrays])))

    def __len__(self) -> int:
        return len(self._files.keys() | self._arrays.keys())

    @property
    def nbytes(self) -> int:
        """Total size of all weights in bytes, mapped or held."""
        mapped = sum(_size(entry) for _, entry in self._files.values())
        return mapped + sum(array.nbytes for key, array in self._arrays.items() if key not in self._files)

    def type_of(self, key: str) -> tuple[np.dtype, tuple[int, ...]]:
        """The dtype and shape of a weight, without mapping it."""
        one = self._arrays.get(key)
        if one is None:
            one = self._files[key][1] if key in self._files else self[key]
        return one.dtype, tuple(one.shape)

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """An array without elements yet, for a weight that ``add`` is given: in memory that is read fast."""
        return self._memory.empty(shape, dtype)

    def add(self, name: str, array: np.ndarray, filling: Future[None] | None = None) -> str:
        """Holds the array, uncopied and read-only, under a key made from the name (``name``, ``name_1``, ...). Returns the key.

        ``filling``: what gives the array its elements; who reads the weight waits for it, and gets its exception."""
        array = np.asarray(array)
        safetensors_file.check_dtype(name, array.dtype)
        view = array.view()
        view.flags.writeable = False
        key = self._unique(name)
        self._arrays[key] = view
        if filling is not None:
            self._filling[key] = filling
        return key

    def adopt(self, key: str, array: np.ndarray) -> None:
        """Holds an array of another store under the same key. LegatoError if the key is taken here."""
        if self.add(key, array) != key:
            raise LegatoError(f"there is a weight '{key}' already")

    def add_file(self, name: str, path: str | Path, offset: int, dtype, shape) -> str:
        """Adds a weight stored in a file at a byte offset; it is mapped at its first read. Returns the key, as ``add`` does."""
        path, entry = Path(path), safetensors_file.TensorEntry(offset, np.dtype(dtype), tuple(shape))
        safetensors_file.check_dtype(name, entry.dtype)
        if not path.is_file():
            raise LegatoError(f"weight '{name}' lies in {path}, which is not there")
        if offset + _size(entry) > os.path.getsize(path):
            raise LegatoError(f"weight '{name}' ends at byte {offset + _size(entry)} of {path}, which has {os.path.getsize(path)} bytes")
        key = self._unique(name)
        self._files[key] = (path, entry)
        return key

    def drop(self, key: str) -> None:
        """Removes a weight, unless it is kept (``keeping``). Its memory is freed with the last reference to the array."""
        if key not in self:
            raise MissingWeightError(f"no weight '{key}' to drop")
        if key in self._kept:
            return
        array = self._arrays.pop(key, None)
        self._filling.pop(key, None)
        if self._files.pop(key, None) is not None and array is not None:
            release_pages(array)
        if not self._files:
            self._maps.clear()

    @contextmanager
    def keeping(self, keys: Iterable[str]) -> Iterator[None]:
        """A context in which ``drop`` ignores these keys, because IR outside of the module that is being compiled names them, too."""
        before = self._kept
        self._kept = before | frozenset(keys)
        try:
            yield
        finally:
            self._kept = before

    def copy(self) -> "WeightStore":
        """A new store with the same arrays, shared. Adding and dropping weights in one does not change the other."""
        other = WeightStore()
        other._arrays, other._files, other._maps = dict(self._arrays), dict(self._files), dict(self._maps)
        other._filling = dict(self._filling)
        return other

    def save(self, path: str | Path) -> None:
        """Writes all weights as a safetensors file."""
        safetensors_file.write(path, self)

    @staticmethod
    def load(path: str | Path) -> "WeightStore":
        """A store with the weights of a safetensors file, each mapped at its first read."""
        store = WeightStore()
        for key, entry in safetensors_file.read_header(path).items():
            store._files[key] = (Path(path), entry)
        return store

    def _unique(self, name: str) -> str:
        key, count = name, 0
        while key in self:
            count += 1
            key = f"{name}_{count}"
        return key

    def _map(self, key: str, path: Path, entry: safetensors_file.TensorEntry) -> np.ndarray:
        size = _size(entry)
        if size == 0:
            return np.frombuffer(b"", entry.dtype).reshape(entry.shape)
        if path not in self._maps:
            try:
                self._maps[path] = np.memmap(path, np.uint8, mode="r")
            except OSError as error:
                raise LegatoError(f"cannot read weight '{key}' from {path}: {error}") from error
        data = self._maps[path][entry.offset : entry.offset + size]
        if data.nbytes != size:
            end = entry.offset + size
            raise LegatoError(f"weight '{key}' ends at byte {end} of {path}, which now has {self._maps[path].nbytes} bytes")
        return np.frombuffer(data, entry.dtype).reshape(entry.shape)


def release_pages(array: np.ndarray) -> None:
    """Gives back the memory that reading a weight of a mapped file took; it may be read again. Other arrays are left as they are."""
    mapped: object = array
    while isinstance(mapped, np.ndarray) and not isinstance(mapped.base, mmap.mmap):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or mapped.mode != "r" or mapped.offset or not array.flags.c_contiguous:
        return
    page = mmap.PAGESIZE   # other weights may have a part of the first page and the last one
    begin = array.ctypes.data - mapped.ctypes.data
    first, end = -(-begin // page) * page, (begin + array.nbytes) // page * page
    memory = mapped.base
    if isinstance(memory, mmap.mmap) and first < end:
        memory.madvise(mmap.MADV_DONTNEED, first, end - first)


def _size(entry: safetensors_file.TensorEntry) -> int:
    return int(np.prod(entry.shape, dtype=np.int64)) * entry.dtype.itemsize
