"""Concatenation. The op is upstream's ``tensor.concat``: an op defined from Python cannot have operands of different types in one
group."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError, LegatoError
from legato.core.mlir import ir, tensor
from legato.dialects.relax.assumed import unified
from legato.dialects.relax.attributes import Attribute, Int
from legato.dialects.relax.axes import axis_of
from legato.dialects.relax.dims import Size
from legato.dialects.relax.op import SEMANTICS, GraphOp
from legato.dialects.relax.types import TensorType, checked_bytes


def _same(a: Size, b: Size, axis: int, number: int) -> Size:
    common = unified((a, b), f"the size of another operand at axis {axis}")
    if common is None:
        raise InferenceError(f"axis {axis} has size {b} in operand {number}, {a} in those before")
    return common


class Concat(GraphOp):
    """Tensors concatenated along an axis; all other sizes must be equal. Printed as upstream's op.

    ```mlir
    %y = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    ```
    """

    OPERATION_NAME: ClassVar[str] = "tensor.concat"
    PROMOTES = False
    axis = Int()
    ATTRIBUTES: ClassVar[dict[str, Attribute]] = {"axis": axis}

    @staticmethod
    def result_type(*xs: TensorType, axis: int) -> TensorType:
        if not xs:
            raise InferenceError("needs one operand at least")
        first = xs[0]
        axis = axis_of(axis, first.rank)
        sizes, total = list(first.dims), first.dims[axis]
        for number, x in enumerate(xs[1:], 1):
            if x.dtype != first.dtype:
                found = dtypes.spelling(x.dtype), dtypes.spelling(first.dtype)
                raise ElementTypeError(f"operand {number} has {found[0]} elements, operand 0 {found[1]}")
            if x.rank != first.rank:
                raise InferenceError(f"operand {number} has rank {x.rank}, operand 0 has rank {first.rank}")
            for a in range(first.rank):
                if a != axis:
                    sizes[a] = _same(sizes[a], x.dims[a], a, number)
            total = total + x.dims[axis]
        sizes[axis] = total
        return first.with_dims(sizes)

    @staticmethod
    def compute(*xs: np.ndarray, axis: int) -> np.ndarray:
        return np.concatenate(xs, axis=axis)

    @classmethod
    def _results(cls, types: Sequence[ir.Type], attrs: Mapping[str, Any]) -> list[TensorType]:
        return checked_bytes([cls.result_type(*map(TensorType.of, types), **attrs)])

    @classmethod
    def build(cls, xs: Sequence[ir.Value], axis: int, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Value:
        """Creates the op and returns its result. LegatoError if the operands do not fit."""
        xs = [x.result if isinstance(x, (ir.OpView, ir.Operation)) else x for x in xs]
        try:
            result_type = cls._results_built([x.type for x in xs], {"axis": axis})[0].ir()
        except LegatoError as error:
            raise LegatoError(cls._complaint(error, xs, loc)) from error
        return tensor.ConcatOp(result_type, axis % result_type.rank, xs, loc=loc, ip=ip).result


SEMANTICS[Concat.OPERATION_NAME] = Concat.compute
