"""Where a segment of tiles lies: its image, its row of tiles and its first column of tiles."""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.ir_helpers import index
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, least, minus, plus, quotient, remainder, rounded_up, times
from legato.passes.cpu.winograd.transforms import TAPS


@dataclass(frozen=True)
class Segment:
    """``number``: its place in the block; ``image``: or slice, counted through all volumes; ``row`` and ``column``: of its first tile, in
    tiles."""

    number: Size
    image: Size
    row: Size
    column: Size


@dataclass(frozen=True)
class WinogradSizes:
    """``side``: of a tile of inputs; ``rows`` and ``columns``: of the image; ``out_rows``, ``out_columns``: of the result; ``tile_rows``,
    ``tile_columns``: tiles of outputs; ``in_row``: segments of a row of tiles; ``segments``: of all images; ``length``: tiles of a
    segment; ``rows_inside``: whether no tile reads rows of padding."""

    side: int
    rows: Size
    columns: Size
    out_rows: Size
    out_columns: Size
    tile_rows: Size
    tile_columns: Size
    in_row: Size
    segments: Size
    length: int
    rows_inside: bool

    @classmethod
    def of(cls, form: ImageConvolutionForm, tiles: WinogradTilesLike, source: ir.Value) -> WinogradSizes:
        """The sizes of a convolution of a buffer, built at the insertion point where they are dynamic."""
        shape, places = source.type.shape, (0, source.type.rank - 3, source.type.rank - 2)
        images, rows, columns = (memref.DimOp(source, index(d)).result if source.type.is_dynamic_dim(d) else shape[d] for d in places)
        images = images if form.depth is None else times(images, form.depth.count)
        m = tiles.outputs
        added = [low + high - TAPS + 1 for low, high in zip(form.begins, form.ends)]
        out_rows, out_columns = plus(rows, added[0]), plus(columns, added[1])
        tile_rows, tile_columns = rounded_up(out_rows, m), rounded_up(out_columns, m)
        in_row = rounded_up(tile_columns, tiles.segment)
        side = m + TAPS - 1
        inside = isinstance(rows, int) and form.begins[0] == 0 and tile_rows * m + TAPS - 1 <= rows
        return cls(side, rows, columns, out_rows, out_columns, tile_rows, tile_columns, in_row,
                   times(times(images, tile_rows), in_row), tiles.segment, inside)

    def segment(self, first: Size, number: Size) -> Segment:
        """The place of a segment of the block that begins with number ``first``."""
        place = plus(first, number)
        row = quotient(place, self.in_row)
        column = times(remainder(place, self.in_row) if self.in_row != 1 else 0, self.length)
        return Segment(number, quotient(row, self.tile_rows), remainder(row, self.tile_rows), column)

    def extents(self, first: Size, tiles: WinogradTilesLike) -> tuple[Size, Size]:
        """The segments of the block that begins with number ``first``, and the rows of its products."""
        whole = isinstance(self.segments, int) and self.segments % tiles.segments == 0
        count: Size = tiles.segments if whole else least(minus(self.segments, first), tiles.segments)
        return count, times(rounded_up(times(count, tiles.segment), tiles.rows), tiles.rows)
