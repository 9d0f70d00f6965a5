"""Texts and objects of the bindings, as functions of MLIR's C interface take them."""
from __future__ import annotations

import ctypes
from typing import Any

from legato.core.mlir import PROVIDER

LIBRARY = f"{PROVIDER}._mlir_libs._mlirExecutionEngine"   # a module of Python that is linked against the C interface


class StringRef(ctypes.Structure):
    """MlirStringRef."""

    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


def string_ref(text: str) -> StringRef:
    """A text, valid as long as the result."""
    data = text.encode()
    return StringRef(data, len(data))


def pointer_of(held: Any) -> int:
    """The pointer in an object of the bindings: an operation, a module, a context."""
    capsule = held._CAPIPtr
    return _get_pointer(capsule, _get_name(capsule))


def capsule_name(held: Any) -> bytes:
    """The name of the capsules with pointers to such objects, from which the bindings make them."""
    return _get_name(held._CAPIPtr)


_get_name, _get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
_get_name.argtypes, _get_name.restype = [ctypes.py_object], ctypes.c_char_p
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
make_capsule = ctypes.pythonapi.PyCapsule_New
make_capsule.argtypes, make_capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
