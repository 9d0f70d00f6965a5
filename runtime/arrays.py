"""Conversions of arrays at the boundary of compiled code that neither DLPack nor numpy does."""
import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import tvm_ffi

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_DTYPE_CODE_AT, _CODE_UINT, _CODE_BFLOAT = 20, 1, 4   # offset in a DLTensor; codes of dtypes
_VERSIONED_TENSOR_AT = 32

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def passable(value: Any) -> Any:
    """A value that tvm-ffi accepts, made from a numpy array; any other value unchanged.

    Copies arrays that are not contiguous, not aligned or not in native byte order. Read-only arrays are passed without a copy: compiled
    code does not write to its inputs.
    """
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return value
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if not (value.flags.c_contiguous and value.flags.aligned):
        value = np.require(value, requirements=["C", "A"])
    is_bfloat16 = value.dtype == BFLOAT16
    if is_bfloat16:
        value = value.view(np.uint16)
    if not value.flags.writeable:
        value = np.asarray(_Alias(value))
    if is_bfloat16:
        capsule = value.__dlpack__()
        _set_dtype_code(capsule, _CODE_BFLOAT)
        return tvm_ffi.from_dlpack(capsule)
    return value


def bfloat16_to_numpy(tensor: tvm_ffi.Tensor) -> np.ndarray:
    """A numpy array on the memory of a tensor, which may be bfloat16 (``np.from_dlpack`` does not support that)."""
    return np.from_dlpack(_Relabeled(tensor)).view(BFLOAT16) if tensor.dtype == "bfloat16" else np.from_dlpack(tensor)


class _Alias:
    """A writable view of a read-only array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


class _Relabeled:
    """A bfloat16 tensor exported as uint16, which numpy supports."""

    def __init__(self, tensor: tvm_ffi.Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._tensor.__dlpack__(**options)
        _set_dtype_code(capsule, _CODE_UINT)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()


def _set_dtype_code(capsule: Any, code: int) -> None:
    """Changes the dtype code in a new capsule that has no other users."""
    name = _capsule_name(capsule)
    offset = _DTYPE_CODE_AT + (_VERSIONED_TENSOR_AT if name == b"dltensor_versioned" else 0)
    ctypes.c_uint8.from_address(_capsule_pointer(capsule, name) + offset).value = code
