"""Products with weights of few bits, which stay so in memory: weight-only quantization."""

from collections.abc import Sequence

import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError
from legato.dialects.relax.attributes import Bool, Int
from legato.dialects.relax.dims import UNKNOWN, Size, compatible
from legato.dialects.relax.op import FLOAT, INTEGER, NUMBER, Operand, RelaxOp
from legato.dialects.relax.types import TensorType

WORD_BITS = 32
DTYPES = {2: np.dtype(np.int32), 4: np.dtype(np.int32), 8: np.dtype(np.int8)}


def rows_per_word(bits: int) -> int:
    """The rows of the weight that one element of its tensor holds."""
    return 1 if bits == 8 else WORD_BITS // bits


def _fits(found: Sequence[Size], wanted: Sequence[Size]) -> bool:
    return len(found) == len(wanted) and all(map(compatible, found, wanted))


class MatmulQuantized(RelaxOp, name="matmul_quantized"):
    """``x @ ((q - zero) * scale)`` for a weight q of signed integers of 2, 4 or 8 bits in blocks of rows that share a scale and a zero.

    The columns are padded to whole panels of P. `weight` has the shape [panels, blocks, rows, P]: element [c, b, s, p] is row s of block b in
    column c P + p; with 8 bits a byte, with 4 or 2 bits a word of 32 bits that holds 8 or 16 consecutive rows, the first in its lowest
    bits. `scale` has the shape [panels, blocks, P]. So has `zero`, or it has the size 0 where all zeros are 0.

    ```mlir
    %y = "relax.matmul_quantized"(%x, %weight, %scale, %zero) {bits = 4 : i64, columns = 20 : i64} : (tensor<3x64xf32>, tensor<2x2x4x16xi32>, tensor<2x2x16xf32>, tensor<0xf32>) -> tensor<3x20xf32>
    ```
    """  # noqa: E501

    x = Operand(FLOAT, "a matrix")
    weight = Operand(INTEGER, own_dtype=True)
    scale = Operand(FLOAT, own_dtype=True)
    zero = Operand(NUMBER, own_dtype=True)
    bits = Int(doc="2, 4 or 8")
    columns = Int(doc="the columns of the result")
    rows_in_bytes = Bool(False, doc="rows may be rounded to bytes, block by block")

    @staticmethod
    def result_type(x: TensorType, weight: TensorType, scale: TensorType, zero: TensorType, bits, columns, rows_in_bytes) -> TensorType:
        if bits not in DTYPES:
            raise InferenceError(f"attribute 'bits' must be 2, 4 or 8, is {bits}")
        if weight.dtype != DTYPES[bits]:
            raise ElementTypeError(f"operand 'weight' must have {dtypes.spelling(DTYPES[bits])} elements for {bits} bits, has "
                                   f"{dtypes.spelling(weight.dtype)}")
        if x.rank != 2 or weight.rank != 4:
            raise InferenceError(f"x must have rank 2 and weight rank 4, they have {list(x.dims)} and {list(weight.dims)}")
        panels, blocks, rows, width = weight.dims
        shape = (panels, blocks, width)
        if not _fits(scale.dims, shape) or not (_fits(zero.dims, shape) or _fits(zero.dims, (0,))):
            raise InferenceError(f"scale must have the shape {list(shape)} and zero this or [0], they have {list(scale.dims)} "
                                 f"and {list(zero.dims)}")
        if UNKNOWN not in (blocks, rows) and not compatible(x.dims[1], blocks * rows * rows_per_word(bits)):
            raise InferenceError(f"the inner sizes differ: {x.dims[1]} (of x) and {blocks * rows * rows_per_word(bits)} (of weight)")
        if isinstance(panels, int) and isinstance(width, int) and not (panels - 1) * width < columns <= panels * width:
            raise InferenceError(f"{columns} columns do not need {panels} panels of {width}")
        return x.with_dims((x.dims[0], columns))

    @staticmethod
    def compute(x, weight, scale, zero, bits, columns, rows_in_bytes=False):
        panels, blocks, rows, width = weight.shape
        per = rows_per_word(bits)
        up = (WORD_BITS - bits - bits * np.arange(per, dtype=np.int32))[:, None]
        values = weight[:, :, :, None] if bits == 8 else (weight[:, :, :, None] << up) >> (WORD_BITS - bits)
        values = values.reshape(panels, blocks, rows * per, width).astype(x.dtype)
        if zero.size:
            values = values - zero[:, :, None].astype(x.dtype)
        values = values * scale[:, :, None].astype(x.dtype)
        matrix = values.transpose(1, 2, 0, 3).reshape(blocks * rows * per, panels * width)[:, :columns]
        return np.matmul(x, matrix)
