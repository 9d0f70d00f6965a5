"""What a backend's code generation gives: values of a few kinds, each for some functions of the external module (None: for all of them)."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    from legato.dialects.module import Module


@dataclass(frozen=True)
class PythonFunction:
    """A Python function that can be imported, as ``"package:name"``. Called with numpy arrays: inputs, then outputs, which it fills."""

    where: str
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_importable(self.where)


@dataclass(frozen=True)
class Blob:
    """Bytes, and the function ``"package:name"`` that makes code of them when the model is loaded.

    ``loader(data, name)``, for each function of the external module by name, returns what is called with numpy arrays: inputs, outputs.
    """

    data: bytes
    loader: str
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_importable(self.loader)


@dataclass(frozen=True)
class SharedObject:
    """A shared object that exports functions by the calling convention of tvm-ffi: ``__tvm_ffi_<name>`` for a function ``name``.

    ``symbols``: the exported names of functions, where they differ from the functions' own.
    """

    data: bytes
    symbols: Mapping[str, str] | None = None
    functions: tuple[str, ...] | None = None

    @staticmethod
    def read(path: str | Path, symbols: Mapping[str, str] | None = None, functions: tuple[str, ...] | None = None) -> SharedObject:
        """The shared object in a file. LegatoError if it is not there."""
        if not Path(path).is_file():
            raise LegatoError(f"there is no shared object {path}")
        return SharedObject(Path(path).read_bytes(), symbols, functions)


@dataclass(frozen=True)
class Registered:
    """A packed function that is there when the model is compiled and when it is loaded, under an agreed name in tvm-ffi's registry."""

    name: str
    functions: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Closure:
    """A Python function of this process, called like a PythonFunction. Only the JIT can call it; such a model cannot be saved."""

    call: Callable[..., Any]
    functions: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Lowered:
    """IR to compile with the rest: a module whose functions take the place of the calls. Graph ops in it are legalized with the host's."""

    module: Module
    functions: tuple[str, ...] | None = None


Artifact = PythonFunction | Blob | SharedObject | Registered | Closure | Lowered


def check_importable(where: str) -> None:
    """LegatoError for what is no ``"package:name"``."""
    package, colon, name = where.partition(":")
    if not (colon and package and name):
        raise LegatoError(f"'{where}' names no Python function: write \"package.module:name\"")
