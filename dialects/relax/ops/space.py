"""Ops that move elements between channels and spatial axes."""

from legato.core.errors import InferenceError
from legato.dialects.relax.assumed import assume_divides
from legato.dialects.relax.attributes import Int, Str
from legato.dialects.relax.dims import floor_divide
from legato.dialects.relax.op import MOVED, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


def _check(x: TensorType, block: int) -> None:
    if x.rank != 4:
        raise InferenceError(f"operand 'x' must have rank 4, NCHW, has {list(x.dims)}")
    if block < 1:
        raise InferenceError(f"attribute 'block' is {block}, expected 1 or more")


class DepthToSpace(RelaxOp, name="depth_to_space"):
    """Channels moved to block x block spatial positions; x is NCHW.

    `mode` is the order of a channel number's parts: "DCR" is row and column in the block, then the remaining channel; "CRD" is the
    remaining channel, then row and column.

    ```mlir
    %y = "relax.depth_to_space"(%x) {block = 2 : i64} : (tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    block = Int()
    mode = Str("DCR", ("DCR", "CRD"))

    @staticmethod
    def result_type(x: TensorType, block, mode) -> TensorType:
        _check(x, block)
        n, c, h, w = x.dims
        if not assume_divides(block * block, c, f"the channels of x: {block * block} divides them"):
            raise InferenceError(f"attribute 'block' is {block}, but {block * block} does not divide x's {c} channels")
        return x.with_dims((n, floor_divide(c, block * block), h * block, w * block))

    @staticmethod
    def compute(x, block, mode):
        n, c, h, w = x.shape
        left = c // (block * block)
        if mode == "DCR":
            y = x.reshape(n, block, block, left, h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            y = x.reshape(n, left, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
        return y.reshape(n, left, h * block, w * block)


class SpaceToDepth(RelaxOp, name="space_to_depth"):
    """block x block spatial positions moved to channels, numbered by row and column in the block, then the channel of x; x is NCHW.

    ```mlir
    %y = "relax.space_to_depth"(%x) {block = 2 : i64} : (tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32>
    ```
    """

    PROMOTES = False
    x = Operand(MOVED)
    block = Int()

    @staticmethod
    def result_type(x: TensorType, block) -> TensorType:
        _check(x, block)
        n, c, h, w = x.dims
        for name, size in (("height", h), ("width", w)):
            if not assume_divides(block, size, f"the {name} of x: {block} divides it"):
                raise InferenceError(f"attribute 'block' is {block}, which does not divide x's {name} {size}")
        return x.with_dims((n, c * (block * block), floor_divide(h, block), floor_divide(w, block)))

    @staticmethod
    def compute(x, block):
        n, c, h, w = x.shape
        y = x.reshape(n, c, h // block, block, w // block, block).transpose(0, 3, 5, 1, 2, 4)
        return y.reshape(n, c * block * block, h // block, w // block)
