"""Values that stand in annotations: buffers, tensors, scalars, and the sizes that are named in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.core import dtypes
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.relax import dims

DTYPES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
}


NAMES_OF_SIZES = ("var", "Var", "size_var", "SizeVar", "dyn")  # T.var("int64"), T.Var("n", "int64"): words that make a name of a size


@dataclass(frozen=True)
class BufferType:
    """``T.Buffer((n, 128), "float32")``. Sizes are ints, texts, or expressions of symbols."""

    shape: tuple[Any, ...]
    dtype: str = "float32"
    scope: str = "global"


@dataclass(frozen=True)
class ScalarType:
    """``T.int32`` as an annotation."""

    dtype: str


@dataclass(frozen=True)
class HandleType:
    """``T.handle``: a buffer, of which ``T.match_buffer`` says more."""


@dataclass(frozen=True)
class TensorInfo:
    """``R.Tensor((n, 128), "float32")``. ``shape`` is None where only the rank, or not even that, is said."""

    shape: tuple[Any, ...] | None
    dtype: str | None = None
    ndim: int = -1


@dataclass(frozen=True)
class ShapeInfo:
    """``R.Shape(["n", 4])``. ``sizes`` is None where only the rank, or not even that, is said."""

    sizes: Any
    ndim: int = -1


@dataclass(frozen=True)
class TupleInfo:
    """``R.Tuple(a, b)``."""

    fields: tuple[Any, ...]


def dtype_name(value: Any) -> str:
    """A type's name as scripts spell it. ValueError for what is no type of elements."""
    if isinstance(value, ScalarType):
        return value.dtype
    if isinstance(value, str) and value in DTYPES:
        return value
    try:
        return spelled(dtypes.as_dtype(value))
    except (LegatoError, TypeError, ValueError):
        raise ValueError(f"{value!r} is no type of elements; there are {', '.join(DTYPES)}") from None


def spelled(dtype: np.dtype) -> str:
    """numpy's type as scripts spell it."""
    return "bool" if dtype == np.bool_ else dtype.name


def relax_element(dtype: str) -> ir.Type:
    """The element type that a graph has for it: unsigned integers and booleans too."""
    return dtypes.mlir_type(np.bool_ if dtype == "bool" else dtypes.as_dtype(DTYPES[dtype]))


def memory_type(dtype: str) -> ir.Type:
    """The type of an element in memory."""
    if dtype == "bool":
        return ir.IntegerType.get_signless(8)
    if dtype.startswith("uint"):
        return ir.IntegerType.get_signless(int(dtype[4:]))
    return value_type(dtype)


def value_type(dtype: str) -> ir.Type:
    """The type of a value."""
    if dtype == "index":
        return ir.IndexType.get()
    if dtype == "bool":
        return ir.IntegerType.get_signless(1)
    if dtype.startswith(("int", "uint")):
        return ir.IntegerType.get_signless(int(dtype.removeprefix("u")[3:]))
    return {"float16": ir.F16Type, "bfloat16": ir.BF16Type, "float32": ir.F32Type, "float64": ir.F64Type}[dtype].get()


def size_of(value: Any) -> Any:
    """A size as relax has it: an int, or an expression of symbols."""
    return dims.as_size(value)


def sizes_of(shape: Sequence[Any] | Any) -> tuple[Any, ...]:
    if not isinstance(shape, (list, tuple)):
        shape = (shape,)
    return tuple(size_of(s) for s in shape)
