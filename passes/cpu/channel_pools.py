"""tir-channel-pools: maximum and average pools of channels-last images of unknown sizes, as loops over rows of the result, a few positions
of a row at a time, whose maxima or sums stay in registers for one vector of channels. Those of known sizes have other schedules, of which
each part of an image has its own.
How windows and padding are gone through: ``window_loops``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured.pool import PoolForm
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.channel_loops import ChannelLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.plane_pool_parts import combined
from legato.passes.cpu.row_tiles import MOST_TILES, Positions, tiles_of_any
from legato.passes.cpu.window_loops import MOST_TAPS
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

POSITIONS = 8           # of a tile, at most


@dataclass(frozen=True)
class ChannelPools(ModulePass):
    """Turns pools of channels-last images of f32, of unknown sizes, into loops on vectors of channels: maxima, and sums."""

    name: ClassVar[str] = "tir-channel-pools"
    rounding: ClassVar[Rounding] = Rounding(ulps=4)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form = PoolForm.of(context.kernels.of(kernel), channels_last=True)
                if form is None or are_known(form.axes) or form.axes[-1].taps > MOST_TAPS or form.channels < machine.lanes(32):
                    continue
                tiles = tiles_of_any(form.axes[-1], POSITIONS)
                if len(tiles) > MOST_TILES:
                    continue
                if {form.source.type.element_type, form.result.type.element_type} != {ir.F32Type.get()}:
                    continue
                tensors = [form.source, *(value for value, _ in form.reads)]
                into_loops(kernel, form.heart.op.location, tensors, partial(build_loops, form, machine, tiles))
                context.kernels.drop(kernel)


def build_loops(form: PoolForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    ChannelPoolLoops(form, machine, tiles, buffers).build(form.channels)


class ChannelPoolLoops(ChannelLoops):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row."""

    def __init__(self, form: PoolForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers):
        super().__init__(form, machine, tiles, buffers)
        self.combiner, self.neutral = form.combiner, form.neutral

    def combine(self, value: ir.Value, factor: ir.Value | None, so_far: ir.Value) -> ir.Value:
        return combined(self.combiner, value, so_far)
