"""The digest at the end of a saved model's code: a mark, then the SHA-256 of every byte before it as 64 hexadecimal digits.

A dynamic loader ignores bytes after the sections. The digest is compared before the code is loaded, because loading relocates the code by
tables of the file, and runs its initializers. The same by hand: ``head -c -64 FILE | sha256sum`` and ``tail -c 64 FILE``.
"""
import hashlib
from pathlib import Path

from legato.core.errors import LegatoError

_MARK = b"legato sha-256: "
_DIGITS = 64


def seal(path: Path) -> None:
    """Appends the digest to a file."""
    data = path.read_bytes() + _MARK
    with open(path, "ab") as file:
        file.write(_MARK + hashlib.sha256(data).hexdigest().encode())


def is_sealed(data: bytes) -> bool:
    """Whether the bytes of a file end in a digest, right or wrong."""
    return data[-_DIGITS - len(_MARK) : -_DIGITS] == _MARK


def check_seal(data: bytes, path: Path) -> None:
    """LegatoError if the digest at the end of a file's bytes does not fit them."""
    if hashlib.sha256(data[:-_DIGITS]).hexdigest().encode() != data[-_DIGITS:]:
        raise LegatoError(f"{path} was changed after it was saved: its bytes do not fit the digest at its end. Save the model again, or "
                          "copy the file again")


def digest_of(data: bytes) -> str:
    """The digest at the end of a sealed file's bytes, as text."""
    return data[-_DIGITS:].decode("ascii", "replace")


def unsealed(data: bytes) -> bytes:
    """The bytes of a sealed file without the digest at their end."""
    return data[:-_DIGITS - len(_MARK)]
