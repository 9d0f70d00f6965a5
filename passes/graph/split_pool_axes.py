"""relax-split-pool-axes: maximum pools of channels-last images as one along columns and one along rows.

The greatest element of a window of a x b is that of a greatest ones of b neighbours each: a + b steps for a * b, where windows share most
elements. Those that are apart, or few, gain nothing.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, relax_functions, replace_uses, top_ops
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

STEPS = 0.75    # of one pool's: so many, at most, take less time in two kernels
MOVED = 2       # steps that it takes to write an element between them, and to read it
LARGE = 1 << 10     # assumed of an image of unknown size


@dataclass(frozen=True)
class SplitPoolAxes(ModulePass):
    """Splits maximum pools of channels-last images whose windows share most elements, from 4 x 4 or 3 x 5 on, in two."""

    name: ClassVar[str] = "relax-split-pool-axes"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name == "relax.max_pool2d" and is_wide(op):
                    with ir.InsertionPoint(op), op.location:
                        split(op)
            erase_dead(function, constants)


def is_wide(op: ir.Operation) -> bool:
    """Whether a pool is of channels-last images, and its windows share most elements."""
    attributes = relax.attributes_of(op.opview)
    (_, height, _, _), (_, rows, columns, _) = (dims.dims(value.type) for value in (op.operands[0], op.results[0]))
    if attributes["layout"] != "NHWC" or list(attributes["strides"]) != [1, 1]:
        return False
    height, rows, columns = (size if isinstance(size, int) else LARGE for size in (height, rows, columns))
    a, b = attributes["kernel"]
    return height * columns * (b + MOVED) + rows * columns * a <= STEPS * rows * columns * a * b


def split(op: ir.Operation) -> None:
    """Replaces a pool by one along each axis. Its windows end where its image does with the padding: they are apart by one element."""
    attributes, value = relax.attributes_of(op.opview), op.operands[0]
    for axis in (1, 0):
        def along(numbers: list[int], others: int, axis: int = axis) -> list[int]:
            return [number if place % 2 == axis else others for place, number in enumerate(numbers)]

        value = relax.max_pool2d(value, kernel=along(attributes["kernel"], 1), strides=[1, 1], dilations=along(attributes["dilations"], 1),
                                 padding=along(attributes["padding"], 0), layout="NHWC")
    replace_uses(op.results[0], value)
