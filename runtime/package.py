"""Saved models: ``model.legato``, and beside it ``model.legato.<digest>.weights`` and, if backends compiled parts of it,
``model.legato.<digest>.artifacts``."""
import ctypes
import re
import shutil
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from legato.core import cpu
from legato.core.errors import LegatoError
from legato.core.given import path_of
from legato.runtime import artifacts_file, threads, weights_file
from legato.runtime.code_file import ARTIFACTS_MARK, WEIGHTS_MARK, CodeFile, is_current, read_code, set_digest
from legato.runtime.executable import Executable
from legato.runtime.first_instance import first_instance
from legato.runtime.library import HOW_TO_PROVIDE, load_library
from legato.runtime.linker import find_linker, link
from legato.runtime.packed import Artifacts, resolve
from legato.runtime.recorder import Recorder
from legato.runtime.seal import digest_of, seal
from legato.runtime.signature import Signature
from legato.runtime.staging import place, side_path, staged

_PATIENCE = 10.0   # seconds in which to load a file that others replace meanwhile


class Owner:
    """The objects that an instance of a model keeps alive: its code, and the memory of its weights."""

    __slots__ = ("code", "weights")

    def __init__(self, code: object, weights: object) -> None:
        self.code, self.weights = code, weights


def linked(dump_objects: Sequence[Callable[[str], None]], linker: str | None) -> Callable[[Path], None]:
    """A function that writes a shared object to a path: the object files that ``dump_objects`` write, linked. LegatoError if there is no
    linker."""
    program = find_linker(linker)

    def make(shared: Path) -> None:
        objects = [shared.with_name(f"{shared.name}.{number}.o") for number in range(len(dump_objects))]
        for dump_object, path in zip(dump_objects, objects):
            dump_object(str(path))
        link(objects, shared, program)
        for path in objects:
            path.unlink()

    return make


def save(path: Path, signature: Signature, arrays: Sequence[np.ndarray], make_code: Callable[[Path], Any],
         artifacts: Artifacts = ()) -> Path:
    """Puts the shared object that ``make_code`` writes at ``path``, with weights and artifacts beside it. Returns ``path``.

    The files are replaced as one: a reader finds those of this save, or those of another, and a process that has loaded others keeps them.
    """
    artifacts_file.check_savable(artifacts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with staged(path) as folder:
        shared, files = folder / "model.so", []
        make_code(shared)
        if signature.weights:
            digest = weights_file.write(folder / "weights", signature.weights, arrays)
            set_digest(shared, WEIGHTS_MARK, digest)
            files.append((folder / "weights", side_path(path, digest, "weights")))
        if artifacts:
            digest = artifacts_file.write(folder / "artifacts", artifacts, [weight.name for weight in signature.weights])
            set_digest(shared, ARTIFACTS_MARK, digest)
            files.append((folder / "artifacts", side_path(path, digest, "artifacts")))
        seal(shared)
        place([*files, (shared, path)])
    return path


def saved_files(path: str | PathLike[str]) -> list[Path]:
    """The files of the model saved at ``path``, its code first. LegatoError if it is not a saved model."""
    return read_code(path_of(path, "a saved model")).files()


def load(path: str | PathLike[str], weights: str | PathLike[str] | None = None, verify: bool = False) -> Executable:
    """Loads a model that ``Executable.save`` wrote. Imports no MLIR.

    Code and artifacts are compared with their digests before any of them runs. weights: the weights' file, if it is not beside the model.
    verify: compare the weights' bytes with their digest, too, which reads the whole file (about 1 s for 2 GB); otherwise their size and
    head are compared. LegatoError if the file is not such a model, was changed, was made by a newer or a much older Legato, or needs a CPU,
    a device or an OpenMP runtime that is missing, or if the weights or artifacts are missing, truncated or changed.
    """
    path = path_of(path, "a saved model").absolute()
    if path.is_dir():
        raise LegatoError(f"{path} is a folder, not a saved model")
    if not path.is_file():
        raise LegatoError(f"there is no saved model {path}")
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            file = open(path, "rb")
        except OSError as error:
            raise LegatoError(f"cannot read {path}: {error.strerror}") from error
        with file:   # while it is open, no other file has its number
            try:
                executable = _load(read_code(path, file), weights, verify)
                if is_current(path, file):
                    return executable
            except LegatoError:
                if is_current(path, file):
                    raise
    raise LegatoError(f"{path} was replaced each time that it was loaded, for {_PATIENCE:.0f} s")


def _load(code: CodeFile, weights: str | PathLike[str] | None, verify: bool) -> Executable:
    path, signature = code.path, code.signature
    lacking = cpu.missing_features(signature.cpu, signature.features)
    if lacking:
        raise LegatoError(f"{path} was compiled for the CPU {signature.cpu}; this one ({cpu.host_name()}) does not have "
                          f"{', '.join(lacking)}. Compile the model on this machine, or for an older CPU (target llvm{{cpu=x86-64-v3}})")
    file = path_of(weights, "weights=").absolute() if weights is not None else code.weights_path
    data = weights_file.read(file, signature.weights, code.weights, verify) if signature.weights else None
    held = weights_file.arrays_in(data, signature.weights) if data is not None and (code.artifacts or signature.defaults) else {}
    artifacts = artifacts_file.read(code.artifacts_path, code.artifacts, held) if code.artifacts else []
    if signature.openmp:
        threads.load_openmp(str(path))
    try:
        module = load_library(path)
    except Exception as error:
        missing = re.search(r"undefined symbol: (\w+)", str(error))
        reason = f"its code calls '{missing[1]}', which no library has: {HOW_TO_PROVIDE}" if missing else error
        raise LegatoError(f"{path} cannot be loaded: {reason}") from error
    places = weights_file.offsets(signature.weights)[:-1]
    addresses = [data.ctypes.data + place for place in places] if data is not None else []
    packed = resolve(signature.packed, artifacts, str(path), signature.callers)
    defaults = {name: held[key] for name, key in signature.defaults}

    def instance(*events: ctypes.c_void_p) -> Callable[..., Any]:
        return module["create"](Owner(module, data), *addresses, *packed, *events)

    return Executable(signature, first_instance(signature, instance), lambda to, linker: _copy(code, data, to),
                      Recorder(lambda: code.calls, instance), defaults=defaults)


def _copy(code: CodeFile, weights: np.memmap | None, to: Path) -> Path:
    """Saves a loaded model elsewhere. LegatoError if its files were replaced since it was loaded."""
    data = code.path.read_bytes()
    if digest_of(data) != code.seal:
        raise LegatoError(f"cannot save the model as {to}: {code.path}, which it was loaded from, was replaced since")
    if to.resolve() == code.path.resolve():
        return to
    to.parent.mkdir(parents=True, exist_ok=True)
    with staged(to) as folder:
        files = []
        if weights is not None:
            weights.tofile(folder / "weights")
            files.append((folder / "weights", side_path(to, code.weights, "weights")))
        if code.artifacts:
            shutil.copyfile(code.artifacts_path, folder / "artifacts")
            files.append((folder / "artifacts", side_path(to, code.artifacts, "artifacts")))
        shared = folder / "model.so"
        shared.write_bytes(data)
        shutil.copymode(code.path, shared)
        place([*files, (shared, to)])
    return to
