"""Element types of MLIR and numpy, converted into each other, and dense attributes as arrays.

Signed integers are signless in MLIR (``i64``), unsigned ones are ``ui8``, booleans are ``i1``.

Types of 8 bits and fewer that nothing computes in (8-bit floats, 4-bit integers) are of the kind ``narrow``: they are stored, moved and
converted. In arrays and in compiled code each element takes a byte, as in ml_dtypes.
"""

import re
from typing import Any

import ml_dtypes
import numpy as np

from legato.core.errors import LegatoError
from legato.core.mlir import ir

# spelling in MLIR, numpy dtype, kind
_TABLE = (
    ("f16", np.float16, "float"),
    ("bf16", ml_dtypes.bfloat16, "float"),
    ("f32", np.float32, "float"),
    ("f64", np.float64, "float"),
    ("i1", np.bool_, "bool"),
    ("i8", np.int8, "int"),
    ("i16", np.int16, "int"),
    ("i32", np.int32, "int"),
    ("i64", np.int64, "int"),
    ("ui8", np.uint8, "uint"),
    ("ui16", np.uint16, "uint"),
    ("ui32", np.uint32, "uint"),
    ("ui64", np.uint64, "uint"),
    ("f8E4M3FN", ml_dtypes.float8_e4m3fn, "narrow"),
    ("f8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, "narrow"),
    ("f8E5M2", ml_dtypes.float8_e5m2, "narrow"),
    ("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, "narrow"),
    ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, "narrow"),
    ("f6E2M3FN", ml_dtypes.float6_e2m3fn, "narrow"),
    ("f6E3M2FN", ml_dtypes.float6_e3m2fn, "narrow"),
    ("f4E2M1FN", ml_dtypes.float4_e2m1fn, "narrow"),
    ("i4", ml_dtypes.int4, "narrow"),
    ("i2", ml_dtypes.int2, "narrow"),
    ("ui4", ml_dtypes.uint4, "narrow"),
    ("ui2", ml_dtypes.uint2, "narrow"),
)
_BY_SPELLING = {spelling: np.dtype(scalar) for spelling, scalar, _ in _TABLE}
SPELLINGS = frozenset(_BY_SPELLING)
_SPELLING = {np.dtype(scalar): spelling for spelling, scalar, _ in _TABLE}
_KIND = {np.dtype(scalar): kind for _, scalar, kind in _TABLE}
_BY_NAME = {dtype.name: dtype for dtype in _SPELLING}
_FLOATS = {type_: _BY_SPELLING[spelling] for type_, spelling in (
    (ir.F16Type, "f16"), (ir.BF16Type, "bf16"), (ir.F32Type, "f32"), (ir.F64Type, "f64"),
    (ir.Float8E4M3FNType, "f8E4M3FN"), (ir.Float8E4M3FNUZType, "f8E4M3FNUZ"), (ir.Float8E5M2Type, "f8E5M2"),
    (ir.Float8E5M2FNUZType, "f8E5M2FNUZ"), (ir.Float8E8M0FNUType, "f8E8M0FNU"), (ir.Float6E2M3FNType, "f6E2M3FN"),
    (ir.Float6E3M2FNType, "f6E3M2FN"), (ir.Float4E2M1FNType, "f4E2M1FN"),
)}  # fmt: skip
_INTEGERS = {(int(digits.group(2)), bool(digits.group(1))): dtype for spelling, dtype in _BY_SPELLING.items()
             if (digits := re.fullmatch(r"(u?)i(\d+)", spelling))}


def numpy_dtype(element_type) -> np.dtype:
    """The numpy dtype of an MLIR element type. LegatoError for a type without one (``tf32``, ``index``, ``complex<f32>``)."""
    dtype = _FLOATS.get(type(element_type))
    if dtype is None and type(element_type) is ir.IntegerType and not element_type.is_signed:
        dtype = _INTEGERS.get((element_type.width, element_type.is_unsigned))
    if dtype is None:
        raise LegatoError(f"element type {element_type} is not supported: use one of {', '.join(_BY_SPELLING)}")
    return dtype


def as_dtype(value: Any) -> np.dtype:
    """The numpy dtype of ``"f32"``, ``"float32"``, ``np.float32``, a dtype or an MLIR element type. LegatoError for any other value."""
    if isinstance(value, np.dtype) and value in _SPELLING:
        return value
    if isinstance(value, str) and value in _BY_SPELLING:
        return _BY_SPELLING[value]
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, ir.Type):
        return numpy_dtype(value)
    try:
        dtype: np.dtype | None = np.dtype(value).newbyteorder("=")
    except TypeError:
        dtype = None
    # refuse numpy's codes: its "f8" is f64
    if dtype is None or dtype not in _SPELLING or (isinstance(value, str) and value != dtype.name):
        raise LegatoError(f"element type {value!r} is not supported: use one of {', '.join(_BY_SPELLING)}")
    return dtype


