"""Direct convolutions of narrow groups: a vector has the features of several. What they read lies side by side in the image, and a shuffle
gives each lane the channel of its group.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from legato.analysis.structured.direct import DirectForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, Vectors, loop, quotient, times
from legato.passes.cpu.direct.blocks import Blocks
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.window_loops import Positions, WindowLine, WindowRow


class ShuffledLoops(DirectLoops):
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, buffers: Buffers,
                 filters: ir.Value):
        super().__init__(form, machine, tiles, buffers, filters)
        self.blocks = blocks

    def build_row(self, row: WindowRow) -> None:
        """All groups of a row, those of a vector for all tiles: their filter stays in the cache meanwhile."""
        blocks = self.blocks
        whole = blocks.groups - blocks.groups % blocks.together
        loop(0, whole, blocks.together, lambda group: self.each_tile(partial(self._tile, row, group, blocks.together)))
        if whole < blocks.groups:
            self.each_tile(partial(self._tile, row, whole, blocks.groups - whole))

    def _tile(self, row: WindowRow, group: Size, groups: int, tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, for ``groups`` groups from ``group`` on."""
        blocks = self.blocks
        products = partial(self._shuffled, quotient(group, blocks.together), times(group, blocks.channels), groups)
        count = groups * blocks.features
        places = {**row.places, "f": times(group, blocks.features)}
        self.write(self.sums_of(row, tile, start, 1, products), start, places, None if count == self.vectors.lanes else count)

    def _shuffled(self, block: Size, channel: Size, groups: int, tile: Positions, start: Size, tap: Size, line: WindowLine,
                  sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row, of ``groups`` groups, the first one's first channel being ``channel``."""
        v, channels, features = self.vectors, self.blocks.channels, self.blocks.features
        columns, found = self.columns_of(tile), list(sums)
        values = {column: self._channels(groups * channels, self.source_at(line, start, column, channel)) for column in columns}
        for number in range(channels):
            filters = [v.load(self.filters, block, tap, number, j, 0) for j in range(self.columns.taps)]
            lanes = [min(lane // features, groups - 1) * channels + number for lane in range(v.lanes)]
            for column, uses in columns.items():
                value = vector.ShuffleOp(values[column], values[column], lanes).result
                for position, j in uses:
                    found[position] = vector.FMAOp(value, filters[j], found[position]).result
        return found

    def _channels(self, count: int, at: Sequence[Size]) -> ir.Value:
        """``count`` neighbouring channels, in a vector of the next power of two."""
        v = Vectors(1 << (count - 1).bit_length())
        return v.load_if(None if v.lanes == count else v.mask(count), self.source, *at)
