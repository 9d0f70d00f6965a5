"""Artifacts: what a backend's code generation returns for an external module. ``functions``: those it implements (None: all of
them)."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    from legato.dialects.module import Module


@dataclass(frozen=True)
class PythonFunction:
    """An importable Python function, ``"package:name"``. Called with numpy arrays: the inputs, then the outputs to fill."""

    where: str
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_importable(self.where)
        check_functions(self)


@dataclass(frozen=True)
class Blob:
    """Bytes, and the function ``"package:name"`` that turns them into code when the model is loaded.

    ``loader(data, name)`` is called for each function of the external module; it returns a callable on numpy arrays: inputs, then
    outputs. ``state``: ``"package:name"`` of a function that is called once, with the bytes, for all functions of the blob (a session, a
    device's context); the loader gets what it returns in place of the bytes. ``weights``: arrays that are kept outside of the bytes, once
    for all artifacts and the host's code, in memory and in saved files; where there are some, the function that gets the bytes gets a dict
    of them as its last argument.
    """

    data: bytes
    loader: str
    functions: tuple[str, ...] | None = None
    state: str | None = None
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_bytes(self)
        check_importable(self.loader)
        if self.state is not None:
            check_importable(self.state)
        check_functions(self)
        if not isinstance(self.weights, Mapping) or not all(isinstance(one, str) for one in self.weights):
            raise LegatoError(f"the weights of a Blob are a dict of arrays by name, found {self.weights!r}")


@dataclass(frozen=True)
class SharedObject:
    """A shared object that exports functions by tvm-ffi's calling convention: ``__tvm_ffi_<name>`` for a function ``name``.

    ``symbols``: exported names by function name, where they differ.
    """

    data: bytes
    symbols: Mapping[str, str] | None = None
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_bytes(self)
        if not isinstance(self.symbols, Mapping | None):
            raise LegatoError(f"the symbols of a SharedObject are a dict, exported names by names of functions; found {self.symbols!r}")
        check_functions(self)

    @staticmethod
    def read(path: str | Path, symbols: Mapping[str, str] | None = None, functions: tuple[str, ...] | None = None) -> SharedObject:
        """Reads a shared object. LegatoError if the file does not exist."""
        if not Path(path).is_file():
            raise LegatoError(f"there is no shared object {path}")
        return SharedObject(Path(path).read_bytes(), symbols, functions)


@dataclass(frozen=True)
class Registered:
    """A packed function in tvm-ffi's registry under a given name, both when the model is compiled and when it is loaded."""

    name: str
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise LegatoError(f"a Registered artifact has the name of a packed function, Registered(\"npu.matmul\"); found {self.name!r}")
        check_functions(self)


@dataclass(frozen=True)
class Closure:
    """A Python function of this process, called like a PythonFunction. Such a model runs in the JIT only and cannot be saved."""

    call: Callable[..., Any]
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise LegatoError(f"a Closure has a Python function of the inputs and the outputs to fill, found {self.call!r}")
        check_functions(self)


@dataclass(frozen=True)
class Lowered:
    """IR to compile with the host's: a module whose functions replace the external ones. Its graph ops are legalized with the
    host's."""

    module: Module
    functions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        from legato.dialects.module import Module

        if not isinstance(self.module, Module):
            raise LegatoError(f"a Lowered artifact has a legato.Module, found {type(self.module).__name__}")
        check_functions(self)


Artifact = PythonFunction | Blob | SharedObject | Registered | Closure | Lowered


def check_importable(where: Any) -> None:
    """Raises LegatoError unless ``where`` has the form ``"package:name"``."""
    package, colon, name = where.partition(":") if isinstance(where, str) else ("", "", "")
    if not (colon and package and name):
        shown = f"'{where}'" if isinstance(where, str) else repr(where)
        raise LegatoError(f"{shown} names no Python function: write \"package.module:name\"")


def check_bytes(artifact: Blob | SharedObject) -> None:
    """LegatoError unless the data of an artifact are bytes."""
    if not isinstance(artifact.data, bytes | bytearray | memoryview):
        raise LegatoError(f"the data of a {type(artifact).__name__} are bytes, found {type(artifact.data).__name__}")


def check_functions(artifact: Artifact) -> None:
    """LegatoError unless the functions of an artifact are names, or None."""
    functions = artifact.functions
    if functions is not None and (not isinstance(functions, list | tuple) or not all(isinstance(one, str) for one in functions)):
        raise LegatoError(f"the functions of a {type(artifact).__name__} are a tuple of names, such as ('conv2d_0',); found {functions!r}")
