"""relax-split-pool-axes: maximum pools of channels-last images as one along columns and one along rows, and those of volumes as one of
images and one along the depth.

The greatest element of a window of a x b is that of a greatest ones of b neighbours each: a + b steps for a * b, where windows share most
elements. Those that are apart, or few, gain nothing. Slices of volumes are images, whose kernels are fast.
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
    """Splits maximum pools of channels-last images whose windows share most elements, from 4 x 4 or 3 x 5 on, in two, and those of
    volumes."""

    name: ClassVar[str] = "relax-split-pool-axes"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name == "relax.max_pool3d" and is_of_images(op):
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], of_images(op))
            for op in top_ops(function):
                if op.name == "relax.max_pool2d" and is_wide(op):
                    with ir.InsertionPoint(op), op.location:
                        split(op)
            erase_dead(function, constants)


def is_of_images(op: ir.Operation) -> bool:
    """Whether a pool is of channels-last volumes whose sizes have names."""
    return relax.attributes_of(op.opview)["layout"] == "NDHWC" and dims.UNKNOWN not in (*dims.dims(op.operands[0].type),
                                                                                       *dims.dims(op.results[0].type))


def of_images(op: ir.Operation) -> ir.Value:
    """A pool of volumes, as one of their slices, and one of the slices' elements along the depth."""
    attributes = relax.attributes_of(op.opview)
    (count, depth, *sizes, channels), (_, levels, rows, columns, _) = (dims.dims(value.type) for value in (op.operands[0], op.results[0]))

    def pool(value: ir.Value, axes: slice) -> ir.Value:
        def along(numbers: list[int], other: int) -> list[int]:
            return (numbers[axes] + [other])[:2]    # elements of a slice, in a row, have windows of one

        padding = list(attributes["padding"])
        kernel, strides, dilations = (along(list(attributes[name]), 1) for name in ("kernel", "strides", "dilations"))
        padding = [*along(padding[:3], 0), *along(padding[3:], 0)]
        if {*kernel, *strides} == {1} and not any(padding):
            return value
        return relax.max_pool2d(value, kernel=kernel, strides=strides, dilations=dilations, padding=padding,
                                ceil_mode=attributes["ceil_mode"], layout="NHWC")

    images = pool(relax.reshape(op.operands[0], [dims.product([count, depth]), *sizes, channels]), slice(1, 3))
    slices = relax.reshape(images, [count, depth, dims.product([rows, columns]), channels])
    return relax.reshape(pool(slices, slice(0, 1)), [count, levels, rows, columns, channels])


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
