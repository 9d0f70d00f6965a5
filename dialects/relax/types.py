"""Tensor types for shape inference: sizes and a numpy dtype."""

from typing import NamedTuple

import numpy as np

from legato.core.dtypes import mlir_type, numpy_dtype, spelling
from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.assumed import unified
from legato.dialects.relax.dims import UNKNOWN, Size, dims, tensor_type
from legato.dialects.relax.sizes import is_too_large


class TensorType(NamedTuple):
    """Sizes (ints, Dims, UNKNOWN) and element type of a tensor."""

    dims: tuple[Size, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @staticmethod
    def of(ir_type: ir.Type) -> "TensorType":
        """The TensorType of an MLIR type. LegatoError unless it is a ranked tensor of a supported element type with a fitting
        encoding."""
        if not isinstance(ir_type, ir.RankedTensorType):
            raise LegatoError(f"{ir_type} is not a ranked tensor")
        return TensorType(dims(ir_type), numpy_dtype(ir_type.element_type))

    def ir(self) -> ir.RankedTensorType:
        """The MLIR type, in the current context."""
        return tensor_type(self.dims, mlir_type(self.dtype))

    def with_dims(self, sizes) -> "TensorType":
        """The type with other sizes."""
        return TensorType(tuple(sizes), self.dtype)

    def with_dtype(self, dtype) -> "TensorType":
        """The type with another element type."""
        return TensorType(self.dims, np.dtype(dtype))

    def __str__(self) -> str:
        return f"{list(self.dims)} {spelling(self.dtype)}"


def checked_bytes(types: list[TensorType]) -> list[TensorType]:
    """The types. InferenceError for one with more bytes than any process can address."""
    for type_ in types:
        if is_too_large(type_.dims, type_.dtype.itemsize):
            raise InferenceError(f"its result would be a tensor of {type_}, more than the 2**56 bytes that a process can address")
    return types


def broadcast(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """The common shape under numpy's broadcasting. A symbol is never assumed to be 1: sizes other than 1 are assumed to be equal. An
    unknown size fits any."""
    rank = max(map(len, shapes), default=0)
    result = []
    for axis in range(-rank, 0):
        sizes = [size for shape in shapes if len(shape) >= -axis and (size := shape[axis]) != 1]
        common = unified(sizes, f"the size of another operand at axis {axis}") if sizes else 1
        if common is None:
            all_shapes = " and ".join(str(list(s)) for s in shapes)
            clash = " and ".join(sorted({str(size) for size in sizes if size is not UNKNOWN}))
            raise InferenceError(f"shapes {all_shapes} do not broadcast: {clash} at axis {axis}")
        result.append(common)
    return tuple(result)
