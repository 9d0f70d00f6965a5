"""Matrix multiplication."""

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.op import FLOAT, NUMBER, Operand, RelaxOp
from legato.dialects.relax.types import TensorType, broadcast


class Matmul(RelaxOp, name="matmul"):
    """numpy's matmul: the last two axes are matrices, the axes before are broadcast; an operand of rank 1 is a vector.

    ```mlir
    %y = "relax.matmul"(%a, %b) : (tensor<8x2x4xf32>, tensor<4x3xf32>) -> tensor<8x2x3xf32>
    ```
    """

    a = Operand(NUMBER)
    b = Operand(NUMBER)

    @staticmethod
    def result_type(a: TensorType, b: TensorType) -> TensorType:
        for name, operand in (("a", a), ("b", b)):
            if operand.rank == 0:
                raise InferenceError(f"operand '{name}' must have rank 1 or more, is a scalar")
        inner_a, inner_b = a.dims[-1], b.dims[-2 if b.rank > 1 else -1]
        if not assume_equal(inner_a, inner_b, f"the inner size of b, {list(b.dims)}"):
            raise InferenceError(f"the inner sizes differ: {inner_a} (last of a: {list(a.dims)}) and {inner_b} (of b: {list(b.dims)})")
        rows = a.dims[-2:-1]
        columns = b.dims[-1:] if b.rank > 1 else ()
        return a.with_dims((*broadcast(a.dims[:-2], b.dims[:-2]), *rows, *columns))

    @staticmethod
    def compute(a, b):
        return np.matmul(a, b)


class MatmulTurned(RelaxOp, name="matmul_turned"):
    """matmul of floats whose second operand has its last two axes exchanged: both are summed along their last axis.

    ```mlir
    %y = "relax.matmul_turned"(%a, %b) : (tensor<8x2x4xf32>, tensor<3x4xf32>) -> tensor<8x2x3xf32>
    ```
    """

    a = Operand(FLOAT, "[..., rows, depth]")
    b = Operand(FLOAT, "[..., columns, depth]")

    @staticmethod
    def result_type(a: TensorType, b: TensorType) -> TensorType:
        for name, operand in (("a", a), ("b", b)):
            if operand.rank < 2:
                raise InferenceError(f"operand '{name}' must have rank 2 or more, has shape {list(operand.dims)}")
        *batch, columns, depth = b.dims
        return Matmul.result_type(a, b.with_dims((*batch, depth, columns)))

    @staticmethod
    def compute(a, b):
        return np.matmul(a, np.swapaxes(b, -1, -2))
