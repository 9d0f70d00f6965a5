"""The code of a saved model: a shared object that ends in a digest, and names its weights and artifacts by theirs."""
from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from legato.core.errors import LegatoError
from legato.runtime import signature, staging
from legato.runtime.elf import MACHINES, ElfError, ElfFile
from legato.runtime.seal import check_seal, digest_of, is_sealed
from legato.runtime.signature import Signature

WEIGHTS_MARK, ARTIFACTS_MARK = b"legato weights digest: ", b"legato artifacts digest: "   # followed by 32 zeros in the object
NO_DIGEST = b"0" * 32
SUFFIX = ".legato"


@dataclass(frozen=True)
class CodeFile:
    """The contents of the file, which has been compared with its digest. ``weights``, ``artifacts``: their digests, empty if it has none.
    ``seal``: its own digest. ``calls``: the description of main's calls, for profiles; None if it has none."""

    path: Path
    signature: Signature
    weights: bytes
    artifacts: bytes
    seal: str
    calls: str | None

    @property
    def weights_path(self) -> Path:
        """The file of the weights, which is there if the model has some."""
        return staging.side_path(self.path, self.weights, "weights")

    @property
    def artifacts_path(self) -> Path:
        """The file of the artifacts, which is there if the model has some."""
        return staging.side_path(self.path, self.artifacts, "artifacts")

    def files(self) -> list[Path]:
        """All files of the saved model."""
        return [self.path, *([self.weights_path] if self.weights else []), *([self.artifacts_path] if self.artifacts else [])]


def read_code(path: Path, file: BinaryIO | None = None) -> CodeFile:
    """Reads the file at ``path`` (``file``: it, open) without loading it. LegatoError if it is no saved model, was changed after it was
    saved, or is for another machine or another version."""
    data = file.read() if file is not None else path.read_bytes()
    if is_sealed(data):
        check_seal(data, path)
    try:
        shared = ElfFile(data)
        text = shared.data("legato_metadata")
        if text is None:
            raise ElfError("it is a shared object that was not made by Legato")
        if not is_sealed(data):
            raise ElfError(_why_unsealed(text))
        weights, artifacts = (_digest(shared.data(f"legato_{kind}_digest"), mark)
                              for kind, mark in (("weights", WEIGHTS_MARK), ("artifacts", ARTIFACTS_MARK)))
        calls = shared.data("legato_calls")
    except ElfError as error:
        raise LegatoError(f"{path} is not a saved model: {error}") from error
    name, here = MACHINES.get(shared.machine, (f"number {shared.machine}", ()))
    if platform.machine() not in here:
        raise LegatoError(f"{path} was compiled for the machine {name}, and this is {platform.machine()}")
    described = Signature.parse(text.rstrip(b"\0").decode(), str(path))
    return CodeFile(path, described, weights, artifacts, digest_of(data), calls.rstrip(b"\0").decode() if calls is not None else None)


def is_saved_model(path: str | Path) -> bool:
    """Whether a path is that of a saved model, by its suffix (.legato, .so) or, for another one, by the first bytes of the file."""
    path = Path(path)
    if path.suffix in (SUFFIX, ".so"):
        return True
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def set_digest(code: Path, mark: bytes, digest: bytes) -> None:
    """Replaces the zeros after the mark in a shared object by a digest."""
    data = code.read_bytes()
    slot = mark + NO_DIGEST
    if data.count(slot) != 1:
        raise LegatoError(f"cannot save: the compiled code has {data.count(slot)} places for '{mark.decode()}' instead of one")
    code.write_bytes(data.replace(slot, mark + digest.hex().encode()))


def is_current(path: Path, file: BinaryIO) -> bool:
    """Whether ``path`` still names the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _why_unsealed(text: bytes) -> str:
    try:
        format_ = json.loads(text.rstrip(b"\0"))["format"]
    except (ValueError, KeyError, TypeError):
        format_ = signature.FORMAT
    if format_ == 1:
        return "an older Legato saved it, without a digest of its code. Save it again"
    return "it was cut off or changed after it was saved: the digest at its end is missing"


def _digest(data: bytes | None, mark: bytes) -> bytes:
    """The digest after a mark; empty if there is none."""
    text = (data or b"").rstrip(b"\0").removeprefix(mark)
    return b"" if text == NO_DIGEST else bytes.fromhex(text.decode())
