"""Products of integers of 8 or 16 bits, summed in i32: what quantized matrix multiplications and convolutions compute."""

import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError
from legato.dialects.relax import window
from legato.dialects.relax.attributes import Bool, Int, Ints, Str
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

    `kernel_layout`: "IO" for matrices b of [depth, columns], "OI" for those of [columns, depth].

    ```mlir
    %y = "relax.matmul_integer"(%a, %b) : (tensor<2x4xui8>, tensor<4x3xi8>) -> tensor<2x3xi32>
    ```
    """

    a = Operand(INTEGER, own_dtype=True)
    b = Operand(INTEGER, "a matrix, or matrices in batches that broadcast with those of a", own_dtype=True)
    kernel_layout = Str("IO", ("IO", "OI"))

    @staticmethod
    def result_type(a: TensorType, b: TensorType, kernel_layout) -> TensorType:
        if a.rank < 2 or b.rank < 2:
            raise InferenceError(f"a and b must have rank 2 or more, they have {list(a.dims)} and {list(b.dims)}")
        matrix = b if kernel_layout == "IO" else b.with_dims((*b.dims[:-2], b.dims[-1], b.dims[-2]))
        return _sums(Matmul.result_type(a, matrix), a=a, b=b)

    @staticmethod
    def compute(a, b, kernel_layout):
        return np.matmul(a.astype(_SUMS), b.astype(_SUMS) if kernel_layout == "IO" else b.astype(_SUMS).swapaxes(-1, -2))


class Conv2dInteger(RelaxOp, name="conv2d_integer"):
    """conv2d of integers, summed in i32.

    They are of 8 bits, signed or unsigned, or of 16, signed; sums that i32 cannot hold wrap.

    `padding` lists the begin of each spatial axis, then the end of each; the elements there are `pad_value`: the quantization's zero point.
    `of_bytes` promises that elements of `x`, of 16 bits, are from -128 to 255, as bytes are that were widened.

    ```mlir
    %y = "relax.conv2d_integer"(%x, %w) : (tensor<1x4x8x8xui8>, tensor<16x4x3x3xi8>) -> tensor<1x16x6x6xi32>
    ```
    """

    x = Operand(INTEGER, "input, NCHW or NHWC", own_dtype=True)
    w = Operand(INTEGER, f"kernel, {', '.join(window.kernel_layouts(2))}", own_dtype=True)
    strides = Ints([1, 1])
    padding = Ints([0] * 4)
    dilations = Ints([1, 1])
    groups = Int(1)
    data_layout = Str("NCHW", window.data_layouts(2))
    kernel_layout = Str("OIHW", window.kernel_layouts(2))
    pad_value = Int(0)
    of_bytes = Bool(False)

    @staticmethod
    def result_type(x: TensorType, w: TensorType, strides, padding, dilations, groups, data_layout, kernel_layout,
                    pad_value, of_bytes) -> TensorType:
        if any(padding) and x.dtype in _FACTORS and not np.iinfo(x.dtype).min <= pad_value <= np.iinfo(x.dtype).max:
            raise InferenceError(f"attribute 'pad_value' is {pad_value}, no element of operand 'x', which has {dtypes.spelling(x.dtype)}")
        return _sums(convolved_type(2)(x, w, strides, padding, dilations, groups, data_layout, kernel_layout), x=x, w=w)

    @staticmethod
    def compute(x, w, strides, padding, dilations, groups, data_layout, kernel_layout, pad_value, of_bytes):
        amounts = dict(zip("HW", zip(padding[:2], padding[2:])))
        x = np.pad(x.astype(_SUMS), [amounts.get(letter, (0, 0)) for letter in data_layout], constant_values=pad_value)
        return convolution(2)(x, w.astype(_SUMS), strides, [0] * 4, dilations, groups, data_layout, kernel_layout)
