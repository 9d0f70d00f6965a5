"""Images assembled from blocks."""
from collections.abc import Sequence

import numpy as np

from legato.core.errors import InferenceError
from legato.dialects.relax import window
from legato.dialects.relax.assumed import assume_equal
from legato.dialects.relax.attributes import Ints, Shape
from legato.dialects.relax.dims import Size
from legato.dialects.relax.op import NUMBER, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class Col2im(RelaxOp, name="col2im"):
    """Images whose elements are the sums of those of the blocks that cover them.

    x is [batch, channels, block..., places...]: a block for each place of a window in images of `size`, with `strides`, `padding` (begins,
    then ends) and `dilations` as convolutions have them. What lies in the padding is dropped.

    ```mlir
    %y = "relax.col2im"(%x) {size = #relax.dims<[4]>, strides = array<i64: 1>, padding = array<i64: 1, 1>, dilations = array<i64: 1>}
        : (tensor<1x2x3x4xf32>) -> tensor<1x2x4xf32>
    ```
    """

    x = Operand(NUMBER)
    size = Shape()
    strides = Ints()
    padding = Ints()
    dilations = Ints()

    @staticmethod
    def result_type(x: TensorType, size: Sequence[Size], strides, padding, dilations) -> TensorType:
        rank = len(size)
        if not rank or x.rank != 2 + 2 * rank:
            raise InferenceError(f"operand 'x' has {list(x.dims)}, expected rank {2 + 2 * rank} for images of {rank} axes: batch, "
                                 "channels, block and places")
        window.check_window(rank, strides, padding, dilations)
        wanted = window.output_sizes(size, x.dims[2:2 + rank], strides, padding, dilations)
        if not all(assume_equal(a, b, "the number of places of a block in the image") for a, b in zip(x.dims[2 + rank:], wanted)):
            raise InferenceError(f"operand 'x' has blocks for {list(x.dims[2 + rank:])} places, but a block has {wanted} in the image")
        return x.with_dims((*x.dims[:2], *size))

    @staticmethod
    def compute(x, size, strides, padding, dilations):
        rank = len(size)
        block, counts = x.shape[2:2 + rank], x.shape[2 + rank:]
        made = np.zeros([*x.shape[:2], *(n + a + b for n, a, b in zip(size, padding, padding[rank:]))], x.dtype)
        for tap in np.ndindex(*block):
            covered = (slice(t * d, t * d + count * s, s) for t, d, count, s in zip(tap, dilations, counts, strides))
            made[(..., *covered)] += x[(slice(None), slice(None), *tap)]
        return made[(..., *(slice(begin, begin + n) for n, begin in zip(size, padding)))]
