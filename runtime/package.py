"""Saved models: ``model.so``, ``model.so.weights``, and ``model.so.artifacts`` if backends compiled parts of it."""
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import tvm_ffi

from legato.core import cpu
from legato.core.errors import LegatoError
from legato.runtime import artifacts_file, threads, weights_file
from legato.runtime.elf import MACHINES, ElfError, ElfFile
from legato.runtime.executable import Executable
from legato.runtime.linker import find_linker, link
from legato.runtime.packed import Artifacts, resolve
from legato.runtime.signature import Signature

WEIGHTS_MARK, ARTIFACTS_MARK = b"legato weights digest: ", b"legato artifacts digest: "   # followed by 32 zeros in the object
NO_DIGEST = b"0" * 32


class Owner:
    """The objects that an instance of a model keeps alive: its code, and the memory of its weights."""

    __slots__ = ("code", "weights")

    def __init__(self, code: object, weights: object) -> None:
        self.code, self.weights = code, weights


def weights_path(path: Path) -> Path:
    """The file with the weights of the model saved at ``path``."""
    return path.with_name(path.name + ".weights")


def artifacts_path(path: Path) -> Path:
    """The file with the artifacts of the model saved at ``path``."""
    return path.with_name(path.name + ".artifacts")


def save(path: Path, signature: Signature, arrays: Sequence[np.ndarray], dump_object: Callable[[str], None], linker: str | None,
         artifacts: Artifacts = ()) -> Path:
    """Links the object file that ``dump_object`` writes to a shared object at ``path``, with weights and artifacts beside it. Returns
    ``path``.

    Files are replaced only when complete, and a process that has loaded the old ones keeps them.
    """
    artifacts_file.check_savable(artifacts)
    program = find_linker(linker)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".legato-", dir=path.parent) as folder:
        code, weights, shared = (Path(folder, name) for name in ("model.o", "weights", "model.so"))
        dump_object(str(code))
        if signature.weights:
            _set_digest(code, WEIGHTS_MARK, weights_file.write(weights, signature.weights, arrays))
        if artifacts:
            _set_digest(code, ARTIFACTS_MARK, artifacts_file.write(Path(folder, "artifacts"), artifacts))
        link([code], shared, program)
        if artifacts:
            os.replace(Path(folder, "artifacts"), artifacts_path(path))
        if signature.weights:
            os.replace(weights, weights_path(path))
        os.replace(shared, path)
    return path


def load(path: str | PathLike, weights: str | PathLike | None = None, verify: bool = True) -> Executable:
    """Loads a model that ``Executable.save`` wrote. Imports no MLIR.

    weights: the weights' file, if it is not beside the model. verify: compare weights and artifacts with the digests in the model, which
    reads the whole files. LegatoError if the file is not such a model, was made by a newer Legato, or needs a CPU or an OpenMP runtime
    that is missing, or if the weights or artifacts are missing, truncated or changed.
    """
    path = Path(path).absolute()
    if not path.is_file():
        raise LegatoError(f"there is no saved model {path}")
    signature, digest, of_artifacts = _inspect(path)
    lacking = cpu.missing_features(signature.cpu, signature.features)
    if lacking:
        raise LegatoError(f"{path} was compiled for the CPU {signature.cpu}; this one ({cpu.host_name()}) does not have "
                          f"{', '.join(lacking)}. Compile the model on this machine, or for an older CPU (target llvm{{cpu=x86-64-v3}})")
    file = Path(weights).absolute() if weights is not None else weights_path(path)
    data = weights_file.read(file, signature.weights, digest, verify) if signature.weights else None
    if signature.openmp:
        threads.load_openmp(str(path))
    try:
        module = tvm_ffi.load_module(str(path))
    except Exception as error:
        raise LegatoError(f"{path} cannot be loaded: {error}") from error
    places = weights_file.offsets(signature.weights)[:-1]
    addresses = [data.ctypes.data + place for place in places] if data is not None else []
    artifacts = artifacts_file.read(artifacts_path(path), of_artifacts if verify else None) if of_artifacts else []
    packed = resolve(signature.packed, artifacts, str(path), signature.callers)
    function = module["create"](Owner(module, data), *addresses, *packed)

    def copy(to: Path, linker: str | None) -> Path:
        to.parent.mkdir(parents=True, exist_ok=True)
        if signature.weights:
            _copy(file, weights_path(to))
        if artifacts:
            _copy(artifacts_path(path), artifacts_path(to))
        return _copy(path, to)

    return Executable(signature, function, copy)


def _inspect(path: Path) -> tuple[Signature, bytes, bytes]:
    """The metadata of a saved model, and the digests of its weights and artifacts (empty if it has none), without loading it."""
    try:
        shared = ElfFile(path)
        text = shared.data("legato_metadata")
        weights = _digest(shared.data("legato_weights_digest"), WEIGHTS_MARK)
        artifacts = _digest(shared.data("legato_artifacts_digest"), ARTIFACTS_MARK)
    except ElfError as error:
        raise LegatoError(f"{path} is not a saved model: {error}") from error
    if text is None:
        raise LegatoError(f"{path} is not a saved model: it is a shared object that was not made by Legato")
    name, here = MACHINES.get(shared.machine, (f"number {shared.machine}", ()))
    if platform.machine() not in here:
        raise LegatoError(f"{path} was compiled for the machine {name}, and this is {platform.machine()}")
    return Signature.parse(text.rstrip(b"\0").decode(), str(path)), weights, artifacts


def _digest(data: bytes | None, mark: bytes) -> bytes:
    """The digest after a mark; empty if there is none."""
    text = (data or b"").rstrip(b"\0").removeprefix(mark)
    return b"" if text == NO_DIGEST else bytes.fromhex(text.decode())


def _set_digest(code: Path, mark: bytes, digest: bytes) -> None:
    """Replaces the zeros after the mark in the object file by a digest."""
    data = code.read_bytes()
    slot = mark + NO_DIGEST
    if data.count(slot) != 1:
        raise LegatoError(f"cannot save: the compiled code has {data.count(slot)} places for '{mark.decode()}' instead of one")
    code.write_bytes(data.replace(slot, mark + digest.hex().encode()))


def _copy(source: Path, to: Path) -> Path:
    if source.resolve() != to.resolve():
        part = to.with_name(f".{to.name}.{os.getpid()}")
        shutil.copyfile(source, part)
        os.replace(part, to)
    return to
