"""Conversions of arrays at the boundary of compiled code that neither DLPack nor numpy does.

The element types of ml_dtypes cross it as DLPack has them; those of fewer than 8 bits, which DLPack packs, as ``uint8``, one a byte.
"""
import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import ml_dtypes
import numpy as np
import tvm_ffi

_DTYPE_CODE_AT, _CODE_UINT = 20, 1   # offset in a DLTensor; the code of unsigned integers
# element types that numpy has only through ml_dtypes, and their codes in DLPack
_CODES = {np.dtype(getattr(ml_dtypes, name)): code for name, code in (
    ("bfloat16", 4), ("float8_e4m3fn", 10), ("float8_e4m3fnuz", 11), ("float8_e5m2", 12), ("float8_e5m2fnuz", 13), ("float8_e8m0fnu", 14),
    *((name, _CODE_UINT) for name in ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int4", "int2", "uint4", "uint2")),
)}
_BY_NAME = {dtype.name: dtype for dtype, code in _CODES.items() if code != _CODE_UINT}
_VERSIONED_TENSOR_AT = 32
_CPU = 1    # DLPack's device type

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@runtime_checkable
class SupportsDLPack(Protocol):
    """A tensor of any library."""

    def __dlpack__(self) -> Any: ...


@runtime_checkable
class _LazyTensor(Protocol):
    """A torch tensor: its memory may be the values' negatives, which DLPack does not tell."""

    def is_neg(self) -> bool: ...
    def resolve_neg(self) -> Any: ...


def is_torch(value: Any) -> bool:
    """Whether a value is a torch tensor."""
    return isinstance(value, _LazyTensor)


def is_negated(value: Any) -> bool:
    """Whether a tensor's memory holds the negatives of its values."""
    return isinstance(value, _LazyTensor) and value.is_neg()


def _negated(value: _LazyTensor) -> Any:
    return value.resolve_neg() if value.is_neg() else value


def _unmasked(value: "np.ma.MaskedArray") -> np.ndarray:
    if np.ma.is_masked(value):
        raise ValueError("is an array with masked elements, whose values mean nothing: give them values first, as by value.filled(0)")
    return value.data


def _plain(value: np.ndarray) -> np.ndarray:
    return np.asarray(value)


_Resolver = Callable[[Any], Any]
_resolvers: dict[type, _Resolver | None] = {np.ndarray: None, tvm_ffi.Tensor: None}


def _resolver(type_: type) -> _Resolver | None:
    if issubclass(type_, np.ma.MaskedArray):
        return _unmasked
    if issubclass(type_, np.ndarray):
        return _plain
    return _negated if issubclass(type_, _LazyTensor) else None


def resolved(values: Sequence[Any]) -> list[Any]:
    """The values with what DLPack does not tell applied: torch's lazy negation. ValueError for masked elements; it has no subject yet."""
    result = []
    for value in values:
        type_ = type(value)
        if type_ not in _resolvers:
            _resolvers[type_] = _resolver(type_)
        resolver = _resolvers[type_]
        result.append(value if resolver is None else resolver(value))
    return result


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
    code = _CODES.get(value.dtype)
    if code is not None:
        value = value.view(f"u{value.itemsize}")
    if not value.flags.writeable:
        value = np.asarray(_Alias(value))
    if code is not None:
        capsule = value.__dlpack__()
        _set_dtype_code(capsule, code)
        return tvm_ffi.from_dlpack(capsule)
    return value


def unsupported(value: Any) -> str | None:
    """What a value is that is no tensor for tvm-ffi, or an array of elements that DLPack does not have; None for others."""
    if isinstance(value, np.ndarray):
        is_number = value.dtype in _CODES or (value.dtype.kind in "biufc" and value.dtype.char not in "gG")
        return None if is_number else f"an array of dtype {value.dtype}"
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict, SupportsDLPack, tvm_ffi.Object)):
        return None
    return f"a value of type {type(value).__qualname__}, which is neither a numpy array nor a tensor with DLPack,"


def withheld(value: Any) -> str | None:
    """What a tensor is whose library gives no memory of it by DLPack, as of a sparse one, with the library's reason; None for others."""
    if isinstance(value, (np.ndarray, tvm_ffi.Object)) or not isinstance(value, SupportsDLPack):
        return None
    try:
        tvm_ffi.convert(value)   # as a call does
    except (BufferError, RuntimeError, TypeError, ValueError) as error:   # the protocol asks for the first; torch raises the others
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"a {type(value).__qualname__} whose memory DLPack does not give ({reason})"
    return None


def is_extended(dtype: np.dtype) -> bool:
    """Whether numpy has the element type only through ml_dtypes."""
    return dtype in _CODES


def is_padded(dtype: np.dtype) -> bool:
    """Whether the element type has fewer than 8 bits, so that its tensors are passed as ``uint8``."""
    return _CODES.get(dtype) == _CODE_UINT


def to_numpy(tensor: tvm_ffi.Tensor) -> np.ndarray:
    """A numpy array on the memory of a tensor, whose element type may be one of ml_dtypes (``np.from_dlpack`` does not support them)."""
    dtype = _BY_NAME.get(str(tensor.dtype))
    return np.from_dlpack(tensor) if dtype is None else np.from_dlpack(_Relabeled(tensor)).view(dtype)


def on_host(tensor: tvm_ffi.Tensor, convert: Callable[[tvm_ffi.Tensor], np.ndarray]) -> np.ndarray | tvm_ffi.Tensor:
    """``convert(tensor)`` for a tensor of the host; one of a device as it is."""
    return convert(tensor) if tensor.__dlpack_device__()[0] == _CPU else tensor


class _Alias:
    """A writable view of a read-only array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


class _Relabeled:
    """A tensor exported as one of unsigned integers of the same width, which numpy supports."""

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
