"""Products of integers of 8 or 16 bits, summed in i32: what quantized matrix multiplications and convolutions compute."""

import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError
from legato.dialects.relax import window
from legato.dialects.relax.attributes import Ints, Str
from legato.dialects.relax.op import INTEGER, Operand, RelaxOp
from legato.dialects.relax.ops.conv import convolution, convolved_type
from legato.dialects.relax.ops.matmul import Matmul
from legato.dialects.relax.types import TensorType

_SUMS = np.dtype(np.int32)
_FACTORS = tuple(map(np.dtype, ("int8", "uint8", "int16")))


def _sums(type_: TensorType, **operands: TensorType) -> TensorType:
    """The type of sums of products of these operands."""
    for name, operand in operands.items():
        if operand.dtype not in _FACTORS:
            raise ElementTypeError(f"operand '{name}' must have int8, uint8 or int16 elements, has {dtypes.spelling(operand.dtype)}")
    return type_.with_dtype(_SUMS)


class MatmulInteger(RelaxOp, name="matmul_integer"):
    """matmul of integers of 8 bits, signed or unsigned, or of 16, signed, summed in i32; sums that i32 cannot hold wrap.

    ```mlir
    %y = "relax.matmul_integer"(%a, %b) : (tensor<2x4xui8>, tensor<4x3xi8>) -> tensor<2x3xi32>
    ```
    """

    a = Operand(INTEGER, own_dtype=True)
    b = Operand(INTEGER, "a matrix", own_dtype=True)

    @staticmethod
    def result_type(a: TensorType, b: TensorType) -> TensorType:
        if a.rank < 2 or b.rank != 2:
            raise InferenceError(f"a must have rank 2 or more and b rank 2, they have {list(a.dims)} and {list(b.dims)}")
        return _sums(Matmul.result_type(a, b), a=a, b=b)

    @staticmethod
    def compute(a, b):
        return np.matmul(a.astype(_SUMS), b.astype(_SUMS))


class Conv2dInteger(RelaxOp, name="conv2d_integer"):
    """conv2d of integers in one group, summed in i32.

    They are of 8 bits, signed or unsigned, or of 16, signed; sums that i32 cannot hold wrap.

    The input is not padded: the value that counts as zero is the quantization's zero point, which `relax.pad` adds.

    ```mlir
    %y = "relax.conv2d_integer"(%x, %w) : (tensor<1x4x8x8xui8>, tensor<16x4x3x3xi8>) -> tensor<1x16x6x6xi32>
    ```
    """

    x = Operand(INTEGER, "input, NCHW or NHWC", own_dtype=True)
    w = Operand(INTEGER, f"kernel, {', '.join(window.kernel_layouts(2))}", own_dtype=True)
    strides = Ints([1, 1])
    dilations = Ints([1, 1])
    data_layout = Str("NCHW", window.data_layouts(2))
    kernel_layout = Str("OIHW", window.kernel_layouts(2))

    @staticmethod
    def result_type(x: TensorType, w: TensorType, strides, dilations, data_layout, kernel_layout) -> TensorType:
        return _sums(convolved_type(2)(x, w, strides, [0] * 4, dilations, 1, data_layout, kernel_layout), x=x, w=w)

    @staticmethod
    def compute(x, w, strides, dilations, data_layout, kernel_layout):
        return convolution(2)(x.astype(_SUMS), w.astype(_SUMS), strides, [0] * 4, dilations, 1, data_layout, kernel_layout)
