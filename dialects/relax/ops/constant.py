"""Constants: small ones in the IR, large ones in the weight store."""

import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.attributes import Dense, Str
from legato.dialects.relax.dims import tensor_type
from legato.dialects.relax.op import RelaxOp
from legato.dialects.relax.types import TensorType


class Constant(RelaxOp, name="constant"):
    """A tensor known at compile time: `value`, its elements, or `weight`, the key of its elements in the module's weight store.

    ```mlir
    %y = "relax.constant"() {weight = "conv1_w"} : () -> tensor<64x3x7x7xf32>
    ```
    """

    PROMOTES = False
    value = Dense(None)
    weight = Str(None)

    @staticmethod
    def result_type(value, weight) -> TensorType:
        if (value is None) == (weight is None):
            raise InferenceError(f"needs exactly one of the attributes 'value' and 'weight', has {'neither' if value is None else 'both'}")
        if value is None:
            raise InferenceError("the type of a weight stands in the weight store, not in the op")
        return TensorType(value.shape, value.dtype)

    @staticmethod
    def compute(value, weight):
        if value is None:
            raise LegatoError(f"the elements of the weight '{weight}' stand in the module's weight store")
        return value

    @classmethod
    def checked_results(cls, operation, attrs):
        """The verifier cannot access the weight store, so it accepts a weight's declared type."""
        if attrs["weight"] is not None and attrs["value"] is None:
            return [TensorType.of(operation.results[0].type)]
        return [cls.result_type(**attrs)]


def constant(array, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Value:
    """The array as a ``relax.constant`` with its elements in the IR: for small ones. Python scalars get numpy's default element
    type."""
    array = np.asarray(array)
    value = dtypes.dense_attribute(array)
    return _create({"value": value}, value.type, loc, ip)


def weight(key: str, dtype, shape, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Value:
    """A ``relax.constant`` whose elements are in the module's weight store under the key."""
    return _create({"weight": ir.StringAttr.get(key)}, tensor_type(shape, dtypes.mlir_type(dtype)), loc, ip)


def _create(attributes, result_type, loc, ip) -> ir.Value:
    return ir.Operation.create(Constant.OPERATION_NAME, results=[result_type], attributes=attributes, loc=loc, ip=ip).results[0]
