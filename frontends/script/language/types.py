"""Types in annotations (buffers, tensors, scalars, sizes), and the script's element types as MLIR types."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.core import dtypes
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.relax import dims

# element types by the script's name, in the names of core.dtypes
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")     # bytes in memory, from and to which values of f32 are converted
DTYPES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "bool",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
}


@dataclass(frozen=True)
class BufferType:
    """``T.Buffer((n, 128), "float32")``. Sizes are ints, texts, or expressions of symbols."""

    shape: tuple[Any, ...]
    dtype: str = "float32"
    scope: str = "global"


@dataclass(frozen=True)
class ScalarType:
    """``T.int32``: an integer parameter of a kernel, or an element type."""

    dtype: str


@dataclass(frozen=True)
class HandleType:
    """``T.handle``: a buffer whose shape and element type a ``T.match_buffer`` gives."""


@dataclass(frozen=True)
class TensorInfo:
    """``R.Tensor((n, 128), "float32")``. ``shape`` is None where it is not given, ``ndim`` -1 where the rank is not either."""

    shape: tuple[Any, ...] | None
    dtype: str | None = None
    ndim: int = -1


@dataclass(frozen=True)
class ShapeInfo:
    """``R.Shape(["n", 4])``. ``sizes`` is None where they are not given, ``ndim`` -1 where the rank is not either."""

    sizes: Any
    ndim: int = -1


@dataclass(frozen=True)
class TupleInfo:
    """``R.Tuple(a, b)``."""

    fields: tuple[Any, ...]


def dtype_name(value: Any) -> str:
    """The script's name of an element type, given as a name, a numpy dtype or an MLIR type. ValueError for anything else."""
    if isinstance(value, ScalarType):
        return value.dtype
    if isinstance(value, str) and value in DTYPES:
        return value
    try:
        return spelled(dtypes.as_dtype(value))
    except (LegatoError, TypeError, ValueError):
        raise ValueError(f"{value!r} is no type of elements; there are {', '.join(DTYPES)}") from None


def spelled(dtype: np.dtype) -> str:
    """The script's name of a numpy dtype."""
    return "bool" if dtype == np.bool_ else dtype.name


def relax_element(dtype: str) -> ir.Type:
    """The element type of a graph's tensor: unsigned integers keep their sign, booleans are i1."""
    return dtypes.mlir_type(dtype)


def memory_type(dtype: str) -> ir.Type:
    """The element type of a memref: signless integers, a byte for a boolean and for a float of 8 bits."""
    if dtype in ("bool", *FLOAT8):
        return ir.IntegerType.get_signless(8)
    if dtype in DTYPES and dtype.startswith("uint"):
        return ir.IntegerType.get_signless(int(dtype[4:]))
    return value_type(dtype)


def value_type(dtype: str) -> ir.Type:
    """The type of an SSA value of a kernel: signless integers, i1 for a boolean. LegatoError for a type that kernels do not compute in."""
    if dtype == "index":
        return ir.IndexType.get()
    if dtype not in DTYPES:
        raise LegatoError(f"kernels do not compute in {dtype}: convert it in the graph, by relax.astype, or pass its bytes as uint8")
    if dtype == "bool":
        return ir.IntegerType.get_signless(1)
    if dtype.startswith(("int", "uint")):
        return ir.IntegerType.get_signless(int(dtype.removeprefix("u")[3:]))
    floats = {"float8_e4m3fn": ir.Float8E4M3FNType, "float8_e5m2": ir.Float8E5M2Type, "float16": ir.F16Type, "bfloat16": ir.BF16Type,
              "float32": ir.F32Type, "float64": ir.F64Type}
    return floats[dtype].get()


def size_of(value: Any) -> Any:
    """A size in relax's form: an int, or a ``dims.Dim``, an expression of symbols. LegatoError for what is none."""
    return dims.as_size(value)


def not_negative(sizes: Sequence[Any]) -> Sequence[Any]:
    """The sizes of a type. LegatoError for a negative one, such as the -1 of a reshape."""
    for size in sizes:
        if isinstance(size, int) and size < 0:
            raise LegatoError(f"a size is not negative: {size}")
    return sizes


def sizes_of(shape: Sequence[Any] | Any) -> tuple[Any, ...]:
    """The sizes of a shape, in the form of ``size_of``; a single size is a shape of rank 1."""
    if not isinstance(shape, (list, tuple)):
        shape = (shape,)
    return tuple(size_of(s) for s in shape)
