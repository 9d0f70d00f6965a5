"""Tensor types as inference sees them: sizes and a numpy dtype."""

from typing import NamedTuple

import numpy as np

from legato.core.dtypes import mlir_type, numpy_dtype, spelling
from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.dims import UNKNOWN, Size, dims, tensor_type


class TensorType(NamedTuple):
    """Sizes (ints, Dims, UNKNOWN) and element type of a tensor."""

    dims: tuple[Size, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.dims)

    @staticmethod
    def of(ir_type: ir.Type) -> "TensorType":
        """LegatoError if it is no ranked tensor of a supported element type, or its encoding does not fit."""
        if not isinstance(ir_type, ir.RankedTensorType):
            raise LegatoError(f"{ir_type} is not a ranked tensor")
        return TensorType(dims(ir_type), numpy_dtype(ir_type.element_type))

    def ir(self) -> ir.RankedTensorType:
        """The MLIR type, in the current context."""
        return tensor_type(self.dims, mlir_type(self.dtype))

    def with_dims(self, sizes) -> "TensorType":
        return TensorType(tuple(sizes), self.dtype)

    def with_dtype(self, dtype) -> "TensorType":
        return TensorType(self.dims, np.dtype(dtype))

    def __str__(self) -> str:
        return f"{list(self.dims)} {spelling(self.dtype)}"


def broadcast(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape that shapes broadcast to by numpy's rule. A symbol is never taken for 1; an unknown size may be anything."""
    rank = max(map(len, shapes), default=0)
    result = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        firm = sizes - {UNKNOWN}
        if len(firm) > 1:
            all_shapes, clash = " and ".join(str(list(s)) for s in shapes), " and ".join(sorted(map(str, firm)))
            raise InferenceError(f"shapes {all_shapes} do not broadcast: {clash} at axis {axis}")
        result.append(next(iter(firm or sizes), 1))
    return tuple(result)
