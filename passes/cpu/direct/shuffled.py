"""Direct convolutions of narrow groups: a vector has the features of several. What they read lies side by side in the image, and a shuffle
gives each lane the channel of its group.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from legato.analysis.structured.direct import DirectForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, quotient, times
from legato.passes.cpu.direct.blocks import QUARTER, Blocks
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.window_loops import WindowLine, WindowRow

Columns = Mapping[int, Sequence[tuple[int, int]]]   # of the image, from a tile's first window on, each with its positions and taps


class ShuffledLoops(DirectLoops):
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, buffers: Buffers,
                 filters: ir.Value):
        super().__init__(form, machine, tiles, buffers, filters)
        self.blocks = blocks

    def build_row(self, row: WindowRow) -> None:
        """A row, tile by tile, each of all groups: what a tile reads and writes lies side by side in memory."""
        self.each_tile(row, partial(self._groups, row))

    def _groups(self, row: WindowRow, tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, for all groups, those of a vector after the other."""
        blocks = self.blocks
        whole = blocks.groups - blocks.groups % blocks.together
        loop(0, whole, blocks.together, lambda group: self._tile(row, group, blocks.together, tile, start))
        if whole < blocks.groups:
            self._tile(row, whole, blocks.groups - whole, tile, start)

    def _tile(self, row: WindowRow, group: Size, groups: int, tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, for ``groups`` groups from ``group`` on."""
        blocks = self.blocks
        products = partial(self._shuffled, quotient(group, blocks.together), times(group, self.form.channels), groups)
        count = groups * blocks.features
        places = {**row.places, "f": times(group, blocks.features)}
        sums = self.sums_of(row, tile, start, 1, products, self.zeros(tile))
        self.write(sums, start, places, None if count == self.vectors.lanes else count)

    def _shuffled(self, block: Size, channel: Size, groups: int, tile: Positions, start: Size, tap: Size, line: WindowLine,
                  sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row, of ``groups`` groups, the first one's first channel being ``channel``."""
        columns, found, count = self.columns_of(tile), list(sums), groups * self.form.channels
        add = partial(self._add_products, block, groups, tap)

        def values_of(columns: Columns) -> dict[int, ir.Value]:
            return {column: self.values(count, *self.source_at(line, start, column, channel)) for column in columns}

        if tile.clipped:
            return self.add_columns(tile, start, sums, lambda column, uses, found: add(values_of({column: uses}), {column: uses}, found))
        values = values_of(columns)
        self.fetch_row(tile, start, line, channel, count)
        add(values, columns, found)
        return found

    def _add_products(self, block: Size, groups: int, tap: Size, values: Mapping[int, ir.Value], columns: Columns,
                      found: list[ir.Value]) -> None:
        """Adds the products of some columns of a window's row to the sums ``found``. ``values``: the channels of each column."""
        turned: dict[int, ir.Value] = {}
        for number in range(self.blocks.channels):
            filters = [self.filter(block, tap, number, j) for j in range(self.columns.taps)]
            places = [min(lane // self.blocks.features, groups - 1) * self.form.channels for lane in range(self.vectors.lanes)]
            if self.blocks.turns and number % QUARTER == 0:
                turned = {column: self._turned(value, number, places) for column, value in values.items()}
            for column, uses in columns.items():
                value = _in_quarters(turned[column], number) if turned else self.shuffled(values[column], number, places)
                for position, j in uses:
                    found[position] = self.add(value, filters[j], found[position])

    def _turned(self, values: ir.Value, number: int, places: Sequence[int]) -> ir.Value:
        """Quarters of a group's channels in those lanes that multiply them in the step ``number`` and those after it."""
        whole = [place + self.blocks.channel(number, lane) // QUARTER * QUARTER + lane % QUARTER for lane, place in enumerate(places)]
        return values if whole == [*range(values.type.shape[0])] else vector.ShuffleOp(values, values, whole).result

    def zeros(self, tile: Positions) -> list[ir.Value]:
        """What the products of a tile are added to."""
        return [self.vectors.splat(0)] * tile.positions

    def values(self, count: int, source: ir.Value, at: Sequence[Size]) -> ir.Value:
        """``count`` neighbouring elements of the image."""
        return some(source, count, at)

    def shuffled(self, values: ir.Value, number: int, places: Sequence[int]) -> ir.Value:
        """A channel of each lane's group. ``places``: where the groups begin among the values."""
        return vector.ShuffleOp(values, values, [place + number for place in places]).result

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        """A vector of the filter: a channel's elements for the features of a block."""
        return self.vectors.load(self.filters, block, tap, channel, column, 0)

    def add(self, elements: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        """Sums with the products of elements and a vector of the filter."""
        return vector.FMAOp(elements, weights, sums).result


def _in_quarters(values: ir.Value, number: int) -> ir.Value:
    """The element of each quarter that a step takes, in all its lanes: the fastest of shuffles."""
    return vector.ShuffleOp(values, values, [lane // QUARTER * QUARTER + number % QUARTER for lane in range(values.type.shape[0])]).result


def some(buffer: ir.Value, count: int, at: Sequence[Size]) -> ir.Value:
    """``count`` neighbouring elements, in a vector of the next power of two."""
    v = Vectors(1 << (count - 1).bit_length())
    return v.load_if(None if v.lanes == count else v.mask(count), buffer, *at)
