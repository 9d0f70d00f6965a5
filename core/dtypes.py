"""Element types of MLIR and numpy, converted into each other, and dense attributes as arrays.

Signed integers are signless in MLIR (``i64``), unsigned ones are ``ui8``, booleans are ``i1``.
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
)
_BY_SPELLING = {spelling: np.dtype(scalar) for spelling, scalar, _ in _TABLE}
_SPELLING = {np.dtype(scalar): spelling for spelling, scalar, _ in _TABLE}
_KIND = {np.dtype(scalar): kind for _, scalar, kind in _TABLE}
_FLOATS = dict(zip((ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type), map(_BY_SPELLING.get, ("f16", "bf16", "f32", "f64"))))
_INTEGERS = {(d.itemsize * 8, k == "uint"): d for d, k in _KIND.items() if k in ("int", "uint")} | {(1, False): np.dtype(np.bool_)}


def numpy_dtype(element_type) -> np.dtype:
    """The numpy dtype of an MLIR element type. LegatoError for a type without one (``f8E5M2``, ``index``, ``complex<f32>``)."""
    dtype = _FLOATS.get(type(element_type))
    if dtype is None and type(element_type) is ir.IntegerType and not element_type.is_signed:
        dtype = _INTEGERS.get((element_type.width, element_type.is_unsigned))
    if dtype is None:
        raise LegatoError(f"element type {element_type} is not supported: use one of {', '.join(_BY_SPELLING)}")
    return dtype


def as_dtype(value: Any) -> np.dtype:
    """The numpy dtype of ``"f32"``, ``"float32"``, ``np.float32``, a dtype or an MLIR element type. LegatoError for any other value."""
    if isinstance(value, str) and value in _BY_SPELLING:
        return _BY_SPELLING[value]
    if isinstance(value, ir.Type):
        return numpy_dtype(value)
    try:
        dtype: np.dtype | None = np.dtype(ml_dtypes.bfloat16 if value == "bfloat16" else value).newbyteorder("=")
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
    """The kind of an element type: ``float``, ``int``, ``uint`` or ``bool``."""
    return _KIND[as_dtype(dtype)]


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
    if array.dtype == ml_dtypes.bfloat16:
        array = array.view(np.int16)  # the buffer protocol has no bf16: pass the bits
    return ir.DenseElementsAttr.get(array.astype(array.dtype.newbyteorder("="), copy=False), type=tensor_type)


def array_of(attribute: ir.DenseElementsAttr) -> np.ndarray:
    """The elements of a dense attribute, read-only; a splat is a broadcast view of one element."""
    shaped = ir.ShapedType(attribute.type)
    dtype, shape = numpy_dtype(shaped.element_type), tuple(shaped.shape)
    if 0 in shape:
        array = np.empty(shape, dtype)
    elif attribute.is_splat:
        array = np.broadcast_to(np.array(attribute.get_splat_value().value, dtype), shape)
    elif dtype == ml_dtypes.bfloat16:
        array = _bfloat16_elements(str(attribute)).reshape(shape)
    else:
        array = np.array(attribute, dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _bfloat16_elements(text: str) -> np.ndarray:
    """The elements of a printed bf16 attribute, flat. The bindings have no other access to bf16 elements."""
    body = text[text.index("<") + 1 : text.rindex("> :")]
    if body.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(body[3:-1]), ml_dtypes.bfloat16)
    words = re.findall(r"[^\[\],\s]+", body)
    bits = [int(w, 16) if w.startswith("0x") else int(np.array(float(w), ml_dtypes.bfloat16).view(np.uint16)) for w in words]
    return np.array(bits, np.uint16).view(ml_dtypes.bfloat16)


def dlpack_dtype(dtype: str) -> int:
    """A DLDataType as the integer that its four bytes are: code, bits, lanes."""
    if dtype == "bfloat16":
        code = 4
    else:
        code = {"i": 0, "u": 1, "f": 2, "b": 6}[np.dtype(dtype).kind]
    return code | as_dtype(dtype).itemsize * 8 << 8 | 1 << 16
