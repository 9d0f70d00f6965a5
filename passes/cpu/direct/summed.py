"""Direct convolutions of few features: a vector of neighbouring channels is multiplied with a vector of each feature's filter, and added up
at the end. Of integers, a vector has as many channels as its lanes hold, and an instruction sums the products of a lane.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, plus, quotient, times
from legato.dialects.tir import intrinsics
from legato.passes.cpu.direct.blocks import POSITIONS
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.window_loops import WindowLine, WindowRow

SPARE = 4   # registers for other than sums


def positions(registers: int, features: int) -> int:
    """The positions of a tile, of which each has a sum for every feature in a register."""
    return max(1, min(POSITIONS, (registers - SPARE) // features))


def packed_shape(shape: Sequence[int], lanes: int) -> list[int]:
    """The shape of packed filters: features of all groups, the windows' rows, vectors of channels, the windows' columns, and lanes."""
    width, channels, features = shape[-3:]
    return [features, prod(shape[:-3]), -(-channels // lanes), width, lanes]


def pack(filters: np.ndarray, result: np.ndarray) -> None:
    """Writes filters, ``[..., width, channels, features]``, to ``result`` of the shape ``packed_shape``, padded with zeros."""
    features, height, chunks, width, lanes = result.shape
    whole = filters.reshape(height, width, -1, features)
    padded = np.zeros((height, width, chunks * lanes, features), filters.dtype)
    padded[:, :, :whole.shape[2]] = whole
    result[...] = padded.reshape(height, width, chunks, lanes, features).transpose(4, 0, 2, 1, 3)


class SummedLoops(DirectLoops):
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers, filters: ir.Value):
        super().__init__(form, machine, tiles, buffers, filters)
        self.channels = Vectors(self.vectors.lanes * form.per_lane)
        self.element = self.vectors.f32 if form.per_lane == 1 else ir.IntegerType.get_signless(32)    # of sums

    def build_row(self, row: WindowRow) -> None:
        """A row of the result, group by group: the filter of one stays in the cache meanwhile."""
        loop(0, self.form.groups, 1, lambda group: self.each_tile(row, partial(self._tile, row, group)))

    def _tile(self, row: WindowRow, group: Size, tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, of a group."""
        v, features = self.vectors, self.form.features
        zeros = v.zeros(self.element)
        sums = self.sums_of(row, tile, start, features, partial(self._summed, group), [zeros] * (tile.positions * features))
        rest = [vector.ExtractOp(zeros, [], [0]).result] * (v.lanes - features)
        made = []
        for position in range(tile.positions):
            totals = [v.reduce("add", value) for value in sums[position * features:(position + 1) * features]]
            made.append(vector.FromElementsOp(zeros.type, [*totals, *rest]).result)
        self.write(made, start, {**row.places, "f": times(group, features)}, features)

    def _summed(self, group: Size, tile: Positions, start: Size, tap: Size, line: WindowLine, sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row."""
        v, channels = self.channels, self.form.channels
        whole = channels - channels % v.lanes
        of_channels = partial(self._products, group, tile, start, tap, line)
        found = loop(0, whole, v.lanes, lambda channel, *sums: of_channels(channel, None, sums), sums) if whole else list(sums)
        return found if whole == channels else of_channels(whole, channels - whole, found)

    def _products(self, group: Size, tile: Positions, start: Size, tap: Size, line: WindowLine, channel: Size, count: int | None,
                  sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a vector of channels of a group, of which ``count`` exist (None: all)."""
        v, features, first = self.channels, self.form.features, times(group, self.form.features)
        chunk = quotient(channel, v.lanes)
        filters = [[v.load(self.filters, plus(first, feature), tap, chunk, j, 0) for feature in range(features)]
                   for j in range(self.columns.taps)]
        channel = plus(times(group, self.form.channels), channel)

        def add(column: int, uses: Sequence[tuple[int, int]], found: list[ir.Value]) -> None:
            source, at = self.source_at(line, start, column, channel)
            value = v.load(source, *at) if count is None else v.load_some(count, source, *at)
            for position, j in uses:
                for number, factor in enumerate(filters[j], position * features):
                    found[number] = self._add(value, factor, found[number])

        return self.add_columns(tile, start, sums, add)

    def _add(self, values: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        """Sums with the products of a vector of channels."""
        if self.form.per_lane == 1:
            return vector.FMAOp(values, weights, sums).result
        lanes = [vector.BitCastOp(sums.type, factor).result for factor in (values, weights)]
        return intrinsics.build(self.form.product, *lanes, sums)
