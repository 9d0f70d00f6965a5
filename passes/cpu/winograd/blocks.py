"""Loops over blocks of tiles of one convolution: what ``tir-winograd-convolutions`` makes of a kernel.

The tiles of a row of the output are cut into segments of equal length, and some segments are a block. The inputs of a block's tiles are
transformed, along the columns into a small buffer for each segment, then along the rows. Each point of the transforms is a product of
the block's tiles with a matrix of transformed weights, a panel of features at a time. The products of a panel are transformed back, and the
epilogue is computed on what that gives. Several threads compute blocks of their own. Or they share the work of each, where blocks are few
or weights are many: then points come one after the other, so that large blocks read all weights once, and the inputs of a point stay in
the cache meanwhile.
"""
from __future__ import annotations

from collections.abc import Callable

from legato.analysis.structured import ConvolutionForm
from legato.core.cpu_table import LINE
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    in_parts,
    least,
    loop,
    minus,
    most,
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
from legato.passes.cpu.matrices.steps import add_products, load_pairs, rounded, spread_pair
from legato.passes.cpu.winograd.outputs import WinogradOutputs
from legato.passes.cpu.winograd.position import Segment, WinogradSizes
from legato.passes.cpu.winograd.transforms import Transforms


class WinogradBlocks:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: ConvolutionForm, tiles: WinogradTilesLike, buffers: Buffers, weights: ir.Value):
        self.form, self.tiles = form, tiles
        self.source, self.weights = buffers.of(form.source), weights
        self.sizes = WinogradSizes.of(form, tiles, self.source)
        self.vectors = Vectors(tiles.lanes)
        self.transforms = Transforms(tiles.outputs, self.vectors)
        self.lanes, self.side, self.points = tiles.lanes, self.sizes.side, self.sizes.side ** 2
        self.panel = tiles.vectors * tiles.lanes
        _, _, self.channels, self.features = form.filter_shape
        self.taken = 1 if form.depth is None else form.depth.taps    # slices of a volume
        self.channels *= self.taken
        self.panels = -(-self.features // self.panel)
        self.row = -(-self.channels // self.lanes) * self.lanes    # elements of a tile in the transformed inputs
        self.pair = PAIR if tiles.in_pairs else 1    # channels that a step of a product sums
        self.factor = ir.BF16Type.get() if tiles.in_pairs else ir.F32Type.get()
        self.rows = -(-tiles.segments * tiles.segment // tiles.rows) * tiles.rows
        self.outputs = WinogradOutputs(form, tiles, buffers, self.sizes)

    def build(self) -> None:
        """Builds all loops."""
        tiles, threads = self.tiles, self.tiles.threads
        width = tiles.segment * tiles.outputs + self.side - tiles.outputs
        at_once = threads if tiles.whole_blocks else 1    # blocks
        self.columns = scratch(threads, self.side, width, self.lanes)
        # planes are not a power of two apart, where all would share one set of a cache
        self.inputs = scratch(at_once * self.points, self.rows * self.row + self.lanes, element=self.factor)
        self.products = scratch(threads if tiles.whole_blocks else self.panels, self.points, self.rows * self.panel + self.lanes)
        self._clear(at_once * self.points)
        if tiles.whole_blocks:
            self._each(rounded_up(self.sizes.segments, tiles.segments), self._block)
        else:
            loop(0, self.sizes.segments, tiles.segments, self._shared_block)

    def _clear(self, planes: int) -> None:
        """Clears the rows after a block's last one, which products take in: denormals there would make them slow. Blocks are all as long as
        the first one but the last, which may be the only one that a thread takes."""
        segments, tiles = self.sizes.segments, self.tiles
        first = least(segments, tiles.segments)
        before = times(minus(rounded_up(segments, tiles.segments), 1), tiles.segments)
        self._clear_after(first, planes)
        last = minus(segments, before)
        if tiles.whole_blocks and last != first:
            self._clear_after(last, planes)

    def _clear_after(self, segments: Size, planes: int) -> None:
        """Clears the rows after a block of so many segments."""
        begin = times(segments, self.tiles.segment)
        end = times(rounded_up(begin, self.tiles.rows), self.tiles.rows)

        def clear(point: ir.Value) -> None:
            loop(times(begin, self.row), times(end, self.row), self.lanes,
                 lambda at: self.vectors.store(self.vectors.zeros(self.factor), self.inputs, point, at))

        if begin != end:
            loop(0, planes, 1, clear)

    def _each(self, count: Size, body: Callable[[ir.Value, Size], None]) -> None:
        in_parts(count, self.tiles.threads, body)

    def _block(self, block: ir.Value, thread: Size) -> None:
        """A block by one thread, panel by panel."""
        first = times(block, self.tiles.segments)
        count, rows = self._extents(first)
        chunks = self.row // self.lanes
        plane = times(thread, self.points)

        def matrix(panel: Size, point: Size) -> Size:
            return plus(times(panel, self.points), point)

        def panel(number: ir.Value) -> None:
            loop(0, self.points, 1, lambda point: self._product(matrix(number, point), point, plus(plane, point), thread, rows))
            loop(0, count, 1, lambda at: self.outputs.build(self.products, thread, number, self.sizes.segment(first, at)))

        loop(0, times(count, chunks), 1, lambda item: self._chunk(first, item, plane, thread))
        loop(0, self.panels, 1, panel)

    def _shared_block(self, first: ir.Value) -> None:
        """A block by all threads, point by point."""
        count, rows = self._extents(first)

        def product(number: ir.Value, _: Size) -> None:
            point, panel = quotient(number, self.panels), remainder(number, self.panels)
            self._product(number, point, point, panel, rows)

        def output(number: ir.Value, _: Size) -> None:
            panel = quotient(number, count)
            self.outputs.build(self.products, panel, panel, self.sizes.segment(first, remainder(number, count)))

        self._each(times(count, self.row // self.lanes), lambda item, thread: self._chunk(first, item, 0, thread))
        self._each(self.panels * self.points, product)
        self._each(times(count, self.panels), output)

    def _extents(self, first: Size) -> tuple[Size, Size]:
        """The segments of a block, and the rows of its products."""
        whole = isinstance(self.sizes.segments, int) and self.sizes.segments % self.tiles.segments == 0
        count: Size = self.tiles.segments if whole else least(minus(self.sizes.segments, first), self.tiles.segments)
        return count, times(rounded_up(times(count, self.tiles.segment), self.tiles.rows), self.tiles.rows)

    # --- inputs ---

    def _chunk(self, first: Size, number: ir.Value, plane: Size, thread: Size) -> None:
        """Transforms what belongs to a segment and a vector of channels: number ``number`` of a block. ``plane``: the block's first one."""
        chunks = self.row // self.lanes
        segment = self.sizes.segment(first, quotient(number, chunks))
        self._inputs(segment, times(remainder(number, chunks), self.lanes), plane, thread)

    def _inputs(self, segment: Segment, channel: ir.Value, plane: Size, thread: Size) -> None:
        """Transforms the inputs of a segment's tiles, for a vector of channels."""
        outputs, v = self.tiles.outputs, self.vectors
        top = minus(times(segment.row, outputs), self.form.begins[0])
        left = minus(times(segment.column, outputs), self.form.begins[1])
        width = self.tiles.segment * outputs + self.side - outputs
        at, channel_of, in_volume = self._slice(segment, channel)
        reads = [self._row(top, i, channel, in_volume) for i in range(self.side)]

        def clear(x: ir.Value) -> None:
            for u in range(self.side):
                v.store(v.splat(0), self.columns, thread, u, x, 0)

        def column(x: ir.Value) -> None:
            inputs = [v.load_if(mask, self.source, *at, y, x, channel_of) for y, mask in reads]
            for u, value in enumerate(self.transforms.of_inputs(inputs)):
                v.store(value, self.columns, thread, u, minus(x, left), 0)

        first, last = most(left, 0), least(plus(left, width), self.sizes.columns)
        loop(0, minus(first, left), 1, clear)
        loop(first, last, 1, column)
        loop(minus(last, left), width, 1, clear)

        def tile(number: ir.Value) -> None:
            at = plus(times(plus(times(segment.number, self.tiles.segment), number), self.row), channel)
            x = times(number, outputs)

            def row(u: ir.Value) -> None:
                inputs = [v.load(self.columns, thread, u, plus(x, j), 0) for j in range(self.side)]
                first = plus(plane, times(u, self.side))
                for w, value in enumerate(self.transforms.of_inputs(inputs)):
                    v.store(rounded(v, value) if self.tiles.in_pairs else value, self.inputs, plus(first, w), at)

            loop(0, self.side, 1, row)

        loop(0, self.tiles.segment, 1, tile)

    def _slice(self, segment: Segment, channel: ir.Value) -> tuple[list[Size], Size, ir.Value | None]:
        """The image that a channel is of, the channel in it, and whether the image exists (None: it does). A window takes channels of as
        many slices of a volume as it is deep."""
        axis = self.form.depth
        if axis is None:
            return [segment.image], channel, None
        channels = self.channels // self.taken
        place = times(remainder(segment.image, axis.count), axis.stride)
        z = minus(plus(place, times(quotient(channel, channels), axis.dilation)), axis.begin)
        inside = arith.andi(below(-1, z), below(z, axis.size))
        return [quotient(segment.image, axis.count), least(most(z, 0), axis.size - 1)], remainder(channel, channels), inside

    def _row(self, top: Size, i: int, channel: ir.Value, in_volume: ir.Value | None) -> tuple[Size, ir.Value | None]:
        """A row of the image that exists, and which lanes are read of it: none of a row of padding, nor of channels after the last, nor of
        an image that does not exist."""
        y, mask = plus(top, i), None if in_volume is None else self.vectors.spread(in_volume)
        rest = self.channels % self.lanes
        if rest:    # not of volumes
            mask = self.vectors.mask(minus(self.channels, channel))
        if not self.sizes.rows_inside:
            inside = self.vectors.spread(arith.andi(below(-1, y), below(y, self.sizes.rows)))
            mask = inside if mask is None else arith.andi(mask, inside)
            y = least(most(y, 0), minus(self.sizes.rows, 1))
        return y, mask

    # --- products ---

    def _product(self, matrix: Size, point: Size, plane: Size, slot: Size, rows: Size) -> None:
        """The products of one point with one matrix of weights. ``plane``: of the inputs; ``slot``: of the products."""
        loop(0, rows, self.tiles.rows, lambda row: self._tile(matrix, point, plane, slot, row))

    def _tile(self, matrix: Size, point: Size, plane: Size, slot: Size, row: ir.Value) -> None:
        """A tile of rows by a panel. Its steps fetch a part of the next matrix, so that all tiles of rows together fetch it once."""
        v, rows, vectors = self.vectors, range(self.tiles.rows), range(self.tiles.vectors)
        starts = [times(plus(row, i), self.row) for i in rows]
        tiles, steps = self.rows // self.tiles.rows, -(-self.channels // self.pair)
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
                value = v.spread(read(self.inputs, plane, plus(starts[i], k)))
                found += [vector.FMAOp(value, weight, sums[i * len(weights) + j]).result for j, weight in enumerate(weights)]
            return found

        def of_pairs(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            fetch(k)
            weights = [load_pairs(v, self.weights, matrix, times(plus(times(k, self.panel), j * self.lanes), PAIR)) for j in vectors]
            return add_products([spread_pair(v, self.inputs, plane, plus(start, times(k, PAIR))) for start in starts], weights, sums)

        sums = loop(0, steps, 1, of_pairs if self.tiles.in_pairs else of_elements, [v.splat(0)] * (len(rows) * len(vectors)))
        for i in rows:
            for j in vectors:
                at = plus(times(plus(row, i), self.panel), j * self.lanes)
                v.store(sums[i * len(vectors) + j], self.products, slot, point, at)
