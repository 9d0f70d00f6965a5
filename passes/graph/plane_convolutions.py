"""relax-plane-convolutions: convolutions of volumes as those of images, one for each slice of the result.

The slices that a window covers are channels of the image: ``y[d]`` is the convolution of ``[x[s * d], x[s * d + 1], ...]``, whose copies
cost what each of its elements is multiplied with a few times. Schedules of images multiply pairs of bf16, and step over what windows that
do not overlap leave out.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from legato.analysis.structured.convolution import ENOUGH_FEATURES, are_few
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import (
    CONSTANT,
    Constants,
    erase_dead,
    has_known_images,
    relax_functions,
    replace_uses,
    top_ops,
)
from legato.passes.graph.layout.rules import is_faster_by_columns
from legato.passes.graph.widen_convolutions import multiplies_pairs
from legato.passes.graph.windows import windows
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

MANY = 32       # vector registers: with fewer, volumes have no loops of their own, but for
POSITIONS = 12  # fewer than so many in a row, and filters larger than the second cache


@dataclass(frozen=True)
class PlaneConvolutions(ModulePass):
    """Turns convolutions of volumes of known sizes with constant filters into convolutions of images: of factors that the CPU multiplies in
    pairs, and of windows some steps apart, which do not overlap, or on CPUs of few registers do; not those that are faster by columns."""

    name: ClassVar[str] = "relax-plane-convolutions"
    target: TargetText = option("llvm", "the target whose schedules are faster for images")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name == "relax.conv3d" and has_planes(op) and is_faster(op, machine):
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], in_planes(op))
            erase_dead(function, constants)


def has_planes(op: ir.Operation) -> bool:
    """Whether a convolution of volumes is one of channels first in one group, of sizes that are known but for their number."""
    attrs = relax.attributes_of(op)
    plain = attrs["groups"] == 1 and attrs["data_layout"] == "NCDHW" and attrs["kernel_layout"] == "OIDHW"
    return plain and has_known_images(op)


def is_faster(op: ir.Operation, machine: CpuMachine) -> bool:
    """Whether the schedules of images are faster."""
    weight = defining_op(op.operands[1])
    if weight is None or weight.name != CONSTANT:
        return False
    features, channels, *taps = op.operands[1].type.shape
    attrs = relax.attributes_of(op)
    if is_along_depth(attrs, taps):
        return False
    if multiplies_pairs(op, machine):
        return True
    if machine.rounds_factors and machine.multiplies_pairs and features >= ENOUGH_FEATURES:
        return machine.has("amx-bf16") or not overlaps(attrs, taps) or channels % machine.lanes(32) != 0
    strides, padding = attrs["strides"], attrs["padding"]
    if prod(taps) == 1 or strides[2] == 1 or are_few(features, channels, machine.lanes(32)):
        return False
    if machine.convolves_columns and is_faster_by_columns(op, attrs, is_held=False):
        return False
    if skipped(taps, strides, padding):
        return True
    streams = op.results[0].type.shape[4] < POSITIONS and prod(op.operands[1].type.shape) * 4 > machine.l2_bytes
    return not streams and (machine.registers < MANY or all(step >= size for step, size in zip(strides, taps)))


def is_along_depth(attrs: Mapping[str, Any], taps: Sequence[int]) -> bool:
    """Whether windows are one element of each slice that they take. ``relax-collapse-batch`` makes these convolutions of one image, without
    copies."""
    padding = attrs["padding"]
    return taps[0] > 1 and (*taps[1:], *attrs["strides"][1:], *padding[1:3], *padding[4:]) == (1, 1, 1, 1, 0, 0, 0, 0)


def overlaps(attrs: Mapping[str, Any], taps: Sequence[int]) -> bool:
    """Whether windows are some of which Winograd's algorithm multiplies fewer numbers, in the slices of a volume as they are."""
    return taps[0] > 1 and (*taps[1:], *attrs["strides"][1:], *attrs["dilations"][1:]) == (3, 3, 1, 1, 1, 1)


