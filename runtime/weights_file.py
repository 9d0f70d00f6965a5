"""The weights of a saved model: one file, which is memory-mapped.

A head of 64 bytes: magic, format, number of weights, size of the file, digest, CRC of the bytes before it. Then the weights in the
model's order, each aligned to 64 bytes. The digest is the first half of the SHA-256 of all bytes after the head; the model's code contains
it too, so that the two cannot be mixed up, and the file's name a part of it.
"""
import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.signature import Parameter, weight_bytes

ALIGNMENT = 64
_MAGIC, _FORMAT = b"LEGATO-W", 2
_HEAD = struct.Struct("<8sIIQ16s20x")


def offsets(weights: Sequence[Parameter]) -> list[int]:
    """The byte offset of each weight, then the size of the file."""
    found = [ALIGNMENT]
    for weight in weights:
        found.append(-(-(found[-1] + weight_bytes(weight)) // ALIGNMENT) * ALIGNMENT)
    return found


def arrays_in(data: np.ndarray, weights: Sequence[Parameter]) -> dict[str, np.ndarray]:
    """The weights by name, as views of a whole file."""
    places = offsets(weights)
    shapes = {w.name: tuple(int(size) for size in w.shape) for w in weights}
    return {w.name: data[at:at + weight_bytes(w)].view(w.dtype).reshape(shapes[w.name]) for w, at in zip(weights, places)}


def write(path: Path, weights: Sequence[Parameter], arrays: Iterable[np.ndarray]) -> bytes:
    """Writes the file. Returns the digest (16 bytes). ``arrays``: contiguous, in the order of ``weights``."""
    places = offsets(weights)
    hashed = hashlib.sha256()
    with open(path, "wb") as file:
        file.write(b"\0" * ALIGNMENT)
        for array, end in zip(arrays, places[1:]):
            data = array.reshape(-1).view(np.uint8).data
            padding = b"\0" * (end - file.tell() - data.nbytes)
            for part in (data, padding):
                file.write(part)
                hashed.update(part)
        digest = hashed.digest()[:16]
        head = _HEAD.pack(_MAGIC, _FORMAT, len(weights), places[-1], digest)
        file.seek(0)
        file.write(head + struct.pack("<I", zlib.crc32(head)))
    return digest


def read(path: Path, weights: Sequence[Parameter], digest: bytes, verify: bool = False) -> np.memmap:
    """Maps the whole file. LegatoError if it is missing, truncated, another model's, or changed.

    verify: compare every byte with the digest, which reads the whole file (1 s for 2 GB in the page cache).
    """
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise LegatoError(f"the weights of the model are missing: there is no file {path}. It was saved beside the model: copy both, or "
                          "say where it is: legato.load(model, weights=...)") from None
    except OSError as error:
        raise LegatoError(f"cannot read the weights {path}: {error.strerror}") from error
    with file:
        size, expected = os.fstat(file.fileno()).st_size, offsets(weights)[-1]
        if size < expected:
            raise LegatoError(f"the weights {path} are cut off: the file has {size} bytes of {expected}")
        data = np.memmap(file, np.uint8, mode="r")
    head = data[: _HEAD.size].tobytes()
    magic, format_, count, said, found = _HEAD.unpack(head)
    if magic != _MAGIC:
        raise LegatoError(f"{path} is not a file of weights of a saved model")
    if format_ != _FORMAT:
        raise LegatoError(f"the weights {path} have format {format_}, and this version of Legato reads {_FORMAT}: "
                          f"{'update legato' if format_ > _FORMAT else 'save the model again'}")
    if struct.unpack("<I", data[_HEAD.size : ALIGNMENT].tobytes())[0] != zlib.crc32(head):
        raise LegatoError(f"the weights {path} were changed after they were saved: the head of the file is damaged")
    if found != digest or count != len(weights) or said != expected:
        raise LegatoError(f"the weights {path} are those of another model, or of another compile of this one: save the model again, "
                          "or copy the file that was saved with it")
    if size != expected:
        raise LegatoError(f"the weights {path} were changed after they were saved: the file has {size} bytes instead of {expected}")
    if verify and hashlib.sha256(data[ALIGNMENT:].data).digest()[:16] != digest:
        raise LegatoError(f"the weights {path} were changed after they were saved: their contents do not fit their digest")
    return data
