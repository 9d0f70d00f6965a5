"""tir-depthwise-convolutions: depthwise convolutions as loops over rows of the result, a few positions of a row at a time, whose sums stay
in registers for one vector of channels. Images of one row, of one dimension among them, are shared by threads in parts of the row, or of
the channels where it is short.
How windows and padding are gone through: ``window_loops``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from legato.analysis.structured.depthwise import DepthwiseForm
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.channel_loops import ChannelLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.row_tiles import MOST_TILES, Positions, shares_of, tiles_of_any
from legato.passes.cpu.window_loops import MOST_TAPS, WindowLine
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

POSITIONS = 8           # of a tile: as many multiply-adds have to be in flight
MOST_WRITTEN = 64       # taps of a window's row, which are written out


@dataclass(frozen=True)
class DepthwiseConvolutions(ModulePass):
    """Turns depthwise convolutions of f32 into loops on vectors of channels. Others, and those of fewer channels than a vector has lanes,
    are left as they are. Elements of padding are not multiplied: an infinite weight makes no NaN there."""

    name: ClassVar[str] = "tir-depthwise-convolutions"
    rounding: ClassVar[Rounding] = Rounding(ulps=4, specials=False)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.has("fma") else ():
                form = DepthwiseForm.of(context.kernels.of(kernel), known=False)
                tiles = [] if form is None else depthwise_tiles(form, machine)
                if form is not None and tiles:
                    tensors = [form.source, form.weights, *(value for value, _ in form.reads)]
                    into_loops(kernel, form.op.location, tensors, partial(build_loops, form, machine, tiles))
                    context.kernels.drop(kernel)


def depthwise_tiles(form: DepthwiseForm, machine: CpuMachine) -> list[Positions]:
    """The tiles of a row, of one of unknown size the only one; none where there are too many, or too few channels for vectors."""
    columns = form.axes[-1]
    if form.channels < machine.lanes(32) or columns.taps > MOST_WRITTEN:
        return []
    is_long = columns.taps > MOST_TAPS      # a column is multiplied by as many taps as a tile has positions
    positions = min(POSITIONS, max(1, (machine.registers - 2) // 2 if is_long else machine.registers - columns.taps - 2))
    tiles = tiles_of_any(columns, positions, clips=not is_long)
    return tiles if len(tiles) <= MOST_TILES else []


def build_loops(form: DepthwiseForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    DepthwiseLoops(form, machine, tiles, buffers, units_of(form, machine, tiles)).build(form.channels)


def units_of(form: DepthwiseForm, machine: CpuMachine, tiles: Sequence[Positions]) -> int:
    """The parts of the channels: one, but of images of one short row as many as there are threads, where the parts are alike."""
    vectors, rest = divmod(form.channels, machine.lanes(32))
    rows = prod(axis.count for axis in form.axes[:-1])
    many = machine.threads > 1 and rows == 1 and rest == 0 and are_known(form.axes) and shares_of(tiles, rows, machine.threads) == 1
    return next((parts for parts in range(machine.threads, vectors + 1) if vectors % parts == 0), 1) if many else 1


class DepthwiseLoops(ChannelLoops):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row; ``units``: parts of the channels."""

    def __init__(self, form: DepthwiseForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers, units: int = 1):
        super().__init__(form, machine, tiles, buffers, units)
        self.weights = buffers.of(form.weights)

    def factor(self, line: WindowLine, tap: int, channel: Size, mask: ir.Value | None) -> ir.Value | None:
        return self.vectors.load_if(mask, self.weights, *line.taps, tap, channel)

    def combine(self, value: ir.Value, factor: ir.Value | None, so_far: ir.Value) -> ir.Value:
        return vector.FMAOp(value, factor, so_far).result
