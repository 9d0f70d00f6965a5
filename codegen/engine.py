"""LLVM's JIT compiler, by MLIR's C interface: the bindings hold Python's lock while LLVM works, and these calls do not."""
from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import PROVIDER, ir

OPT_LEVEL = 2   # LLVM's, 0 to 3
BINDINGS = f"{PROVIDER}._mlir_libs._mlirExecutionEngine"   # linked against the C interface


class _Text(ctypes.Structure):
    """MlirStringRef."""

    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


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
        paths = (_Text * len(libraries))(*(_text(str(path)) for path in libraries))
        made = create(_Module(_pointer(module)), opt_level, len(paths), paths, True, True)
        if not made.pointer:
            raise LegatoError("LLVM does not take the module; it says why on stderr")
        self._engine = made
        weakref.finalize(self, interface.mlirExecutionEngineDestroy, made).atexit = False

    def define(self, symbol: str, address: int) -> None:
        """Says where a symbol is that the module declares; before its first ``address``."""
        _interface().mlirExecutionEngineRegisterSymbol(self._engine, _text(symbol), address)

    def address(self, symbol: str) -> int:
        """The address of a function or a variable of the module; the first call compiles all of it. LegatoError if that fails."""
        return _found(_interface().mlirExecutionEngineLookup(self._engine, _text(symbol)))

    def wrapper(self, symbol: str) -> int:
        """The address of what MLIR makes of an exported function: its operand is the address of pointers to the operands and the result."""
        return _found(_interface().mlirExecutionEngineLookupPacked(self._engine, _text(symbol)))

    def dump(self, path: str) -> None:
        """Writes an object file, after an ``address``."""
        _interface().mlirExecutionEngineDumpToObjectFile(self._engine, _text(path))


def _found(address: int | None) -> int:
    if not address:
        raise LegatoError("LLVM could not compile the module; it says why on stderr")
    return address


def _text(text: str) -> _Text:
    data = text.encode()
    return _Text(data, len(data))


def _pointer(module: ir.Module) -> int:
    """The pointer to a module that the bindings hold."""
    capsule = module._CAPIPtr
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    return pointer(capsule, name(capsule))


@cache
def _interface() -> Any:
    """The functions of mlir-c/ExecutionEngine.h."""
    return _declared(ctypes.CDLL(str(importlib.import_module(BINDINGS).__file__)))


@cache
def _locked() -> Any:
    """The same functions, which keep Python's lock: a context is not made for two threads at once."""
    return _declared(ctypes.PyDLL(str(importlib.import_module(BINDINGS).__file__)))


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, result, *operands in (
            ("Create", _Engine, _Module, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Text), ctypes.c_bool, ctypes.c_bool),
            ("Destroy", None, _Engine), ("RegisterSymbol", None, _Engine, _Text, ctypes.c_void_p),
            ("Lookup", ctypes.c_void_p, _Engine, _Text), ("LookupPacked", ctypes.c_void_p, _Engine, _Text),
            ("DumpToObjectFile", None, _Engine, _Text)):
        function = getattr(library, f"mlirExecutionEngine{name}")
        function.restype, function.argtypes = result, operands
    return library
