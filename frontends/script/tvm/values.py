"""Conversion of arguments of TVM's graph ops into what relax's ops take. Misuse for an argument of a wrong kind."""

from typing import Any

import numpy as np

from legato.core.dtypes import as_dtype, numpy_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ScalarType, ShapeInfo, dtype_name, sizes_of


def tensor(x: Any) -> ir.Value:
    """x as a tensor value; a numpy array becomes a constant. Misuse for numbers and others."""
    if isinstance(x, ir.Value):
        return x
    if isinstance(x, np.ndarray):
        return relax.constant(x)
    raise Misuse(f"a tensor is wanted here, not {describe(x)}" + ("; a number is R.const(...)" if isinstance(x, (int, float)) else ""))


def tensors(a: Any, b: Any) -> tuple[ir.Value, ir.Value]:
    """Two operands as tensor values; a Python number becomes a constant of the other's element type."""
    if not isinstance(a, (ir.Value, np.ndarray)) and not isinstance(b, (ir.Value, np.ndarray)):
        raise Misuse("one of the operands has to be a tensor")
    like = tensor(a if isinstance(a, (ir.Value, np.ndarray)) else b)
    left, right = (number_like(x, like) if isinstance(x, (bool, int, float, np.generic)) else tensor(x) for x in (a, b))
    return left, right


def number_like(x: Any, like: ir.Value) -> ir.Value:
    """A scalar constant of ``like``'s element type. Misuse where the type does not hold the number."""
    dtype = numpy_dtype(like.type.element_type)
    if isinstance(x, float) and not isinstance(x, bool) and dtype.kind in "iub" and x != int(x):
        raise Misuse(f"{x} is no value of type {dtype}")
    try:
        return relax.constant(np.asarray(x, dtype))
    except (OverflowError, ValueError):
        raise Misuse(f"{x!r} is no value of type {dtype}") from None


def describe(x: Any) -> str:
    """An argument as messages name it."""
    if isinstance(x, tuple):
        return f"a tuple of {len(x)}"
    return repr(x) if isinstance(x, (int, float, str, dims.Dim)) or x is None else f"a {type(x).__name__}"


def sizes(shape: Any) -> list[Any]:
    """Sizes, or begins and ends, as a list of ints and expressions of symbols."""
    if isinstance(shape, ShapeInfo):
        shape = shape.sizes
    try:
        return list(sizes_of(shape))
    except (ValueError, TypeError, LegatoError) as error:
        raise Misuse(str(error)) from None


def ints(values: Any) -> list[int]:
    """A list of ints; a single one becomes a list."""
    if isinstance(values, ShapeInfo):
        values = values.sizes
    values = list(values) if isinstance(values, (tuple, list)) else [values]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise Misuse(f"integers are wanted here, not {describe(value)}")
    return [int(v) for v in values]


def axis_of(axis: Any, x: ir.Value) -> int:
    """The axis of x counted from 0; negative ones count from the end. Misuse outside of x's rank."""
    rank = x.type.rank
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < max(rank, 1):
        raise Misuse(f"axis={axis!r}: a tensor of rank {rank} has the axes 0 to {rank - 1}, or {-rank} to -1")
    return axis % max(rank, 1)


def axes_of(axis: Any, x: ir.Value) -> list[int] | None:
    """The axes of x counted from 0; None stays None."""
    return None if axis is None else [axis_of(a, x) for a in ints(axis)]


def dtype_of(dtype: Any) -> str:
    """The name of an element type. Misuse for one that is not known."""
    if isinstance(dtype, ScalarType):
        return dtype.dtype
    try:
        return dtype_name(dtype)
    except ValueError as error:
        raise Misuse(str(error)) from None


def numpy_type(dtype: Any) -> np.dtype:
    """The numpy type of an element type."""
    return as_dtype(dtype_of(dtype))


def element(x: ir.Value) -> str:
    """The name of a tensor's element type."""
    return dtype_name(x.type.element_type)


def full_of(shape: Any, value: Any, dtype: Any = None) -> ir.Value:
    """A tensor of ``shape`` filled with one value: a number or a scalar tensor."""
    shape = sizes(shape)
    if isinstance(value, (ir.Value, np.ndarray)):
        value = tensor(value)
        value = value if dtype is None or dtype_of(dtype) == element(value) else relax.astype(value, dtype_of(dtype))
        return relax.broadcast_to(value, shape)
    if not isinstance(value, (bool, int, float, np.generic)):
        raise Misuse(f"a number is wanted here, not {describe(value)}")
    try:
        made = np.asarray(value, numpy_type(dtype or ("float32" if isinstance(value, float) else "int32")))
    except (OverflowError, ValueError):
        raise Misuse(f"{value!r} is no value of type {dtype}") from None
    return relax.broadcast_to(relax.constant(made), shape) if shape else relax.constant(made)
