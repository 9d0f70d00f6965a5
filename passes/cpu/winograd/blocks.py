"""Loops over blocks of tiles of one convolution: what ``tir-winograd-convolutions`` makes of a kernel.

The tiles of a row of the output are cut into segments of equal length, and some segments are a block. The inputs of a block's tiles are
transformed, along the columns into a small buffer for each segment, then along the rows. Each point of the transforms is a product of
the block's tiles with a matrix of transformed weights, a panel of features at a time. The products of a panel are transformed back, and the
epilogue is computed on what that gives. Of several groups, each has blocks of its own. Several threads compute blocks of their own. Or
they share the work of each, where blocks are few or weights are many: then points come one after the other, so that large blocks read all
weights once, and the inputs of a point stay in the cache meanwhile.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.cpu_table import LINE
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import ir, memref, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    in_parts,
    loop,
    plus,
    quotient,
    read,
    remainder,
    rounded_up,
    scratch,
    times,
    value_of,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.matrices.steps import add_products, load_pairs, spread_pair
from legato.passes.cpu.winograd.inputs import WinogradInputs
from legato.passes.cpu.winograd.outputs import WinogradOutputs
from legato.passes.cpu.winograd.position import WinogradSizes


class WinogradBlocks:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: ImageConvolutionForm, tiles: WinogradTilesLike, buffers: Buffers, weights: ir.Value):
        self.tiles, self.weights = tiles, weights
        self.whole_blocks = tiles.order == "blocks"
        source = buffers.of(form.source)
        self.sizes = WinogradSizes.of(form, tiles, source)
        self.vectors = Vectors(tiles.lanes)
        self.lanes, self.points = tiles.lanes, self.sizes.side ** 2
        self.panel = tiles.vectors * tiles.lanes
        self.each = -(-form.filter_shape[3] // self.panel)    # panels of a group
        self.groups, self.panels = form.groups, form.groups * self.each
        self.pair = 1 if tiles.factor == "f32" else PAIR    # channels that a step of a product sums
        self.summed = ir.IntegerType.get_signless(32) if tiles.factor == "i16" else ir.F32Type.get()
        self.inputs = WinogradInputs(form, tiles, source, self.sizes)
        self.outputs = WinogradOutputs(form, tiles, buffers, self.sizes)

    def build(self) -> None:
        """Builds all loops."""
        if self.whole_blocks:
            blocks = rounded_up(self.sizes.segments, self.tiles.segments)
            self._each(times(self.groups, blocks), partial(self._block, blocks), lambda _: self._allocate())
        else:
            self._allocate()
            loop(0, self.sizes.segments, self.tiles.segments, self._shared_block)

    def _allocate(self) -> None:
        """Allocates the buffers of a block: of a thread that computes whole ones, or of all threads."""
        held = self.inputs.rows * self.panel + self.lanes    # planes are not a power of two apart
        self.products = scratch(1 if self.whole_blocks else self.panels, self.points, held, element=self.summed)
        self.inputs.allocate()
        if self.whole_blocks:
            self.inputs.allocate_columns()

    def _each(self, count: Size, body: Callable[[ir.Value, Size], None], begin: Callable[[Size], None] | None = None) -> None:
        in_parts(count, self.tiles.threads, body, begin)

    def _block(self, blocks: Size, item: ir.Value, _: Size) -> None:
        """A block by one thread, panel by panel: of all groups, one goes through all blocks before the next does."""
        group, block = (0, item) if self.groups == 1 else (quotient(item, blocks), remainder(item, blocks))
        first = times(block, self.tiles.segments)
        count, rows = self.sizes.extents(first, self.tiles)

        def matrix(panel: Size, point: Size) -> Size:
            return plus(times(panel, self.points), point)

        def panel(number: ir.Value) -> None:
            loop(0, self.points, 1, lambda point: self._product(matrix(number, point), point, 0, rows))
            loop(0, count, 1, lambda at: self.outputs.build(self.products, 0, number, self.sizes.segment(first, at)))

        loop(0, times(count, self.inputs.chunks), 1, lambda item: self.inputs.transform(first, item, group))
        loop(0, self.each, 1, lambda number: panel(plus(times(group, self.each), number)))

    def _shared_block(self, first: ir.Value) -> None:
        """A block by all threads, point by point."""
        count, rows = self.sizes.extents(first, self.tiles)

        def product(number: ir.Value, _: Size) -> None:
            point, panel = quotient(number, self.panels), remainder(number, self.panels)
            self._product(number, point, panel, rows)

        def output(number: ir.Value, _: Size) -> None:
            panel = quotient(number, count)
            self.outputs.build(self.products, panel, panel, self.sizes.segment(first, remainder(number, count)))

        self._each(times(count, self.inputs.chunks), lambda item, _: self.inputs.transform(first, item),
                   lambda _: self.inputs.allocate_columns())
        self._each(self.panels * self.points, product)
        self._each(times(count, self.panels), output)

    def _product(self, matrix: Size, point: Size, slot: Size, rows: Size) -> None:
        """The products of one point with one matrix of weights. ``slot``: of the products."""
        loop(0, rows, self.tiles.rows, lambda row: self._tile(matrix, point, slot, row))

    def _tile(self, matrix: Size, point: Size, slot: Size, row: ir.Value) -> None:
        """A tile of rows by a panel. Its steps fetch a part of the next matrix, so that all tiles of rows together fetch it once."""
        v, rows, vectors = self.vectors, range(self.tiles.rows), range(self.tiles.vectors)
        starts = [times(plus(row, i), self.inputs.row) for i in rows]
        tiles, steps = self.inputs.rows // self.tiles.rows, -(-self.inputs.channels // self.pair)
        part = 1 << (-(-self.panel // tiles) - 1).bit_length()    # of a step's weights: a power of two, so that parts may overlap
        before = times(quotient(row, self.tiles.rows), steps)

        def fetch(k: ir.Value) -> None:
            for line in range(0, part, LINE // 4):
                at = times(plus(times(plus(before, k), part), line), self.pair)
                memref.PrefetchOp(self.weights, [value_of(plus(matrix, 1)), value_of(at)], False, 3, True)

        def of_elements(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            fetch(k)
            weights = [v.load(self.weights, matrix, plus(times(k, self.panel), j * self.lanes)) for j in vectors]
            found = []
            for i in rows:
                value = v.spread(read(self.inputs.buffer, point, plus(starts[i], k)))
                found += [vector.FMAOp(value, weight, sums[i * len(weights) + j]).result for j, weight in enumerate(weights)]
            return found

        def of_pairs(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            fetch(k)
            weights = [load_pairs(v, self.weights, matrix, times(plus(times(k, self.panel), j * self.lanes), PAIR)) for j in vectors]
            return add_products([spread_pair(v, self.inputs.buffer, point, plus(start, times(k, PAIR))) for start in starts], weights, sums)

        sums = loop(0, steps, 1, of_elements if self.pair == 1 else of_pairs, [v.zeros(self.summed)] * (len(rows) * len(vectors)))
        for i in rows:
            for j in vectors:
                at = plus(times(plus(row, i), self.panel), j * self.lanes)
                v.store(sums[i * len(vectors) + j], self.products, slot, point, at)
