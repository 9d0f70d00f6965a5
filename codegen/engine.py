"""LLVM's JIT compiler, by MLIR's C interface: the bindings hold Python's lock while LLVM works, and these calls do not."""
from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from legato.core.c_interface import LIBRARY, StringRef, pointer_of, string_ref
from legato.core.errors import LegatoError
from legato.core.mlir import ir

OPT_LEVEL = 2   # LLVM's, 0 to 3


class _Module(ctypes.Structure):
    """MlirModule."""

    _fields_ = [("pointer", ctypes.c_void_p)]


class _Engine(ctypes.Structure):
    """MlirExecutionEngine."""

    _fields_ = [("pointer", ctypes.c_void_p)]


class Engine:
    """The machine code of a module in the LLVM dialect, in this process, for as long as the object lives. ``libraries``: paths of shared
    libraries, in which it finds functions; where others are that the module declares, ``define`` says. ``alone``: no other thread uses the
    module's context."""

    def __init__(self, module: ir.Module, libraries: Sequence[str | Path] = (), opt_level: int = OPT_LEVEL, *, alone: bool):
        """Translates and optimizes the module, without Python's lock if ``alone``, and does not keep it. LegatoError if that fails."""
        interface = _interface()
        create = (interface if alone else _locked()).mlirExecutionEngineCreate
        paths = (StringRef * len(libraries))(*(string_ref(str(path)) for path in libraries))
        made = create(_Module(pointer_of(module)), opt_level, len(paths), paths, True, True)
        if not made.pointer:
            raise LegatoError("LLVM does not take the module; it says why on stderr")
        self._engine = made
        weakref.finalize(self, interface.mlirExecutionEngineDestroy, made).atexit = False

    def define(self, symbol: str, address: int) -> None:
        """Says where a symbol is that the module declares; before its first ``address``."""
        _interface().mlirExecutionEngineRegisterSymbol(self._engine, string_ref(symbol), address)

    def address(self, symbol: str) -> int:
        """The address of a function or a variable of the module; the first call compiles all of it. LegatoError if that fails."""
        return _found(_interface().mlirExecutionEngineLookup(self._engine, string_ref(symbol)))

    def wrapper(self, symbol: str) -> int:
        """The address of what MLIR makes of an exported function: its operand is the address of pointers to the operands and the result."""
        return _found(_interface().mlirExecutionEngineLookupPacked(self._engine, string_ref(symbol)))

    def dump(self, path: str) -> None:
        """Writes an object file, after an ``address``."""
        _interface().mlirExecutionEngineDumpToObjectFile(self._engine, string_ref(path))


def _found(address: int | None) -> int:
    if not address:
        raise LegatoError("LLVM could not compile the module; it says why on stderr")
    return address


@cache
def _interface() -> Any:
    """The functions of mlir-c/ExecutionEngine.h."""
    return _declared(ctypes.CDLL(str(importlib.import_module(LIBRARY).__file__)))


@cache
def _locked() -> Any:
    """The same functions, which keep Python's lock: a context is not made for two threads at once."""
    return _declared(ctypes.PyDLL(str(importlib.import_module(LIBRARY).__file__)))


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, result, *operands in (
            ("Create", _Engine, _Module, ctypes.c_int, ctypes.c_int, ctypes.POINTER(StringRef), ctypes.c_bool, ctypes.c_bool),
            ("Destroy", None, _Engine), ("RegisterSymbol", None, _Engine, StringRef, ctypes.c_void_p),
            ("Lookup", ctypes.c_void_p, _Engine, StringRef), ("LookupPacked", ctypes.c_void_p, _Engine, StringRef),
            ("DumpToObjectFile", None, _Engine, StringRef)):
        function = getattr(library, f"mlirExecutionEngine{name}")
        function.restype, function.argtypes = result, operands
    return library
