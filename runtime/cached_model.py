"""What the cache keeps of a compiled model: its code, its weights as the code reads them, and what was said about the compile."""
from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from legato.core import cpu
from legato.core.errors import LegatoError
from legato.runtime import package, packed, seal, threads, weights_file
from legato.runtime.code_file import CodeFile, read_code
from legato.runtime.digests import checksum_of
from legato.runtime.executable import Executable
from legato.runtime.first_instance import first_instance_here_or_elsewhere
from legato.runtime.library import load_library
from legato.runtime.recorder import Recorder
from legato.runtime.signature import Parameter

CODE, WEIGHTS, ABOUT = "model.so", "weights", "about.json"
MakeCode = Callable[[Path], None]   # writes a shared object


@dataclass(frozen=True)
class CachedModel:
    """An entry, whose bytes have been compared with their digests. ``weights``: None where only code is kept."""

    code: CodeFile
    content: bytes
    weights: Mapping[str, np.ndarray] | None
    about: Mapping[str, Any]


def write(folder: Path, make_code: MakeCode, about: Mapping[str, Any] | None = None, weights: Sequence[Parameter] = (),
          arrays: Sequence[np.ndarray] = ()) -> None:
    """Writes an entry into a folder. ``about``: what JSON can hold; None for code without its weights."""
    make_code(folder / CODE)
    seal.seal(folder / CODE)
    data: dict[str, Any] = {"code": read_code(folder / CODE).seal, "about": about}
    if about is not None and weights:
        data["head"] = weights_file.write(folder / WEIGHTS, weights, arrays).hex()
        data["weights"] = checksum_of(arrays)
    text = json.dumps(data).encode()
    (folder / ABOUT).write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


def read(folder: Path) -> CachedModel:
    """Reads an entry. LegatoError, OSError or ValueError for one that is not whole, and for code that does not run here."""
    digest, _, text = (folder / ABOUT).read_bytes().partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise LegatoError(f"{folder / ABOUT} was changed")
    data = json.loads(text)
    code = read_code(folder / CODE)
    if code.seal != data["code"]:
        raise LegatoError(f"{folder / CODE} is the code of another entry")
    if cpu.missing_features(code.signature.cpu, code.signature.features):
        raise LegatoError(f"{folder / CODE} is for another CPU")
    weights: Mapping[str, np.ndarray] | None = None if data["about"] is None else {}
    if "weights" in data:
        listed = code.signature.weights
        weights = weights_file.arrays_in(weights_file.read(folder / WEIGHTS, listed, bytes.fromhex(data["head"])), listed)
        if checksum_of(weights.values()) != data["weights"]:
            raise LegatoError(f"{folder / WEIGHTS} was changed")
    return CachedModel(code, (folder / CODE).read_bytes(), weights, data["about"] or {})


def executable(model: CachedModel, weights: Mapping[str, np.ndarray], artifacts: packed.Artifacts = ()) -> Executable:
    """The model of an entry, with these weights. LegatoError as ``jit`` raises it; RuntimeError if the code cannot be loaded."""
    signature = model.code.signature
    arrays = [weights[weight.name] for weight in signature.weights]
    functions = packed.resolve(signature.packed, artifacts, "the model", signature.callers)
    if signature.openmp:
        threads.load_openmp("the compiled model")
    create = load_library(model.code.path)["create"]

    def instance(*events: ctypes.c_void_p) -> Callable[..., Any]:
        return create(package.Owner(create, arrays), *(array.ctypes.data for array in arrays), *functions, *events)

    def save(path: Path, linker: str | None) -> Path:
        return package.save(path, signature, arrays, lambda to: to.write_bytes(seal.unsealed(model.content)), artifacts)

    return Executable(signature, first_instance_here_or_elsewhere(signature, instance), save, Recorder(lambda: model.code.calls, instance),
                      defaults=signature.default_arrays(arrays))
