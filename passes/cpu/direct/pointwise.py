"""Rows of an image that a pointwise convolution makes, kept in a ring of few rows until a window has gone over them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Term
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, memref, vector
from legato.core.register_costs import step_time
from legato.core.vector_loops import Size, Vectors, below, if_else, loop, minus, plus, read, remainder, times, value_of
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.matrices.steps import add_products, load_pairs, spread_pair
from legato.passes.cpu.row_tiles import Positions, tiles_of_any
from legato.passes.cpu.window_loops import WindowRow

MOST_VECTORS = 4        # of a panel
TYPICAL = 56            # columns of an image that is not known


@dataclass(frozen=True)
class Panels:
    """How the features of a pointwise convolution are cut into panels of ``vectors`` vectors, which are computed for ``positions`` of a row
    at once, at most."""

    features: int
    lanes: int
    vectors: int
    positions: int
    pair: int = 1
    """The channels of which a step multiplies the elements: 1, or ``PAIR`` where they are bf16."""

    @property
    def width(self) -> int:
        """The features of a panel."""
        return self.vectors * self.lanes

    @property
    def count(self) -> int:
        """The number of panels; the last one may have fewer features."""
        return -(-self.features // self.width)

    def packed_shape(self, channels: int) -> list[int]:
        """The shape of the packed filter: panels, channels, or pairs of them, and the features of a panel, of each two channels' elements
        where these are pairs."""
        return [self.count, channels // self.pair, self.width * self.pair]


def panels_of(form: DirectForm, machine: CpuMachine) -> Panels:
    """The panels of a pointwise convolution, by the fewest steps for a row."""
    lanes, columns = machine.lanes(32), form.axes[-1].count if are_known(form.axes[-1:]) else TYPICAL
    needed, pair = -(-form.features // lanes), PAIR if form.is_rounded else 1
    found = [(_cost(needed, columns, vectors, positions), Panels(form.features, lanes, vectors, positions, pair))
             for vectors in range(1, min(MOST_VECTORS, needed) + 1)
             for positions in range(1, columns + 1) if (positions + 1) * vectors + 1 <= machine.registers]
    return min(found, key=lambda one: one[0])[1]


def _cost(needed: int, columns: int, vectors: int, positions: int) -> float:
    whole, rest = divmod(columns, positions)
    row = whole * step_time(positions, vectors) + (step_time(rest, vectors) if rest else 0)
    last = needed % vectors
    return needed // vectors * row + (row * last / vectors + 1 if last else 0)


def pack(filters: np.ndarray, result: np.ndarray, pair: int) -> None:
    """Writes a filter, ``[1, 1, channels, features]``, to ``result`` of the shape ``Panels.packed_shape``, padded with zeros."""
    count, steps, width = result.shape
    whole = filters.reshape(steps * pair, -1)
    padded = np.zeros((steps * pair, count * width // pair), result.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        padded[:, :whole.shape[1]] = whole
    result[...] = padded.reshape(steps, pair, count, width // pair).transpose(2, 0, 3, 1).reshape(result.shape)


@dataclass(frozen=True)
class Ring:
    """Rows of an image that are kept in ``memory``, [1, rows, columns, features of a panel]: of the features from ``first`` on."""

    memory: ir.Value
    first: Size

    def row(self, number: Size) -> Size:
        """The place of a row."""
        return remainder(number, self.memory.type.shape[1])

    def at(self, row: Size, column: Size, feature: Size) -> list[Size]:
        """The place of an element of the row in this place."""
        return [0, row, column, minus(feature, self.first)]


class PointwiseRows(DirectLoops):
    """Builds rows of a pointwise convolution's result, a panel of features at a time, in the memory that ``buffers`` has for it: that of a
    ring."""

    def __init__(self, form: DirectForm, machine: CpuMachine, panels: Panels, buffers: Buffers):
        super().__init__(form, machine, tiles_of_any(form.axes[-1], panels.positions), buffers, buffers.of(form.filter))
        self.panels = panels
        self.ring = Ring(self.out, 0)
        self.kept: Size = 0     # the place of the row
        self.is_long = any(name.startswith("math.") for op in form.kernel.structured for name in op.body_names)

    def build_row_in(self, ring: Ring, row: WindowRow) -> None:
        """A row in the ring."""
        self.ring, self.kept = ring, ring.row(row.number)
        self.build_row(row)

    def build_row(self, row: WindowRow) -> None:
        """The features of a row that are in the panel ``row.unit``."""
        panels, lanes = self.panels, self.panels.lanes
        whole, rest = divmod(panels.features, panels.width)
        build = partial(self._panel, row)
        counts = [min(lanes, rest - first) for first in range(0, rest, lanes)]
        if rest and whole:
            if_else(below(row.unit, whole), lambda: build([lanes] * panels.vectors), lambda: build(counts))
        else:
            build(counts or [lanes] * panels.vectors)

    def _panel(self, row: WindowRow, counts: Sequence[int]) -> None:
        self.each_tile(row, partial(self._tile, row, counts))

    def _tile(self, row: WindowRow, counts: Sequence[int], tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, for the vectors of a panel, of whose lanes ``counts`` exist. Each step fetches a part of the
        next panel's filter, so that all tiles of an image fetch all; behind the last one that does no harm."""
        v, panel, panels, lanes, vectors = self.vectors, row.unit, self.panels, self.panels.lanes, len(counts)
        parts = self._fetched(row, tile, start)

        def step(channel: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            for part in parts:
                memref.PrefetchOp(self.filters, [*map(value_of, (plus(panel, 1), channel, part))], False, 2, True)
            weights = [self._weights(panel, channel, part * lanes) for part in range(vectors)]
            found = []
            for position in range(tile.positions):
                value = self._spread(row.image, row.number, plus(start, position), channel)
                found += self._added(value, weights, sums[len(found):len(found) + vectors])
            return found

        sums = loop(0, self.form.channels // panels.pair, 1, step, [v.splat(0)] * (tile.positions * vectors))
        features = [plus(self.ring.first, part * lanes) for part in range(vectors)]
        if not self.is_long:
            self._write(row, features, counts, sums, start)
            return
        for number, value in enumerate(sums):
            at = self.ring.at(self.kept, plus(start, number // vectors), features[number % vectors])
            v.store(value, self.out, *at)

        def finish(column: ir.Value) -> None:
            made = [v.load(self.out, *self.ring.at(self.kept, column, feature)) for feature in features]
            self._write(row, features, counts, made, column)

        loop(start, plus(start, tile.positions), 1, finish)

    def _weights(self, panel: Size, step: Size, feature: int) -> ir.Value:
        """The filter's elements that a step multiplies, for the features of one vector."""
        load = load_pairs if self.panels.pair > 1 else Vectors.load
        return load(self.vectors, self.filters, panel, step, feature * self.panels.pair)

    def _spread(self, image: Size, y: Size, x: Size, step: Size) -> ir.Value:
        """The image's elements that a step multiplies, in all lanes."""
        if self.panels.pair > 1:
            return spread_pair(self.vectors, self.source, image, y, x, times(step, self.panels.pair))
        return self.vectors.spread(read(self.source, image, y, x, step))

    def _added(self, value: ir.Value, weights: Sequence[ir.Value], sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with a step's products."""
        if self.panels.pair > 1:
            return add_products([value], weights, sums)
        return [vector.FMAOp(value, weight, one).result for weight, one in zip(weights, sums, strict=True)]

    def _write(self, row: WindowRow, features: Sequence[Size], counts: Sequence[int], sums: Sequence[ir.Value], start: Size) -> None:
        for part, (feature, count) in enumerate(zip(features, counts, strict=True)):
            self.write(sums[part::len(counts)], start, {**row.places, "f": feature}, None if count == self.panels.lanes else count)

    def place(self, here: Mapping[Term, Size]) -> list[Size]:
        """Where an element of the result is kept."""
        return self.ring.at(self.kept, here["w"], here["f"])

    def _fetched(self, row: WindowRow, tile: Positions, start: Size) -> list[Size]:
        """The vectors that a tile fetches, for each channel, by their first features."""
        width = self.panels.lanes * self.panels.pair
        return [times(vector, width) for vector in self.turns(row, tile, start, self.panels.vectors)]
