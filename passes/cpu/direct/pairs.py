"""Direct convolutions of bf16 in groups: an instruction multiplies a pair of neighbouring channels in each lane of a vector, and adds both
products to a sum of f32. Images that are bf16 in memory are read in place, without a copy of each group's channels.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Term
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, times
from legato.passes.cpu.direct.blocks import IN_FLIGHT, SHARE, Blocks, pack
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.direct.shuffled import ShuffledLoops
from legato.passes.cpu.direct.spread import SpreadLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.packing import BYTES, PAIR
from legato.passes.cpu.matrices.steps import add_products, load_pairs, rounded, spread_pair
from legato.passes.cpu.row_tiles import MOST_TILES, Positions, shares_of, tiles_of
from legato.passes.cpu.window_loops import MOST_TAPS, WindowLine


@dataclass(frozen=True)
class PairPlan:
    """How a convolution in groups is computed, by the blocks of its features."""

    form: DirectForm
    machine: CpuMachine
    blocks: Blocks

    @classmethod
    def of(cls, form: DirectForm, machine: CpuMachine) -> PairPlan | None:
        """The plan of a convolution; None where groups have no whole pairs, or too few features to fill vectors, or where a row has too
        many different tiles, or too few for all threads."""
        columns, rows = form.axes[-1], prod(axis.count for axis in form.axes[:-1])
        lanes = machine.lanes(32)
        if form.channels % PAIR or columns.taps > MOST_TAPS or not machine.has("avx512bf16") or machine.has("amx-bf16"):
            return None
        one = Blocks(form.groups, form.channels // PAIR, form.features, lanes, 1, per_lane=PAIR)
        narrow = one.together > 1
        if not (one.writes_out(columns) if narrow else 2 * form.features > lanes):
            return None
        two = replace(one, vectors=2)
        pairs = form.features > lanes and 2 * two.positions(machine.registers, columns) >= IN_FLIGHT
        plan = cls(form, machine, two if pairs else one)
        unit = prod(axis.taps for axis in form.axes) * form.channels * plan.blocks.at_once * BYTES
        shared = machine.threads == 1 or rows > 1 or shares_of(plan.tiles, rows, machine.threads) > 1 or plan.units >= machine.threads
        return plan if unit <= machine.l2_bytes // SHARE and shared and len(plan.tiles) <= MOST_TILES else None

    @property
    def is_narrow(self) -> bool:
        """Whether a vector has the features of several groups."""
        return self.blocks.together > 1

    @cached_property
    def tiles(self) -> list[Positions]:
        """The tiles of a row."""
        return tiles_of(self.form.axes[-1], self.blocks.positions(self.machine.registers, self.form.axes[-1]), not self.is_narrow)

    @property
    def units(self) -> int:
        """The parts of the features, of which each goes through all rows before the next does."""
        return max(1, self.blocks.units)

    @property
    def packed_shape(self) -> list[int]:
        """The shape of packed filters."""
        return self.blocks.packed_shape(self.form.filter.type.shape)

    def pack(self, filters: np.ndarray, result: np.ndarray) -> None:
        """Writes filters to ``result``, rounded to bf16."""
        with np.errstate(over="ignore", invalid="ignore"):
            pack(filters, result, self.blocks)

    def build(self, buffers: Buffers, filters: ir.Value) -> None:
        """Builds the loops at the insertion point."""
        form, machine = self.form, self.machine
        loops = (ShuffledPairs(form, machine, self.tiles, self.blocks, buffers, filters) if self.is_narrow else
                 PairLoops(form, machine, self.tiles, self.blocks, buffers, filters, self.units, 1))
        loops.build(form.channels * form.groups * form.features)


class StoredLoops(DirectLoops):
    """Loops whose result may be bf16 in memory."""

    def store(self, count: int | None, value: ir.Value, here: Mapping[Term, Size]) -> None:
        super().store(count, value if self.out.type.element_type == value.type.element_type else rounded(self.vectors, value), here)


class PairLoops(StoredLoops, SpreadLoops):
    """Loops of groups that fill vectors: a pair of channels is multiplied with a vector of pairs of the filter."""

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        return load_pairs(self.vectors, self.filters, block, tap, channel, column, 0)

    def first_of(self, lane: Size) -> Size:
        return times(lane, PAIR)

    def element(self, line: WindowLine, start: Size, column: int, channel: Size) -> ir.Value:
        source, at = self.source_at(line, start, column, channel)
        return spread_pair(self.vectors, source, *at)

    def add(self, element: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        return add_products([element], [weights], [sums])[0]


class ShuffledPairs(StoredLoops, ShuffledLoops):
    """Loops of narrow groups: a shuffle gives each feature's lane a pair of channels of its group."""

    def values(self, count: int, source: ir.Value, at: Sequence[Size]) -> ir.Value:
        found = super().values(count, source, at)
        return rounded(Vectors(found.type.shape[0]), found)

    def shuffled(self, values: ir.Value, number: int, places: Sequence[int]) -> ir.Value:
        lanes = ir.IntegerType.get_signless(32)
        pairs = vector.BitCastOp(ir.VectorType.get([values.type.shape[0] // PAIR], lanes), values).result
        return vector.ShuffleOp(pairs, pairs, [place // PAIR + number for place in places]).result

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        return load_pairs(self.vectors, self.filters, block, tap, channel, column, 0)

    def add(self, elements: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        return add_products([elements], [weights], [sums])[0]
