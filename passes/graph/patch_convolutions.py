"""relax-patch-convolutions: convolutions of patches become those by one element, products of matrices.

Where windows do not overlap, an image of few channels is permuted into its patches, once, and these are multiplied with a filter larger
than the second cache, by panels of it: a convolution would go through the whole filter for a few positions after the other. Filters of the
run whose window is the image (as of one element, of pooled images) are matrices that a product of a row for each image reads as they lie.
"""
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import (
    Constants,
    erase_dead,
    has_known_images,
    is_constant,
    relax_functions,
    replace_uses,
    top_ops,
)
from legato.passes.graph.windows import FEW_CHANNELS
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LAYOUTS = {"relax.conv2d": ("NCHW", "OIHW"), "relax.conv3d": ("NCDHW", "OIDHW")}
F32_BYTES = 4


@dataclass(frozen=True)
class PatchConvolutions(ModulePass):
    """Turns convolutions of f32 images and volumes of few channels, channels first, whose windows are as many elements apart as they have,
    without padding, into products, where the filter is constant and larger than the second cache, or not constant, and its window the
    image."""

    name: ClassVar[str] = "relax-patch-convolutions"
    target: TargetText = option("llvm", "the target whose second cache holds smaller filters")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name in LAYOUTS and embeds_patches(op) and (is_one_patch(op) if is_of_run(op) else streams(op, machine)):
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], product_of_patches(op))
            erase_dead(function, constants)


def embeds_patches(op: ir.Operation) -> bool:
    """Whether a convolution is one of patches side by side, of known sizes but for the number of images."""
    attrs = relax.attributes_of(op)
    taps = op.operands[1].type.shape[2:]
    plain = attrs["groups"] == 1 and (attrs["data_layout"], attrs["kernel_layout"]) == LAYOUTS[op.name] and not any(attrs["padding"])
    apart = list(attrs["strides"]) == list(taps) and all(step == 1 or size == 1 for step, size in zip(attrs["dilations"], taps))
    return has_known_images(op) and plain and apart and isinstance(op.results[0].type.element_type, ir.F32Type)


def streams(op: ir.Operation, machine: CpuMachine) -> bool:
    """Whether a convolution has few channels and a filter that the second cache does not hold."""
    shape = op.operands[1].type.shape
    return shape[1] < FEW_CHANNELS and prod(shape) * F32_BYTES > machine.l2_bytes


def is_of_run(op: ir.Operation) -> bool:
    """Whether the filter is no constant."""
    return not is_constant(op.operands[1])


def is_one_patch(op: ir.Operation) -> bool:
    """Whether an image is one window, of a filter of known size."""
    return op.operands[1].type.has_static_shape and list(op.operands[0].type.shape[2:]) == list(op.operands[1].type.shape[2:])


def product_of_patches(op: ir.Operation) -> ir.Value:
    """The result of the convolution, by ops built at the insertion point: the patches of [N, C, sizes...] are an image
    [N, counts..., C * taps...], whose convolution by one element is a product; where an image is one patch, it is a row. What is left
    beside the last patches is not read."""
    x, w = op.operands
    batch, channels, *sizes = dims.dims(x.type)
    features, _, *taps = w.type.shape
    counts = [size // tap for size, tap in zip(sizes, taps)]
    read = [count * tap for count, tap in zip(counts, taps)]
    if read != sizes:
        axes = range(2, 2 + len(read))
        x = relax.strided_slice(x, begin=[0] * len(read), end=read, strides=[1] * len(read), axes=list(axes))
    depth = channels * prod(taps)
    if prod(counts) == 1:
        y = relax.matmul(relax.reshape(x, [batch, depth]), relax.permute_dims(relax.reshape(w, [features, depth]), axes=[1, 0]))
        return relax.reshape(y, [batch, features, *counts])
    split = [size for pair in zip(counts, taps) for size in pair]
    places, within = [2 + 2 * axis for axis in range(len(taps))], [3 + 2 * axis for axis in range(len(taps))]
    patches = relax.permute_dims(relax.reshape(x, [batch, channels, *split]), axes=[0, *places, 1, *within])
    image = relax.reshape(patches, [batch, prod(counts[:-1]), counts[-1], depth])
    y = relax.conv2d(image, relax.reshape(w, [features, depth, 1, 1]), data_layout="NHWC")
    return relax.permute_dims(relax.reshape(y, [batch, *counts, features]), axes=[0, len(taps) + 1, *range(1, len(taps) + 1)])
