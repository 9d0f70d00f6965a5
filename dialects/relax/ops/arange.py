"""Numbers in equal steps."""
from collections.abc import Sequence

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax.attributes import Shape
from legato.dialects.relax.dims import Size
from legato.dialects.relax.op import NUMBER, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class Arange(RelaxOp, name="arange"):
    """start, start + step, start + 2 * step and so on, as many as `shape` says: start + i * step, where i is in the element type, too.
    Integers wrap.

    ```mlir
    %y = "relax.arange"(%start, %step) {shape = #relax.dims<["n"]>} : (tensor<i64>, tensor<i64>) -> tensor<?xi64, #relax.dims<["n"]>>
    ```
    """

    start = Operand(NUMBER)
    step = Operand(NUMBER)
    shape = Shape()

    @staticmethod
    def result_type(start: TensorType, step: TensorType, shape: Sequence[Size]) -> TensorType:
        for name, operand in (("start", start), ("step", step)):
            if operand.rank != 0:
                raise InferenceError(f"operand '{name}' must be a scalar, has {list(operand.dims)}")
        if len(shape) != 1 or (isinstance(shape[0], int) and shape[0] < 0):
            raise InferenceError(f"attribute 'shape' is {list(shape)}, expected one size of 0 or more")
        return start.with_dims(shape)

    @staticmethod
    def compute(start, step, shape):
        with np.errstate(over="ignore"):
            return start + np.arange(shape[0]).astype(start.dtype) * step
