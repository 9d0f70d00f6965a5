"""The inputs of tiles of outputs transformed, a segment of tiles and a vector of channels at a time."""
from __future__ import annotations

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import arith, ir
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    least,
    loop,
    minus,
    most,
    plus,
    quotient,
    remainder,
    rounded_up,
    scratch,
    times,
)
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.matrices.steps import rounded
from legato.passes.cpu.winograd.position import Segment, WinogradSizes
from legato.passes.cpu.winograd.transforms import transforms_of


class WinogradInputs:
    """Writes the transformed inputs of a block of segments to ``buffer`` [points, tiles * row]: of each point of the transform, the tiles
    of the block, each of ``row`` channels. Along the columns they are transformed into a small buffer for each segment, then along the
    rows."""

    def __init__(self, form: ImageConvolutionForm, tiles: WinogradTilesLike, source: ir.Value, sizes: WinogradSizes):
        self.form, self.tiles, self.source, self.sizes = form, tiles, source, sizes
        self.is_whole = tiles.factor == "i16"
        self.lanes, self.side = tiles.lanes * (PAIR if self.is_whole else 1), sizes.side
        self.vectors = Vectors(self.lanes)
        transforms = transforms_of(tiles, self.vectors)
        self.transformed = transforms.of_inputs_scaled if tiles.order == "panels" else transforms.of_inputs
        self.taken = 1 if form.depth is None else form.depth.taps    # slices of a volume
        self.channels = form.filter_shape[2] * self.taken    # of a group
        self.row = -(-self.channels // self.lanes) * self.lanes    # elements of a tile
        self.chunks = self.row // self.lanes
        self.is_rounded = tiles.factor == "bf16"
        self.read = source.type.element_type
        self.factor = ir.BF16Type.get() if self.is_rounded else self.read
        self.rows = -(-tiles.segments * tiles.segment // tiles.rows) * tiles.rows    # tiles of a block, and those that products take in

    def allocate_columns(self) -> None:
        """Allocates the buffer of a thread that transforms inputs."""
        width = self.tiles.segment * self.tiles.outputs + self.side - self.tiles.outputs
        self.columns = scratch(self.side, width, self.lanes, element=self.read)

    def allocate(self) -> None:
        """Allocates the transformed inputs of a block, and clears the rows after the last one, which products take in: denormals there
        would make them slow. Blocks are all as long as the first one but the last, which may be the only one that a thread takes."""
        segments, tiles = self.sizes.segments, self.tiles
        # planes are not a power of two apart, where all would share one set of a cache
        self.buffer = scratch(self.side ** 2, self.rows * self.row + self.lanes, element=self.factor)
        first = least(segments, tiles.segments)
        before = times(minus(rounded_up(segments, tiles.segments), 1), tiles.segments)
        self._clear_after(first)
        last = minus(segments, before)
        if tiles.order == "blocks" and last != first:
            self._clear_after(last)

    def _clear_after(self, segments: Size) -> None:
        """Clears the rows after a block of so many segments."""
        begin = times(segments, self.tiles.segment)
        end = times(rounded_up(begin, self.tiles.rows), self.tiles.rows)

        def clear(point: ir.Value) -> None:
            loop(times(begin, self.row), times(end, self.row), self.lanes,
                 lambda at: self.vectors.store(self.vectors.zeros(self.factor), self.buffer, point, at))

        if begin != end:
            loop(0, self.side ** 2, 1, clear)

    def transform(self, first: Size, number: ir.Value, group: Size = 0) -> None:
        """Transforms what belongs to a segment and a vector of channels of a group: number ``number`` of a block."""
        segment = self.sizes.segment(first, quotient(number, self.chunks))
        self._segment(segment, times(remainder(number, self.chunks), self.lanes), times(group, self.channels))

    def _segment(self, segment: Segment, channel: ir.Value, before: Size) -> None:
        """Transforms the inputs of a segment's tiles, for a vector of channels. ``before``: the channels of groups before theirs."""
        outputs, v = self.tiles.outputs, self.vectors
        top = minus(times(segment.row, outputs), self.form.begins[0])
        left = minus(times(segment.column, outputs), self.form.begins[1])
        width = self.tiles.segment * outputs + self.side - outputs
        at, channel_of, in_volume = self._slice(segment, channel)
        channel_of = plus(channel_of, before)
        reads = [self._row(top, i, channel, in_volume) for i in range(self.side)]

        def clear(x: ir.Value) -> None:
            for u in range(self.side):
                v.store(v.zeros(self.read), self.columns, u, x, 0)

        def column(x: ir.Value) -> None:
            inputs = [self._load(mask, *at, y, x, channel_of) for y, mask in reads]
            for u, value in enumerate(self.transformed(inputs)):
                v.store(value, self.columns, u, minus(x, left), 0)

        first, last = most(left, 0), least(plus(left, width), self.sizes.columns)
        loop(0, minus(first, left), 1, clear)
        loop(first, last, 1, column)
        loop(minus(last, left), width, 1, clear)

        def tile(number: ir.Value) -> None:
            at = plus(times(plus(times(segment.number, self.tiles.segment), number), self.row), channel)
            x = times(number, outputs)

            def row(u: ir.Value) -> None:
                inputs = [v.load(self.columns, u, plus(x, j), 0) for j in range(self.side)]
                first = times(u, self.side)
                for w, value in enumerate(self.transformed(inputs)):
                    v.store(rounded(v, value) if self.is_rounded else value, self.buffer, plus(first, w), at)

            loop(0, self.side, 1, row)

        loop(0, self.tiles.segment, 1, tile)

    def _load(self, mask: ir.Value | None, *at: Size) -> ir.Value:
        """A vector of channels. Of integers a mask is of all lanes or none, and what it leaves out exists: few CPUs load them by masks."""
        if self.is_whole and mask is not None:
            return arith.select(mask, self.vectors.load(self.source, *at), self.vectors.zeros(self.read))
        return self.vectors.load_if(mask, self.source, *at)

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
