"""Loops over panels of features of one convolution, whose filters are transformed as they are read: the other thing that
``tir-winograd-convolutions`` makes of a kernel.

Where tiles are few, it takes less time to transform filters, again for each register tile, than to read transformed ones, which are four
times as large. A register tile is of some tiles of the image, by the points of a row of the transform, by a vector of features: a panel.
The filters of some channels stay in the first cache while all tiles are multiplied by them; the products are added to those of the
channels before, and transformed back at the end.
"""
from __future__ import annotations

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    free_registers,
    in_parts,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    scratch,
    times,
    value_of,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.winograd.inputs import WinogradInputs
from legato.passes.cpu.winograd.outputs import WinogradOutputs
from legato.passes.cpu.winograd.position import WinogradSizes
from legato.passes.cpu.winograd.transforms import TAPS, Transforms

SECOND = 2    # the cache that filters are fetched to


class WinogradPanels:
    """Builds the loops of one kernel at the insertion point. ``filters``: [panels, channels * 9 * lanes], made by ``pack_panels``."""

    def __init__(self, form: ConvolutionForm, tiles: WinogradTilesLike, buffers: Buffers, filters: ir.Value):
        self.tiles, self.filters, self.lanes = tiles, filters, tiles.lanes
        source = buffers.of(form.source)
        self.sizes = WinogradSizes.of(form, tiles, source)
        self.vectors = Vectors(tiles.lanes)
        self.transforms = Transforms(tiles.outputs, self.vectors)
        self.panels = -(-form.filter_shape[3] // self.lanes)
        self.inputs = WinogradInputs(form, tiles, source, self.sizes)
        self.outputs = WinogradOutputs(form, tiles, buffers, self.sizes)

    def build(self) -> None:
        """Builds all loops."""
        self.inputs.allocate()
        loop(0, self.sizes.segments, self.tiles.segments, self._block)

    def _allocate(self) -> None:
        """Allocates the products of a thread with a panel."""
        held = (self.inputs.rows + 1) * self.lanes    # planes are not a power of two apart
        self.products = scratch(1, self.sizes.side ** 2, held)

    def _block(self, first: ir.Value) -> None:
        """A block by all threads."""
        tiles, inputs = self.tiles, self.inputs
        count, rows = self.sizes.extents(first, tiles)

        def panel(number: ir.Value, _: Size) -> None:
            loop(0, inputs.channels, tiles.channels, lambda channel: self._channels(number, channel, rows))
            loop(0, count, 1, lambda at: self.outputs.build(self.products, 0, number, self.sizes.segment(first, at)))

        in_parts(times(count, inputs.chunks), tiles.threads, lambda item, _: inputs.transform(first, item),
                 lambda _: inputs.allocate_columns())
        in_parts(self.panels, tiles.threads, panel, lambda _: self._allocate())

    def _channels(self, panel: Size, channel: ir.Value, rows: Size) -> None:
        """Adds the products of some channels, from one on."""
        whole = self.inputs.channels % self.tiles.channels == 0
        steps: Size = self.tiles.channels if whole else least(minus(self.inputs.channels, channel), self.tiles.channels)
        for u in range(self.sizes.side):
            loop(0, rows, self.tiles.rows, lambda row, u=u: self._tile(panel, channel, steps, u, row))

    def _tile(self, panel: Size, channel: ir.Value, steps: Size, u: int, row: ir.Value) -> None:
        """Some tiles by the points of row ``u`` by a panel. The first tiles and points fetch the filters that come next."""
        v, rows, points = self.vectors, range(self.tiles.rows), range(self.sizes.side)
        starts = [plus(times(plus(row, i), self.inputs.row), channel) for i in rows]
        places = [(u * self.sizes.side + w, times(plus(row, i), self.lanes)) for w in points for i in rows]
        groups, taps = self.inputs.rows // self.tiles.rows, TAPS ** 2
        lines = -(-taps // (self.sizes.side * groups)) if u * groups < taps else 0    # vectors that a step fetches
        before = times(plus(quotient(row, self.tiles.rows), u * groups), steps)
        following = times(plus(channel, self.tiles.channels), taps)

        def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            for line in range(lines):
                to = plus(following, plus(times(plus(before, k), lines), line))
                memref.PrefetchOp(self.filters, [value_of(panel), value_of(times(to, self.lanes))], False, SECOND, True)
            filters = self._filters(panel, plus(channel, k), u)
            inputs = [read(self.inputs.buffer, u * self.sizes.side + w, plus(start, k)) for w in points for start in starts]
            return [vector.FMAOp(v.spread(value), filters[at // len(rows)], total).result
                    for at, (value, total) in enumerate(zip(inputs, sums, strict=True))]

        sums = [v.splat(0)] * len(places)
        if self.inputs.channels > self.tiles.channels:
            later = v.spread(arith.cmpi(arith.CmpIPredicate.ne, channel, value_of(0)))
            sums = [v.load_if(later, self.products, 0, *place) for place in places]
        free_registers(self.tiles.registers)
        sums = loop(0, steps, 1, step, sums)
        free_registers(self.tiles.registers)
        for place, total in zip(places, sums, strict=True):
            v.store(total, self.products, 0, *place)

    def _filters(self, panel: Size, channel: Size, u: int) -> list[ir.Value]:
        """The points of row ``u`` of the filters of one channel."""
        first = times(channel, TAPS ** 2)
        columns = [[self.vectors.load(self.filters, panel, times(plus(first, i * TAPS + j), self.lanes)) for i in range(TAPS)]
                   for j in range(TAPS)]
        return self.transforms.of_filters([self.transforms.of_filters(column)[u] for column in columns])
