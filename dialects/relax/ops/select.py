"""Elementwise choices and conversions: where, prelu, clip, astype, bitcast."""

import math

import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError
from legato.dialects.relax.attributes import Bool, DType, Float
from legato.dialects.relax.op import BOOL, FLOAT, MOVED, NUMBER, Operand, RelaxOp
from legato.dialects.relax.types import TensorType, broadcast


class Where(RelaxOp, name="where"):
    """a where the condition holds, b elsewhere; all three are broadcast.

    ```mlir
    %y = "relax.where"(%condition, %a, %b) : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    ELEMENTWISE = True
    PROMOTES = False
    condition = Operand(BOOL, own_dtype=True)
    a = Operand(MOVED)
    b = Operand(MOVED)

    @staticmethod
    def result_type(condition: TensorType, a: TensorType, b: TensorType) -> TensorType:
        return a.with_dims(broadcast(condition.dims, a.dims, b.dims))

    @staticmethod
    def compute(condition, a, b):
        return np.where(condition, a, b)


class Prelu(RelaxOp, name="prelu"):
    """x where it is at least 0, slope * x below; the two are broadcast.

    ```mlir
    %y = "relax.prelu"(%x, %slope) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    """

    ELEMENTWISE = True
    x = Operand(FLOAT)
    slope = Operand(FLOAT)

    @staticmethod
    def result_type(x: TensorType, slope: TensorType) -> TensorType:
        return x.with_dims(broadcast(x.dims, slope.dims))

    @staticmethod
    def compute(x, slope):
        return np.where(x >= 0, x, slope * x)


class Clip(RelaxOp, name="clip"):
    """max(x, min), then the minimum of that and max. NaN stays. For bounds that are tensors use `maximum` and `minimum`.

    ```mlir
    %y = "relax.clip"(%x) {min = 0.0 : f64, max = 6.0 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    ELEMENTWISE = True
    x = Operand(NUMBER)
    min = Float(None)
    max = Float(None)

    @staticmethod
    def result_type(x: TensorType, min, max) -> TensorType:
        return x

    @staticmethod
    def compute(x, min, max):
        if min is not None:
            x = np.maximum(x, _bound(min, x.dtype, math.ceil))
        if max is not None:
            x = np.minimum(x, _bound(max, x.dtype, math.floor))
        return x


def _bound(value, dtype, rounding):
    """A bound in x's element type; for integers the nearest one with the same effect."""
    if dtype.kind not in "iu":
        return dtype.type(value)
    limits = np.iinfo(dtype)
    if math.isinf(value):
        return dtype.type(limits.max if value > 0 else limits.min)
    return dtype.type(sorted((limits.min, rounding(value), limits.max))[1])


class Astype(RelaxOp, name="astype"):
    """x converted to another element type.

    Floats become integers by dropping the fraction (outside the integer's range: the nearest end of it; NaN: 0), and booleans by
    comparison with 0. Narrow types convert as in ml_dtypes: through f32, halves to even; beyond the greatest number stands infinity or
    NaN, or that number in types that have neither; integers of 2 and 4 bits wrap. What is rounded to f16 or bf16 with `contract`, an op
    with `contract` in the same kernel may read as it was before.

    ```mlir
    %y = "relax.astype"(%x) {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
    ```
    """

    ELEMENTWISE = True
    PROMOTES = False
    x = Operand(MOVED)
    dtype = DType()
    contract = Bool(False)

    @staticmethod
    def result_type(x: TensorType, dtype, contract) -> TensorType:
        return x.with_dtype(dtype)

    @staticmethod
    def compute(x, dtype, contract):
        return dtypes.convert_array(x, dtype)


class Bitcast(RelaxOp, name="bitcast"):
    """The bits of x as those of another element type of the same width.

    ```mlir
    %y = "relax.bitcast"(%x) {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
    ```
    """

    ELEMENTWISE = True
    PROMOTES = False
    x = Operand(MOVED)
    dtype = DType()

    @staticmethod
    def result_type(x: TensorType, dtype) -> TensorType:
        if dtype.itemsize != x.dtype.itemsize:
            raise InferenceError(f"attribute 'dtype' is {dtypes.spelling(dtype)}, expected a type of {x.dtype.itemsize} bytes, as "
                                 f"{dtypes.spelling(x.dtype)} has")
        return x.with_dtype(dtype)

    @staticmethod
    def compute(x, dtype):
        return np.ascontiguousarray(x).view(dtype).reshape(x.shape)
