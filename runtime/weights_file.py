"""The weights of a saved model: one file, which is memory-mapped.

A head of 64 bytes: magic, format, number of weights, size of the file, digest of all weights, CRC of the bytes before it. Then the weights
in the model's order, each aligned to 64 bytes. The model's ``.so`` contains the digest, so that the two cannot be mixed up.
"""
import hashlib
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.signature import Parameter, weight_bytes

ALIGNMENT = 64
_MAGIC, _FORMAT = b"LEGATO-W", 1
_HEAD = struct.Struct("<8sIIQ16s20x")
_ROW, _ROWS = 4096, 256   # words in a row of the checksum; rows at a time (8 MB)


def offsets(weights: Sequence[Parameter]) -> list[int]:
    """The byte offset of each weight, then the size of the file."""
    found = [ALIGNMENT]
    for weight in weights:
        found.append(-(-(found[-1] + weight_bytes(weight)) // ALIGNMENT) * ALIGNMENT)
    return found


def write(path: Path, weights: Sequence[Parameter], arrays: Iterable[np.ndarray]) -> bytes:
    """Writes the file. Returns the digest (16 bytes). ``arrays``: contiguous, in the order of ``weights``."""
    places = offsets(weights)
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "wb") as file:
        file.write(b"\0" * ALIGNMENT)
        for weight, array, end in zip(weights, arrays, places[1:]):
            data = array.reshape(-1).view(np.uint8)
            file.write(data.data)
            file.write(b"\0" * (end - file.tell()))
            _add(digest, weight, data)
        head = _HEAD.pack(_MAGIC, _FORMAT, len(weights), places[-1], digest.digest())
        file.seek(0)
        file.write(head + struct.pack("<I", zlib.crc32(head)))
    return digest.digest()


def read(path: Path, weights: Sequence[Parameter], digest: bytes, verify: bool = True) -> np.memmap:
    """Maps the whole file. LegatoError if it is missing, truncated, another model's, or changed.

    verify: compare every weight with the digest, which reads the whole file (0.1 s for 500 MB in the page cache).
    """
    if not path.is_file():
        raise LegatoError(f"the weights of the model are missing: there is no file {path}. It was saved beside the model: copy both, or "
                          "say where it is: legato.load(model, weights=...)")
    size, expected = path.stat().st_size, offsets(weights)[-1]
    if size < expected:
        raise LegatoError(f"the weights {path} are cut off: the file has {size} bytes of {expected}")
    data = np.memmap(path, np.uint8, mode="r")
    head = data[: _HEAD.size].tobytes()
    magic, format_, count, said, found = _HEAD.unpack(head)
    if magic != _MAGIC:
        raise LegatoError(f"{path} is not a file of weights of a saved model")
    if format_ > _FORMAT:
        raise LegatoError(f"the weights {path} have format {format_}; this version of Legato reads up to {_FORMAT}: update legato")
    if struct.unpack("<I", data[_HEAD.size : ALIGNMENT].tobytes())[0] != zlib.crc32(head):
        raise LegatoError(f"the weights {path} were changed after they were saved: the head of the file is damaged")
    if found != digest or count != len(weights) or said != expected:
        raise LegatoError(f"the weights {path} are those of another model, or of another compile of this one: save the model again, "
                          "or copy the file that was saved with it")
    if size != expected:
        raise LegatoError(f"the weights {path} were changed after they were saved: the file has {size} bytes instead of {expected}")
    if verify:
        again = hashlib.blake2b(digest_size=16)
        for weight, at in zip(weights, offsets(weights)):
            _add(again, weight, data[at : at + weight_bytes(weight)])
        if again.digest() != digest:
            raise LegatoError(f"the weights {path} were changed after they were saved: their contents do not fit their digest")
    return data


def _add(digest, weight: Parameter, data: np.ndarray) -> None:
    """Adds a weight's description to the digest, and the sums over rows and columns of its words: fast, and sensitive to any changed
    bit."""
    digest.update(f"{weight.name}\0{weight.dtype}\0{weight.shape}\0".encode())
    whole = data.nbytes // 8 * 8
    if whole:
        words = data[:whole].view(np.uint64)
        square = len(words) // _ROW * _ROW
        for begin in range(0, square, _ROW * _ROWS):
            block = words[begin : min(begin + _ROW * _ROWS, square)].reshape(-1, _ROW)
            digest.update(np.add.reduce(block, axis=1).tobytes())
            digest.update(np.add.reduce(block, axis=0).tobytes())
        digest.update(words[square:].tobytes())
    digest.update(data[whole:].tobytes())
