"""relax-pad-channels: convolutions of half floats whose images have channels in a number that asynchronous copies do not take well, as of
more, of which the last are zero.

The channels of a place lie next to each other, and asynchronous copies to shared memory move 4, 8 or 16 bytes: an odd number of halves is
copied one by one, through registers, for each element of a filter and each tile of filters again.
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

WORD = 4        # channels that one copy moves
HALVES = 8      # of 16 bytes
LEAST = 8       # filters of a product in tiles
COPIES = 8      # of each element, from which on a launch that copies it once costs less
TILE = 64       # filters that share a copy
MOST_ADDED = 3  # channels for each that is added, at least
CHANNELS_LAST = [0, 2, 3, 1]     # axes of an image whose channels come first


@dataclass(frozen=True)
class PadChannels(ModulePass):
    """Pads the channels of images, and of constant filters, on devices with asynchronous copies: to a multiple of four where one lacks, and
    to one of eight from other odd numbers, and twice such. Images of few channels are padded where these are moved to the last axis
    anyway, others where each element would be copied often; in front of such a transpose, if there is one. To be run after layouts are
    converted, and before weights are turned."""

    name: ClassVar[str] = "relax-pad-channels"
    target: TargetText = option("nvvm", "the target whose device may copy asynchronously")

    def run(self, module: Module, context: PassContext) -> None:
        if not context.gpu(self.target).async_copies:
            return
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name == "relax.conv2d" and (more := missing(op)) and ((is_transposed(op) and has_few(op)) or copies(op) >= COPIES):
                    pad(op, more, constants)
            erase_dead(function, constants)


def missing(op: ir.Operation) -> int:
    """The channels that a convolution in layout NHWC is to have more; 0 for none."""
    attrs, (image, filters) = relax.attributes_of(op), op.operands
    if (attrs["data_layout"], attrs["kernel_layout"], attrs["groups"]) != ("NHWC", "HWIO", 1) or not is_half(image.type):
        return 0
    channels, count = filters.type.shape[2:]
    if count < LEAST or channels < 1 or channels % WORD == 0 or dims.dims(image.type)[-1] != channels:
        return 0
    return next((more for more in (-channels % HALVES, -channels % WORD) if MOST_ADDED * more <= channels), 0)


def is_transposed(op: ir.Operation) -> bool:
    """Whether a convolution's image is the transpose of another for it alone, whose channels come first."""
    image = op.operands[0]
    before = defining_op(image)
    return before is not None and before.name == "relax.permute_dims" and has_one_use(image) and (
        [*relax.attributes_of(before)["axes"]] == CHANNELS_LAST)


def has_few(op: ir.Operation) -> bool:
    """Whether all channels of a place would be copied at once."""
    return op.operands[1].type.shape[2] < HALVES


def copies(op: ir.Operation) -> int:
    """How often each element of a convolution's image is copied to shared memory, about."""
    height, width, _, count = op.operands[1].type.shape
    return height * width * (count // TILE)


def pad(op: ir.Operation, more: int, constants: Constants) -> None:
    """Pads the operands of one convolution by so many channels, if its filters are constant."""
    image, filters = op.operands
    array = constants.array(filters)
    if array is None:
        return
    with ir.InsertionPoint(op), op.location:
        wider = np.pad(array, [(0, 0), (0, 0), (0, more), (0, 0)])
        if is_transposed(op):    # planes are copied, and elements written, by 16 bytes, as rows of an odd number of channels are not
            (first,) = image.owner.operands
            channels = relax.permute_dims(relax.pad(first, pads=[0] * 5 + [more, 0, 0], value=0.0, mode="constant"), axes=CHANNELS_LAST)
        else:
            channels = relax.pad(image, pads=[0] * 7 + [more], value=0.0, mode="constant")
        name = constants.name_of(filters, op.results[0], default="filter")
        replace_uses(op.results[0], relax.conv2d(channels, constants.build(wider, name), **relax.attributes_of(op)))
