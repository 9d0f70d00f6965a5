"""Ops whose result sizes depend on data."""

import numpy as np

from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.attributes import Str
from legato.dialects.relax.calls import fresh_name, symbols_of
from legato.dialects.relax.dims import symbol, symbol_name
from legato.dialects.relax.op import ANY, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class NonZero(RelaxOp, name="nonzero"):
    """The indices of the elements of x that are not 0: one column per element, in row-major order.

    `size` is the symbol of the number of columns, which is known only after the op has run. By default the builder takes a new symbol.

    ```mlir
    %y = "relax.nonzero"(%x) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
    ```
    """

    PROMOTES = False
    x = Operand(ANY)
    size = Str(doc="the symbol of the number of columns")

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
