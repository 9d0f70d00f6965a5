"""Direct convolutions of bytes, or of integers of 16 bits: a lane of 32 bits has neighbours, whose products an instruction sums."""
from __future__ import annotations

from collections.abc import Sequence

from legato.analysis.structured.elements import Term
from legato.core.mlir import ir, memref, vector
from legato.core.vector_loops import Size, Vectors, least, loop, plus, times
from legato.dialects.tir import intrinsics
from legato.passes.cpu.direct.loops import DirectLoops
from legato.passes.cpu.direct.shuffled import ShuffledLoops
from legato.passes.cpu.direct.spread import SpreadLoops
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.window_loops import WindowLine, WindowRow


class GroupedLoops(SpreadLoops):
    """Builds the loops of one kernel at the insertion point. Sums are integers of 32 bits, and the elementwise ops after them are computed
    for all vectors of a position at once: instructions pack several into one of bytes."""

    def sums_before(self, tile: Positions, start: Size, all_places: Sequence[dict[Term, Size]], counts: Sequence[int]) -> list[ir.Value]:
        return [self.vectors.zeros(_lane())] * (tile.positions * len(counts))

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        return filter_lanes(self, block, tap, channel, column)

    def first_of(self, lane: Size) -> Size:
        per_lane, channels = self.form.per_lane, self.form.channels
        first = times(lane, per_lane)
        return least(first, channels - per_lane) if channels % per_lane else first

    def element(self, line: WindowLine, start: Size, column: int, channel: Size) -> ir.Value:
        source, at = self.source_at(line, start, column, channel)
        return self.lane_of(source, *at)

    def lane_of(self, buffer: ir.Value, *at: Size) -> ir.Value:
        """The integers of a lane, in all lanes."""
        bits = vector.BitCastOp(Vectors(1).of(_lane()), Vectors(self.form.per_lane).load(buffer, *at)).result
        return self.vectors.spread(vector.ExtractOp(bits, [], [0]).result)

    def add(self, element: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        return intrinsics.build(self.form.product, element, weights, sums)

    def write_all(self, sums: Sequence[ir.Value], start: Size, all_places: Sequence[dict[Term, Size]], counts: Sequence[int]) -> None:
        lanes, count = self.vectors.lanes, len(counts)
        if min(counts) < lanes or count == 1:
            super().write_all(sums, start, all_places, counts)
            return
        whole = Vectors(count * lanes)
        rows = []
        for first in range(0, len(sums), count):
            row = whole.zeros(_lane())
            for part in range(count):
                row = vector.InsertStridedSliceOp(sums[first + part], row, [part * lanes], [1]).result
            rows.append(row)
        self.write(rows, start, all_places[0], None)


class RowLoops(GroupedLoops):
    """Loops of windows whose channels fill no whole lanes. A lane has neighbouring elements of a window's row, whatever channels they are
    of; the last one those at its end, of which it adds only what lanes before do not have."""

    def spread(self, row: WindowRow, block: Size, channel: Size, vectors: int, tile: Positions, start: Size, tap: Size,
               line: WindowLine, sums: Sequence[ir.Value]) -> list[ir.Value]:
        per, channels = self.form.per_lane, self.form.channels
        size, step = self.columns.taps * channels, self.columns.stride * channels
        whole, before, image = size // per, list(self.source.type.shape[:-2]), self.source.type
        rows = ir.MemRefType.get([*before, self.columns.size * channels], image.element_type)
        axes = [*([axis] for axis in range(len(before))), [len(before), len(before) + 1]]
        flat = memref.CollapseShapeOp(rows, self.source, axes).result

        def of_lane(group: Size, first: Size, *sums: ir.Value) -> list[ir.Value]:
            filters = [self.filter(plus(block, part), tap, 0, group) for part in range(vectors)]
            found = []
            for position in range(tile.positions):
                place = plus(plus(times(start, step), position * step), first)
                value = self.lane_of(flat, *line.places, place)
                found += [self.add(value, weights, sums[position * vectors + part]) for part, weights in enumerate(filters)]
            return found

        found = loop(0, whole, 1, lambda group, *sums: of_lane(group, times(group, per), *sums), sums)
        return of_lane(whole, size - per, *found) if size % per else found


class ShuffledLanes(ShuffledLoops):
    """Loops of narrow groups: a shuffle, of bytes unless channels fill whole lanes, gives each feature's lane channels of its group."""

    def zeros(self, tile: Positions) -> list[ir.Value]:
        return [self.vectors.zeros(_lane())] * tile.positions

    def shuffled(self, values: ir.Value, number: int, places: Sequence[int]) -> ir.Value:
        per, channels, lanes = self.form.per_lane, self.form.channels, self.vectors.of(_lane())
        if channels % per == 0:
            whole = vector.BitCastOp(Vectors(values.type.shape[0] // per).of(_lane()), values).result
            return vector.ShuffleOp(whole, whole, [place // per + number for place in places]).result
        first = min(number * per, channels - per)
        elements = vector.ShuffleOp(values, values, [place + first + part for place in places for part in range(per)]).result
        return vector.BitCastOp(lanes, elements).result

    def filter(self, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
        return filter_lanes(self, block, tap, channel, column)

    def add(self, elements: ir.Value, weights: ir.Value, sums: ir.Value) -> ir.Value:
        return intrinsics.build(self.form.product, elements, weights, sums)


def filter_lanes(loops: DirectLoops, block: Size, tap: Size, channel: Size, column: Size) -> ir.Value:
    """A vector of the filter: lanes of neighbouring elements for the features of a block."""
    integers = Vectors(loops.vectors.lanes * loops.form.per_lane).load(loops.filters, block, tap, channel, column, 0)
    return vector.BitCastOp(loops.vectors.of(_lane()), integers).result


def _lane() -> ir.Type:
    return ir.IntegerType.get_signless(32)
