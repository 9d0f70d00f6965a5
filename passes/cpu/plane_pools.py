"""tir-plane-pools: maximum and average pools of channels-first images, as loops over rows of the result, with vectors along a row.

For a part of a channel, the rows of the image that a row of windows takes are combined first, column by column, into one row in the
first-level cache, with a border of what changes nothing (``kept_rows``); then its columns, tap by tap for neighbouring windows, or where
these are far apart window by window (``far_windows``). Rows above and below the image are left out: rows of windows that lie inside have a
loop of their own, of others the bounds of loops over the window's rows are. Of images whose sizes are known at run time only, what is left
over of a row behind whole vectors is read and written by masks.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from legato.analysis.structured.pool import PoolForm, steps_far
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.core.vector_loops import (
    Size,
    Vectors,
    in_parts,
    least,
    minus,
    quotient,
    remainder,
    rounded_up,
    times,
)
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.column_tiles import PARTS, evenly
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kept_rows import KeptRows
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.plane_pool_parts import PoolPart, combined
from legato.passes.cpu.sized_axes import SizedAxis
from legato.passes.cpu.window_loops import WORTH_IT, images_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

LEAST_LANES = 8
KEPT = 8                # rows of an image of unknown size


@dataclass(frozen=True)
class PlanePools(ModulePass):
    """Turns pools of channels-first images into loops on vectors of columns: maxima, and sums of floats."""

    name: ClassVar[str] = "tir-plane-pools"
    rounding: ClassVar[Rounding] = Rounding(ulps=4)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form = PoolForm.of(context.kernels.of(kernel))
                if form is not None:
                    tensors = [form.source, *(value for value, _ in form.reads)]
                    into_loops(kernel, form.heart.op.location, tensors, partial(build_loops, form, machine))
                    context.kernels.drop(kernel)


def build_loops(form: PoolForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    PoolLoops(form, machine, buffers).build()


class PoolLoops:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: PoolForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.machine, self.buffers = form, machine, buffers
        self.source, self.out = buffers.of(form.source), buffers.of(list(form.kernel.function.arguments)[-1])
        axes = [SizedAxis.of(axis, self.source, self.out, place) for place, axis in enumerate(form.axes, 2)]
        self.across, self.columns = axes[:-1], axes[-1]
        own = form.result.type.element_type
        self.element = own if isinstance(own, ir.IntegerType) else ir.F32Type.get()    # in which elements are combined
        bits = self.element.width
        self.steps_far = steps_far(self.columns.stride, own)
        self.vectors = Vectors(self._lanes(machine.lanes(bits)))
        self.has_masks = own == ir.F32Type.get() or machine.has("avx512bw")
        self.combine = partial(combined, form.combiner)
        work = max(1, self.source.type.shape[0]) * form.channels * prod(axis.count * axis.taps for axis in form.axes)
        self.threads = machine.threads if work >= WORTH_IT or not are_known(form.axes) else 1
        self.counts = self._counts(bits // 8)
        self.border = self.vectors.constant(form.neutral, self.element)
        self.rows = KeptRows(self.vectors, self.columns, self.border, self.threads, *self.counts, whole=self.steps_far)

    def _lanes(self, register: int) -> int:
        """As many as a register has, or fewer where rows are known to be short."""
        count, taps = self.columns.count, self.columns.taps
        if not isinstance(count, int):
            return register
        width = max(LEAST_LANES, count, taps if self.steps_far else 0)
        return min(register, 1 << (width - 1).bit_length())

    def _counts(self, size: int) -> list[Size]:
        """The positions, by the dimensions across rows, whose rows are kept: as many of the first as fit into half of the first cache."""
        if not self.across:
            return []
        inner, sizes = [axis.count for axis in self.across[1:]], [axis.count for axis in self.form.axes]
        if min(sizes) < 0:
            return [1 if inner else KEPT if sizes[0] < 0 else evenly(max(1, sizes[0]), KEPT), *inner]
        width = (sizes[-1] + self.columns.taps) * self.columns.stride + 2 * self.vectors.lanes
        fitting = max(1, self.machine.l1_bytes // 2 // (size * prod(sizes[1:-1]) * width))
        if self.threads > 1:
            fitting = min(fitting, -(-sizes[0] * self.form.channels // (PARTS * self.threads)))
        return [evenly(sizes[0], fitting), *inner]

    def build(self) -> None:
        """Builds all loops."""
        parts = rounded_up(self.across[0].count, self.counts[0]) if self.across else 1

        def build_part(number: ir.Value, thread: Size) -> None:
            plane = quotient(number, parts)
            first: Size = 0
            if self.across and parts != 1:
                first = self._first(remainder(number, parts))
            image, channel = quotient(plane, self.form.channels), remainder(plane, self.form.channels)
            PoolPart(self, [image, channel], first, thread).build()

        in_parts(times(times(images_of(self.source), self.form.channels), parts), self.threads, build_part, self.rows.empty)

    def _first(self, part: Size) -> Size:
        """Where a part begins: the last one, of known sizes, where it has as many positions as others."""
        count, rows, first = self.across[0].count, self.counts[0], times(part, self.counts[0])
        return least(first, minus(count, rows)) if isinstance(count, int) else first
