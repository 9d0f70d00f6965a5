"""Products of floats of 8 bits, summed in f32."""

import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError
from legato.dialects.relax.op import Operand, RelaxOp
from legato.dialects.relax.ops.matmul import Matmul
from legato.dialects.relax.types import TensorType

_FACTORS = tuple(map(dtypes.as_dtype, ("f8E4M3FN", "f8E5M2")))
_SUMS = np.dtype(np.float32)


class MatmulFloat8(RelaxOp, name="matmul_float8"):
    """matmul of floats of 8 bits of one type, summed in f32. Both operands are summed along their last axis.

    ```mlir
    %y = "relax.matmul_float8"(%a, %b) : (tensor<8x2x4xf8E4M3FN>, tensor<3x4xf8E4M3FN>) -> tensor<8x2x3xf32>
    ```
    """

    a = Operand(frozenset({"narrow"}), "[..., rows, depth]", own_dtype=True)
    b = Operand(frozenset({"narrow"}), "[..., columns, depth]", own_dtype=True)

    @staticmethod
    def result_type(a: TensorType, b: TensorType) -> TensorType:
        for name, operand in (("a", a), ("b", b)):
            if operand.dtype not in _FACTORS:
                raise ElementTypeError(f"operand '{name}' must have f8E4M3FN or f8E5M2 elements, has {dtypes.spelling(operand.dtype)}")
            if operand.rank < 2:
                raise InferenceError(f"operand '{name}' must have rank 2 or more, has shape {list(operand.dims)}")
        if a.dtype != b.dtype:
            raise ElementTypeError("operands 'a' and 'b' must have elements of one type, have "
                                   f"{dtypes.spelling(a.dtype)} and {dtypes.spelling(b.dtype)}")
        *batch, columns, depth = b.dims
        return Matmul.result_type(a, b.with_dims((*batch, depth, columns))).with_dtype(_SUMS)

    @staticmethod
    def compute(a, b):
        return np.matmul(a.astype(_SUMS), b.astype(_SUMS).swapaxes(-1, -2))
