"""tir-direct-convolutions: convolutions as loops over rows of the result, a few positions of a row at a time, whose sums stay in registers.
How windows and padding are gone through: ``window_loops``.

- Where a group, or a convolution without groups, has features for more than a quarter of a vector's lanes, an element of the image is
  multiplied with a vector of the filter for one or two vectors of features (``direct.spread``). All features of a row are computed one
  after the other, where the filter stays in the cache meanwhile; a larger one goes through all rows part by part, and through those of
  many channels more than once: the result keeps their sums. A group's filter goes through all rows before the next one's does.
- Of narrower groups, a vector has the features of several (``direct.shuffled``).
- Of groups, each tile fetches what it reads of the next row of the result, where images are larger than the caches, or may be.
- Of few features, lanes are channels (``direct.summed``).
- Of bytes, an element is four neighbouring channels (``direct.grouped``).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured.convolution import are_few
from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.window import WindowAxis, are_known
from legato.core.dtypes import numpy_dtype
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.direct import summed
from legato.passes.cpu.direct.blocks import IN_FLIGHT, POSITIONS, Blocks, blocks_of, pack, pack_rows, parts_of, stays_in_cache
from legato.passes.cpu.direct.grouped import GroupedLoops, RowLoops, ShuffledLanes
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.direct.shuffled import ShuffledLoops
from legato.passes.cpu.direct.spread import SpreadLoops, pieces_of
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.row_tiles import MOST_TILES, Positions, shares_of, tiles_of, tiles_of_any
from legato.passes.cpu.sized_axes import are_far
from legato.passes.cpu.window_loops import MOST_TAPS
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

MANY = 32               # registers: with fewer, the tiles of other schedules hold as many sums
NARROW = 8              # channels, of which products have short rows
WORTH_SUMS = 2          # times fewer products of integers, from which on lanes are channels


@dataclass(frozen=True)
class DirectConvolutions(ModulePass):
    """Turns convolutions of f32 with constant filters, in groups or of windows that overlap, and those of quantized values, into loops on
    vectors. Others are left as they are. Elements of padding are not multiplied: an infinite weight makes no NaN there."""

    name: ClassVar[str] = "tir-direct-convolutions"
    rounding: ClassVar[Rounding] = Rounding(ulps=4, specials=False)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        calls, constants = calls_by_callee(module), Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form, sites = DirectForm.of(context.kernels.of(kernel), known=False), calls.get(kernel.name.value, [])
                if form is None or form.is_rounded or not are_constant(form.filter, sites):
                    continue
                if not (form.per_lane > 1 or machine.has("fma")):
                    continue
                plan = plan_of(form, machine)
                tiles = [] if plan is None else tiles_of_any(plan.columns(form), plan.positions, plan.clips, plan.fewest)
                if plan is None or len(tiles) > MOST_TILES:
                    continue
                filters, place, shape = form.filter, form.filter.arg_number, plan.packed_shape
                tensors = [form.source, *(present(form.flat(*one))[0] for one in form.reads)]
                into_loops(kernel, form.op.location, tensors, partial(build_loops, form, plan, tiles))
                retype(kernel, filters, shape, filters.type.element_type)
                context.kernels.drop(kernel)
                for call in sites:
                    dtype = numpy_dtype(call.operands[place].type.element_type)
                    give_transformed(call, place, constants, made, "direct", shape, dtype, plan.pack)


@dataclass(frozen=True)
class DirectPlan:
    """How a convolution is computed: the most positions of a tile, the order of the filter, and the loops, made of the tiles, buffers and
    the packed filter. ``clips``: whether the loops take clipped tiles; ``pieces``: of a row, each with tiles of its own; ``fewest``:
    positions whose sums hide how long a multiply-add takes."""

    positions: int
    packed_shape: list[int]
    pack: Callable[[np.ndarray, np.ndarray], None]
    loops: Callable[[Sequence[Positions], Buffers, ir.Value], DirectLoops]
    clips: bool = True
    pieces: int = 1
    fewest: int = 1

    def columns(self, form: DirectForm) -> WindowAxis:
        """The columns of a piece of a row."""
        columns, pieces = form.axes[-1], self.pieces
        return columns if pieces == 1 else replace(columns, size=columns.size // pieces, count=columns.count // pieces)


def plan_of(form: DirectForm, machine: CpuMachine) -> DirectPlan | None:
    """The plan of a convolution; None where other schedules are about as fast: of 1 x 1, and without groups of windows that do not overlap,
    but for few features, narrow groups, and filters that come too slowly in short rows."""
    lanes, shape = machine.lanes(32), list(form.filter.type.shape)
    if form.axes[-1].taps > MOST_TAPS and not form.by_rows:   # they are written out
        return None
    blocks = blocks_of(form, machine)
    columns, rows, known = form.axes[-1], prod(axis.count for axis in form.axes[:-1]), are_known(form.axes)
    shuffles = form.channels % form.per_lane == 0 or machine.has("avx512vbmi")    # else bytes are shuffled by many instructions
    joins = blocks.writes_out(columns) and shuffles
    if sums_channels(form, lanes) and not (blocks.together > 1 and joins):
        packed = summed.packed_shape(shape, lanes * form.per_lane)
        return DirectPlan(summed.positions(machine.registers, form.features), packed, summed.pack,
                          lambda tiles, buffers, filters: summed.SummedLoops(form, machine, tiles, buffers, filters),
                          fewest=-(-IN_FLIGHT // form.features))
    blocks = replace(blocks, joins=joins)
    positions = blocks.positions(machine.registers, columns)
    plan = partial(DirectPlan, positions, blocks.packed_shape(shape), partial(pack, blocks=blocks))
    shared = machine.threads == 1 or not known or rows > 1 or shares_of(tiles_of(columns, positions), rows, machine.threads) > 1
    if not shared and blocks.units < machine.threads and form.is_tiled:
        return None    # there is no work for all threads
    whole = stays_in_cache(form, machine) and shared
    units = 1 if whole and (form.groups == 1 or form.per_lane > 1) else max(1, blocks.units)
    if form.per_lane > 1:
        return _integers(form, machine, blocks, units, plan)
    if blocks.together > 1:
        return plan(lambda tiles, buffers, filters: ShuffledLoops(form, machine, tiles, blocks, buffers, filters), clips=False)
    fewest = -(-IN_FLIGHT // blocks.vectors)
    overlaps = any(axis.stride < axis.taps for axis in form.axes)
    short = known and streams_filters(form, machine)
    if known or form.channels < NARROW:
        in_place = overlaps
    else:
        in_place = are_far(columns, tiles_of_any(columns, positions, fewest=fewest)[0].positions)
    tiled = form.groups == 1 and (machine.registers < MANY or not in_place) and not short
    if prod(axis.taps for axis in form.axes) == 1 or tiled:
        return None
    parts = parts_of(form, machine, blocks)
    if form.features <= lanes // 4 or parts == 0:
        return None
    pieces = pieces_of(form, machine, positions)
    return plan(lambda tiles, buffers, filters: SpreadLoops(form, machine, tiles, blocks, buffers, filters, units, parts, pieces),
                pieces=pieces, fewest=fewest)


def sums_channels(form: DirectForm, lanes: int) -> bool:
    """Whether features are so few that lanes of vectors had better be channels."""
    if form.per_lane == 1:
        return are_few(form.features, form.channels, lanes)
    chunks = -(-form.channels // (lanes * form.per_lane))
    windows = not form.by_rows and any(axis.taps > 1 for axis in form.axes)
    return windows and form.features <= lanes // 2 and WORTH_SUMS * form.features * chunks <= form.depth


def _integers(form: DirectForm, machine: CpuMachine, blocks: Blocks, units: int, plan: Callable[..., DirectPlan]) -> DirectPlan | None:
    """The plan of a convolution of integers; None for windows of one element."""
    columns, lanes = form.axes[-1], machine.lanes(32)
    if prod(axis.taps for axis in form.axes) == 1:
        return None
    if blocks.together > 1:
        return plan(lambda tiles, buffers, filters: ShuffledLanes(form, machine, tiles, blocks, buffers, filters), clips=False)
    if not form.by_rows:
        return plan(lambda tiles, buffers, filters: GroupedLoops(form, machine, tiles, blocks, buffers, filters, units, 1))
    row = columns.taps * form.channels
    if columns.dilation > 1 or not are_known(form.axes) or columns.inside() != (0, columns.count) or row < form.per_lane:
        return None
    shape = [blocks.count, prod(form.filter.type.shape[:-3]), 1, -(-row // form.per_lane), lanes * form.per_lane]
    positions = min(POSITIONS, (machine.registers - 2) // blocks.vectors - 1)
    return DirectPlan(positions, shape, partial(pack_rows, blocks=blocks),
                      lambda tiles, buffers, filters: RowLoops(form, machine, tiles, blocks, buffers, filters, units, 1))


def streams_filters(form: DirectForm, machine: CpuMachine) -> bool:
    """Whether tiles of products, which lie in a row, are so short that the filter, larger than the second cache, comes too slowly."""
    return form.axes[-1].count < POSITIONS and prod(form.filter.type.shape) * 4 > machine.l2_bytes


def build_loops(form: DirectForm, plan: DirectPlan, tiles: Sequence[Positions], buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    filters = bufferization.ToBufferOp(ir.MemRefType.get(plan.packed_shape, form.element), form.filter, read_only=True).result
    plan.loops(tiles, buffers, filters).build(form.channels * form.groups * form.features)
