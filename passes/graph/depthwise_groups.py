"""relax-depthwise-groups: convolutions in groups of one feature each as depthwise ones, whose channels are added up by groups.

A feature of its own fills no vector. Depthwise, the lanes of vectors are channels; the sums of a group's are added when all taps are done.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext

OPS = ("relax.conv1d", "relax.conv2d", "relax.conv3d")
MOST_CHANNELS = 15      # of a group: more fill a vector, in which they are added up where they are multiplied


@dataclass(frozen=True)
class DepthwiseGroups(ModulePass):
    """Makes convolutions of f32 in groups of one feature and of few channels depthwise, and sums of their channels."""

    name: ClassVar[str] = "relax-depthwise-groups"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name in OPS and has_single_features(op):
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], summed_channels(op))
            erase_dead(function, constants)


def has_single_features(op: ir.Operation) -> bool:
    """Whether a convolution of f32 has channels first, windows of several elements, and groups of one feature and of few channels."""
    image, weight = op.operands
    attrs, (features, channels, *taps) = relax.attributes_of(op), dims(weight.type)
    is_f32 = {numpy_dtype(value.type.element_type) for value in (image, weight, op.results[0])} == {np.dtype(np.float32)}
    first = attrs["data_layout"].startswith("NC") and attrs["kernel_layout"].startswith("OI")
    few = isinstance(channels, int) and 1 < channels <= MOST_CHANNELS and any(size != 1 for size in taps)
    return is_f32 and first and few and 1 < attrs["groups"] == features and UNKNOWN not in dims(op.results[0].type)


def summed_channels(op: ir.Operation) -> ir.Value:
    """The convolution as a depthwise one and a sum, at the insertion point."""
    image, weight = op.operands
    attrs, (groups, channels, *taps) = relax.attributes_of(op), dims(weight.type)
    filters = relax.reshape(weight, [groups * channels, 1, *taps])
    products = present(relax.op_class(op)).build(image, filters, **attrs | {"groups": groups * channels})
    batch, _, *sizes = dims(products.type)
    return relax.sum(relax.reshape(products, [batch, groups, channels, *sizes]), axis=[2])
