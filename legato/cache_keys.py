"""Keys of the cache: digests of all that a result depends on.

A model's key is made of what goes into a compile. It exists only where all of that is known: the code of Legato itself is hashed, that of a
user's rules, passes and backends is not, since a function depends on more than its own source. A compile with such things has a key for its
machine code alone, made of the IR that LLVM gets.
"""
from __future__ import annotations

import hashlib
import io
import os
import platform
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from legato.core import background, cpu
from legato.core.mlir import PROVIDER, ir
from legato.dialects.late_loading import python_dialects
from legato.dialects.module import Module
from legato.runtime.digests import digest_of
from legato.schedule.tensor_primitives import TENSOR_INTRINSICS
from legato.targets.builtin import TARGETS
from legato.targets.target import Target

FORMAT = "1"   # of entries
OWN_DIALECTS = {"relax", "tir"}
PACKAGES = ("torch-mlir", "mlir-python-bindings", "numpy", "ml_dtypes", "apache-tvm-ffi", "llvmlite")


def model_key(module: Module, target: Target) -> str | None:
    """The key of a compile of a graph by a target's own pipeline; None where user-defined code takes part in it."""
    if not _is_known(module, target):
        return None
    pipeline = ";".join(f"{name}: {passes}" for name, passes in target.pipeline())
    keys = sorted(module.used_weights())
    names = "\0".join([*keys, "", *sorted(module.weights)])   # of all: weights that a compile adds get other names
    arrays = [module.weights[key] for key in keys]
    digest = background.begin(lambda: digest_of(arrays))     # which takes about as long as all else
    parts = _environment(), "model", str(target), repr(target.machine), pipeline, names, _bytecode(module.module)
    return _joined(*parts, digest.result())


def code_key(lowered: ir.Module) -> str:
    """The key of the machine code of a module in the LLVM dialect."""
    return _joined(_environment(), "code", _bytecode(lowered))


def _is_known(module: Module, target: Target) -> bool:
    """Whether nothing but the graph and Legato itself decides what the compile makes."""
    own = {one.name: one for one in TARGETS}
    unchanged = all(one.name in own and replace(one, options=own[one.name].options, parents=own[one.name].parents) == own[one.name]
                    for one in target.chain())
    return unchanged and not module.closures and not TENSOR_INTRINSICS and python_dialects().keys() <= OWN_DIALECTS


def _joined(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()


@cache
def _environment() -> str:
    """The code of Legato, the packages that take part, and this machine, as far as compiled code depends on them."""
    packages = [f"{name} {_version(name)}" for name in PACKAGES]
    return "\n".join([FORMAT, PROVIDER, *packages, platform.python_version(), platform.machine(), cpu.host_name(),
                      ",".join(sorted(cpu.host_features())), repr(cpu.host_caches()), _own_code()])


def _own_code() -> str:
    """A digest of all files of the package: a checkout changes without its version."""
    found = hashlib.sha256()
    for path, name in _files(Path(__file__).parent, ""):
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()


def _files(folder: str | Path, prefix: str) -> Iterator[tuple[str, str]]:
    """The path of each file of code under a folder, through links, and its name from there."""
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith((".py", ".txt")):
            yield entry.path, prefix + entry.name
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _files(entry.path, f"{prefix}{entry.name}/")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _bytecode(module: ir.Module) -> bytes:
    """The module with locations, which name the model's ops in messages."""
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()