def mlir_type(dtype: Any) -> ir.Type:
    """The MLIR element type of a numpy dtype or its name, in the current context."""
    return ir.Type.parse(spelling(dtype))


def spelling(dtype: Any) -> str:
    """MLIR's name of an element type: ``f32``, ``ui8``, ``i1``."""
    return _SPELLING[as_dtype(dtype)]


def kind(dtype: Any) -> str:
    """The kind of an element type: ``float``, ``int``, ``uint``, ``bool``, or ``narrow`` for those that are only stored."""
    return _KIND[as_dtype(dtype)]


def convert_array(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in another element type, as compiled code converts it: a float beyond the range of an integer type becomes the nearest end
    of it, and NaN becomes 0. numpy leaves both to the processor."""
    with np.errstate(all="ignore"):
        if kind(dtype) not in ("int", "uint") or "float" not in array.dtype.name:
            return array.astype(dtype)
        limits, whole = np.iinfo(dtype), np.trunc(array.astype(np.float64))
        below, above = whole <= float(limits.min), whole >= float(limits.max)
        inside = np.where(below | above | np.isnan(whole), 0, whole).astype(dtype)
        return np.where(below, dtype.type(limits.min), np.where(above, dtype.type(limits.max), inside))


def is_float8(element: ir.Type) -> bool:
    """Whether a type is a float of 8 bits, which takes a byte in memory."""
    return isinstance(element, ir.FloatType) and element.width == 8


def element_bytes(element: ir.Type) -> int:
    """The bytes of one element in memory in LLVM's layout; booleans take one byte."""
    if isinstance(element, ir.IndexType):
        return 8
    width = element.width if isinstance(element, ir.IntegerType) else ir.FloatType(element).width
    return 1 << (max(1, (width + 7) // 8) - 1).bit_length()


def dense_attribute(array: np.ndarray) -> ir.DenseElementsAttr:
    """The array as ``dense<...> : tensor<...>`` in the current context. It is copied: meant for small constants."""
    array = np.asarray(array, order="C")
    tensor_type = ir.RankedTensorType.get(array.shape, mlir_type(array.dtype))
    if _is_foreign(array.dtype):  # the buffer protocol has no such type: pass the bits
        array = array.view(np.int16) if array.itemsize == 2 else _bits(array)
    return ir.DenseElementsAttr.get(array.astype(array.dtype.newbyteorder("="), copy=False), type=tensor_type)


def _is_foreign(dtype: np.dtype) -> bool:
    """Whether the dtype is one of ml_dtypes, which the bindings do not know."""
    return dtype == ml_dtypes.bfloat16 or _KIND[dtype] == "narrow"


def _bits(array: np.ndarray) -> np.ndarray:
    """The codes of an array of narrow elements, without bits above theirs."""
    digits = re.search(r"\d+", spelling(array.dtype))
    assert digits is not None
    return array.view(np.uint8) & np.uint8((1 << int(digits.group())) - 1)


def array_of(attribute: ir.DenseElementsAttr) -> np.ndarray:
    """The elements of a dense attribute, read-only; a splat is a broadcast view of one element."""
    shaped = ir.ShapedType(attribute.type)
    dtype, shape = numpy_dtype(shaped.element_type), tuple(shaped.shape)
    if 0 in shape:
        array = np.empty(shape, dtype)
    elif _is_foreign(dtype):
        array = _printed_elements(str(attribute), dtype, shape)
    elif attribute.is_splat:
        array = np.broadcast_to(np.array(attribute.get_splat_value().value, dtype), shape)
    else:
        array = np.array(attribute, dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _printed_elements(text: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a printed attribute of one of ml_dtypes' types. The bindings have no other access to them."""
    body, bits = text[text.index("<") + 1 : text.rindex("> :")], np.dtype(f"u{dtype.itemsize}")
    if body.startswith('"0x'):
        found = np.frombuffer(bytes.fromhex(body[3:-1]), bits)
    else:
        words = re.findall(r"[^\[\],\s]+", body)
        found = np.array([int(w, 16) if w.startswith("0x") else int(np.array(float(w), dtype).view(bits)) for w in words], bits)
    return (found.reshape(shape) if found.size > 1 else np.broadcast_to(found.reshape(()), shape)).view(dtype)


_DLPACK = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14}
_CODES = {"bool": 6, "int": 0, "uint": 1, "float": 2, "narrow": 1}


def dlpack_dtype(dtype: str) -> int:
    """A DLDataType as the integer that its four bytes are: code, bits, lanes. Elements of fewer than 8 bits are ``uint8``, one a byte."""
    element = as_dtype(dtype)
    return _DLPACK.get(element.name, _CODES[_KIND[element]]) | element.itemsize * 8 << 8 | 1 << 16
