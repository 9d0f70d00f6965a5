"""relax-pad-channels: convolutions of half floats with images of three channels, as of four, of which the last is zero.

The channels of a place lie next to each other, and asynchronous copies to shared memory move 4, 8 or 16 bytes: three halves of a place are
none of these, and were copied one by one, through registers.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.halves import is_half
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, has_one_use, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

PIECE = 4       # channels that one copy moves
LEAST = 8       # filters of a product in tiles
CHANNELS_LAST = [0, 2, 3, 1]     # axes of an image whose channels come first


@dataclass(frozen=True)
class PadChannels(ModulePass):
    """Pads the channels of images, and of constant filters, where their number is one less than a multiple of four, on devices with
    asynchronous copies. Images are padded behind the transpose that moves their channels to the last axis; others stay. To be run after
    layouts are converted."""

    name: ClassVar[str] = "relax-pad-channels"
    target: TargetText = option("nvvm", "the target whose device may copy asynchronously")

    def run(self, module: Module, context: PassContext) -> None:
        if not context.gpu(self.target).async_copies:
            return
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.conv2d" and is_padded(op):
                    pad(op, constants)
            erase_dead(function, constants)


def is_padded(op: ir.Operation) -> bool:
    """Whether a convolution has an image, in layout NHWC, that lacks one channel, and that is the transpose of another for it alone."""
    attrs, (image, filters) = relax.attributes_of(op), op.operands
    before = defining_op(image)
    return (attrs["data_layout"], attrs["kernel_layout"], attrs["groups"]) == ("NHWC", "HWIO", 1) and (
        is_half(image.type) and dims.dims(image.type)[-1] == filters.type.shape[2]
        and filters.type.shape[2] % PIECE == PIECE - 1 and filters.type.shape[3] >= LEAST
        and before is not None and before.name == "relax.permute_dims" and has_one_use(image)
        and [*relax.attributes_of(before)["axes"]] == CHANNELS_LAST)


def pad(op: ir.Operation, constants: Constants) -> None:
    """Pads the operands of one convolution, if its filters are constant."""
    image, filters = op.operands
    array = constants.array(filters)
    if array is None:
        return
    with ir.InsertionPoint(op), op.location:
        wider = np.pad(array, [(0, 0), (0, 0), (0, 1), (0, 0)])
        channels = relax.pad(image, pads=[0] * 7 + [1], value=0.0, mode="constant")
        name = constants.name_of(filters, op.results[0], default="filter")
        replace_uses(op.results[0], relax.conv2d(channels, constants.build(wider, name), **relax.attributes_of(op)))