def skipped(taps: Sequence[int], strides: Sequence[int], padding: Sequence[int]) -> list[int]:
    """The axes of slices, 1 and 2, along which images are not read as a whole: of windows of one tap, without padding."""
    return [axis for axis in (1, 2) if taps[axis] == 1 < strides[axis] and not padding[axis] and not padding[axis + 3]]


def in_planes(op: ir.Operation) -> ir.Value:
    """The result of a convolution of volumes, by ops built at the insertion point."""
    x, w = op.operands
    attrs = relax.attributes_of(op)
    images, steps = slices(x, w.type.shape[2:], attrs["strides"], attrs["padding"], attrs["dilations"])
    features, channels, *taps = w.type.shape
    filters = relax.reshape(relax.permute_dims(w, axes=[0, 2, 1, 3, 4]), [features, taps[0] * channels, *taps[1:]])
    begins, ends = attrs["padding"][1:3], attrs["padding"][4:]
    y = relax.conv2d(images, filters, strides=steps, padding=[*begins, *ends], dilations=attrs["dilations"][1:], data_layout="NHWC")
    return volume(y, dims.dims(op.results[0].type))


def slices(x: ir.Value, taps: Sequence[int], strides: Sequence[int], padding: Sequence[int],
           dilations: Sequence[int]) -> tuple[ir.Value, list[int]]:
    """The images [N * slices, height, width, taps * channels] of a volume [N, channels, ...], and the strides of their convolution: along
    axes of one tap without padding, images have only what is read. ``taps``, ``strides``, ``padding``, ``dilations``: of the volume's."""
    alone = skipped(taps, strides, padding)
    if alone:
        ends, steps = [x.type.shape[axis + 2] for axis in alone], [strides[axis] for axis in alone]
        x = relax.strided_slice(x, begin=[0] * len(alone), end=ends, strides=steps, axes=[axis + 2 for axis in alone])
    x = relax.permute_dims(x, axes=[0, 2, 3, 4, 1])
    (batch, _, *sizes, channels), depth = dims.dims(x.type), x.type.shape[1]
    count = (padding[0] + depth + padding[3] - 1 - dilations[0] * (taps[0] - 1)) // strides[0] + 1
    firsts = [tap * dilations[0] - padding[0] for tap in range(taps[0])]
    padded = [first for first in firsts if first < 0 or first + (count - 1) * strides[0] >= depth]
    if len(padded) > 1:
        x = relax.pad(x, pads=[0, padding[0], 0, 0, 0, 0, padding[3], 0, 0, 0])
    if len(padded) == 1:
        parts = [padded_slices(x, first, count, strides[0]) for first in firsts]
        gathered = parts[0] if len(parts) == 1 else relax.concat(parts, 4)
    else:
        gathered = windows(x, [taps[0], 1, 1], [count, *sizes], [strides[0], 1, 1], [dilations[0], 1, 1])
    images = relax.reshape(gathered, [dims.product([batch, count]), *sizes, taps[0] * channels])
    return images, [1 if axis in alone else strides[axis] for axis in (1, 2)]


def padded_slices(x: ir.Value, first: int, count: int, step: int) -> ir.Value:
    """``count`` slices of a volume with channels last, from the number ``first`` on, some steps apart; zeros where the volume has none.
    Only what a tap reads from the padding is written, not the volume in the middle of it."""
    depth = x.type.shape[1]
    before = min(count, max(0, -(first // step)))
    inside = max(0, min(count, (depth - 1 - first) // step + 1) - before)
    begin = first + before * step if inside else 0
    end = begin + (inside - 1) * step + 1 if inside else begin
    taken = relax.strided_slice(x, begin=[begin], end=[end], strides=[step], axes=[1])
    missing = [0, before, 0, 0, 0, 0, count - before - inside, 0, 0, 0]
    return relax.pad(taken, pads=missing) if any(missing) else taken


def volume(y: ir.Value, sizes: Sequence[dims.Size]) -> ir.Value:
    """Images [N * slices, height, width, features] as a volume of these sizes, channels first."""
    batch, features, *positions = sizes
    return relax.permute_dims(relax.reshape(y, [batch, *positions, features]), axes=[0, 4, 1, 2, 3])
