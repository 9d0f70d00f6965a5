"""Direct convolutions of as many features as vectors have lanes: an element of the image is multiplied with a vector of the filter."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Term
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import (
    Size,
    below,
    exceeds,
    if_else,
    least,
    loop,
    plus,
    quotient,
    read,
    remainder,
    times,
    value_of,
)
from legato.passes.cpu.direct.blocks import SHARE, Blocks
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.window_loops import WindowLine, WindowRow

WORTH_CHUNKS = 1.3      # times fewer elements that are read from outer caches
LINES_SHARE = 4         # of the second cache, its inverse, that a piece of the rows of a window takes
SHORTEST = 2            # tiles of a piece


def pieces_of(form: DirectForm, machine: CpuMachine, positions: int) -> int:
    """The equal pieces of a row, of which all rows of an image are computed one after the other, 1 for whole rows: where windows, of one
    column, share rows of the image that are so long that the second cache does not hold them. ``positions``: of a tile."""
    *across, columns = form.axes
    alone = are_known(form.axes) and (columns.taps, columns.stride, columns.begin, columns.size) == (1, 1, 0, columns.count)
    column = 4 * form.source.type.shape[-1] * prod(axis.taps for axis in across)    # bytes of the windows of one column
    if not alone or all(axis.stride >= axis.taps for axis in across) or columns.count * column * SHARE <= machine.l2_bytes:
        return 1
    counts = [count for count in range(1, columns.count + 1) if columns.count % count == 0]
    held = [count for count in counts if SHORTEST * positions <= count <= machine.l2_bytes // (LINES_SHARE * column)]
    return columns.count // min(held, key=lambda count: (-(-count // positions) / count, -count)) if held else 1


def rows_at_once(form: DirectForm, machine: CpuMachine, units: int) -> int:
    """The rows of the result that a unit computes before the next does, so that what all units read of the image stays in the second cache,
    0 for all rows: the filter goes by once for each chunk of rows, where this is much less than the image once for each unit."""
    if not are_known(form.axes):
        return 0
    rows = prod(axis.count for axis in form.axes[:-1])
    image, filters = prod(form.source.type.shape[1:]), prod(form.filter.type.shape)
    chunks = -(-4 * image * SHARE // machine.l2_bytes)
    if chunks < 2 or WORTH_CHUNKS * (chunks * filters + image) > units * image + filters:
        return 0
    return -(-rows // min(rows, chunks))


class SpreadLoops(DirectLoops):
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, buffers: Buffers,
                 filters: ir.Value, units: int, parts: int, pieces: int = 1):
        super().__init__(form, machine, tiles, buffers, filters, units, 0 if pieces > 1 else rows_at_once(form, machine, units), pieces)
        self.blocks, self.parts = blocks, parts
        self.overlaps = parts == 1    # others add to what the result keeps
        self.part: Size = 0

    def build(self, macs: int) -> None:
        """Builds all loops, for each part of the channels."""
        def of_part(part: ir.Value) -> None:
            self.part = part
            super(SpreadLoops, self).build(macs // self.parts)

        loop(0, self.parts, 1, of_part)

    def build_row(self, row: WindowRow) -> None:
        """All features of a row, or those of a unit, each for all tiles: the filter of a block stays in the cache meanwhile."""
        blocks, lanes, at_once = self.blocks, self.vectors.lanes, self.blocks.at_once
        whole = blocks.features - blocks.features % at_once
        rest = blocks.features - whole
        full, counts = [lanes] * blocks.vectors, [min(lanes, rest - first) for first in range(0, rest, lanes)]

        def tiles(group: Size, feature: Size, counts: Sequence[int]) -> None:
            block = plus(times(group, blocks.each), quotient(feature, lanes))
            place = plus(times(group, blocks.features), feature)
            self.each_tile(row, partial(self._tile, row, block, times(group, self.form.channels), place, counts))

        def of_group(group: ir.Value) -> None:
            if whole:
                loop(0, whole, at_once, lambda feature: tiles(group, feature, full))
            if rest:
                tiles(group, whole, counts)

        if self.units == 1:
            loop(0, blocks.groups, 1, of_group)
            return
        each = -(-blocks.features // at_once)
        group, number = quotient(row.unit, each), remainder(row.unit, each)

        def full_unit() -> None:
            tiles(group, times(number, at_once), full)

        def rest_unit() -> None:
            tiles(group, whole, counts)

        if whole and rest:
            if_else(below(number, each - 1), full_unit, rest_unit)
        else:
            (full_unit if whole else rest_unit)()

    def _tile(self, row: WindowRow, block: Size, channel: Size, feature: Size, counts: Sequence[int], tile: Positions, start: Size) -> None:
        """The positions from ``start`` on, for vectors of features of which ``counts`` exist."""
        vectors = len(counts)
        all_places = [{**row.places, "f": plus(feature, part * self.vectors.lanes)} for part in range(vectors)]
        before = self.sums_before(tile, start, all_places, counts)
        sums = self.sums_of(row, tile, start, vectors, partial(self.spread, row, block, channel, vectors), before)

        if self.parts == 1:
            self.write_all(sums, start, all_places, counts)
            return
        if_else(exceeds(self.part, self.parts - 2), lambda: self.write_all(sums, start, all_places, counts),
                lambda: self._keep(sums, tile, start, all_places, counts))

    def write_all(self, sums: Sequence[ir.Value], start: Size, all_places: Sequence[dict[Term, Size]], counts: Sequence[int]) -> None:
        """Writes the result at the positions from ``start`` on, vector by vector of features."""
        for part, count in enumerate(counts):
            self.write(sums[part::len(counts)], start, all_places[part], None if count == self.vectors.lanes else count)

    def sums_before(self, tile: Positions, start: Size, all_places: Sequence[dict[Term, Size]], counts: Sequence[int]) -> list[ir.Value]:
        """The sums of the parts of the channels before this one, which the result keeps."""
        if self.parts == 1:
            return []
        v, none = self.vectors, below(self.part, 1)
        return [arith.select(none, v.splat(0), v.load_if(mask, self.out, *at))
                for mask, at in self._kept(tile, start, all_places, counts)]

    def _keep(self, sums: Sequence[ir.Value], tile: Positions, start: Size, all_places: Sequence[dict[Term, Size]],
              counts: Sequence[int]) -> None:
        for value, (mask, at) in zip(sums, self._kept(tile, start, all_places, counts), strict=True):
            self.vectors.store_if(mask, value, self.out, *at)

    def _kept(self, tile: Positions, start: Size, all_places: Sequence[dict[Term, Size]],
              counts: Sequence[int]) -> list[tuple[ir.Value | None, list[Size]]]:
        """Where the result keeps the sums of a tile, each with the mask of the features that exist, of which ``counts`` has the numbers."""
        masks = [None if count == self.vectors.lanes else self.vectors.mask(count) for count in counts]
        positions = [plus(start, position) for position in range(tile.positions)]
        return [(mask, self.place({**places, "w": w})) for w in positions for mask, places in zip(masks, all_places, strict=True)]

    def spread(self, row: WindowRow, block: Size, channel: Size, vectors: int, tile: Positions, start: Size, tap: Size,
                line: WindowLine, sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row, channel by channel, of a group whose first channel is ``channel``."""
        def of_channel(number: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            filters = [[self.filter(plus(block, part), tap, number, j) for part in range(vectors)] for j in range(self.columns.taps)]
            if self.units > 1:
                self._fetch(row, tile, start, plus(block, vectors), tap, number)

            place = self.first_of(number)

            def add(column: int, uses: Sequence[tuple[int, int]], found: list[ir.Value]) -> None:
                value = self.element(line, start, column, plus(channel, place))
                for position, j in uses:
                    for part in range(vectors):
                        at = position * vectors + part
                        found[at] = self.add(value, filters[j][part], found[at])

            return self.add_columns(tile, start, sums, add)

        first, last = self._channels()
        self.fetch_row(tile, start, line, channel, self.form.channels)
        return loop(first, last, 1, of_channel, sums)

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        """A vector of the filter: a channel's elements for the features of a block."""
        return self.vectors.load(self.filters, block, tap, channel, column, 0)

    def first_of(self, lane: Size) -> Size:
        """The first channel of a lane, in its group."""
        return lane

    def element(self, line: WindowLine, start: Size, column: int, channel: Size) -> ir.Value:
        """An element of the image, in all lanes."""
        source, at = self.source_at(line, start, column, channel)
        return self.vectors.spread(read(source, *at))

    def add(self, element: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        """Sums with the products of an element and a vector of the filter."""
        return vector.FMAOp(element, weights, sums).result

    def _channels(self) -> tuple[Size, Size]:
        """The first channel of a part, and the one behind the last."""
        if self.parts == 1:
            return 0, self.blocks.channels
        size = -(-self.blocks.channels // self.parts)
        first = times(self.part, size)
        return first, least(plus(first, size), self.blocks.channels)

    def _fetch(self, row: WindowRow, tile: Positions, start: Size, block: Size, tap: Size, channel: ir.Value) -> None:
        """Fetches a part of the filter's vectors that the next unit multiplies with a channel into the second cache. Behind the filter's
        end that does no harm."""
        for line in self.turns(row, tile, start, self.columns.taps * self.blocks.vectors):
            place = plus(block, quotient(line, self.columns.taps)), tap, channel, remainder(line, self.columns.taps), 0
            memref.PrefetchOp(self.filters, [*map(value_of, place)], False, 2, True)
