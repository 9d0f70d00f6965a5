"""Ops whose results are as large as the data says."""

import numpy as np

from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.attributes import Str
from legato.dialects.relax.calls import fresh_name, symbols_of
from legato.dialects.relax.dims import symbol, symbol_name
from legato.dialects.relax.op import ANY, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class NonZero(RelaxOp, name="nonzero"):
    """Where x is not 0: a column of indices for each such element, in row-major order.

    `size` is the symbol that the number of columns gets: it is known when the op has run, and no input gives it. Without it, the builder
    takes a new one.

    ```mlir
    %y = "relax.nonzero"(%x) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
    ```
    """

    PROMOTES = False
    x = Operand(ANY)
    size = Str(doc="the symbol of how many there are")

    @classmethod
    def build(cls, x, size=None, loc=None, ip=None):
        if size is None:
            block = (ip or ir.InsertionPoint.current).block
            function = block.owner
            while function.operation.name != "func.func":
                function = function.operation.parent
            size = fresh_name("nonzero", symbols_of(function.opview))
        return super().build(x, size=size, loc=loc, ip=ip)

    @staticmethod
    def result_type(x: TensorType, size) -> TensorType:
        if x.rank == 0:
            raise InferenceError("operand 'x' must have a dimension, and is a scalar")
        try:
            name = symbol_name(size) == size
        except LegatoError:
            name = False
        if not name:
            raise InferenceError(f"attribute 'size' is the name of a symbol, found {size!r}")
        return x.with_dtype(np.dtype(np.int64)).with_dims((x.rank, symbol(size)))

    @staticmethod
    def compute(x, size):
        return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)
