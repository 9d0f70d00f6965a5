"""Loops over the windows of an image, a few positions of a row at a time: what depthwise and direct convolutions share.

The sums of some neighbouring positions stay in registers while the rows of the window go by. An element of the input is read once for all
positions whose windows hold it. Rows above and below the image are left out by the bounds of the loop over the window's rows; columns
beside it where the tiles at both ends of a row are written out, or where these are many, by branches. So no padded copy is made, and all
rows of the result, which threads share, are alike. An image of three dimensions has rows in each of its slices, and windows have, too; an
image of one is a row. Of images whose sizes are known at run time only, whole tiles lie inside, and positions beside them are computed one
by one, by branches.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.window import WindowAxis, are_known
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref, scf
from legato.core.vector_loops import (
    Size,
    Vectors,
    in_parallel,
    least,
    loop,
    minus,
    most,
    plus,
    quotient,
    remainder,
    rounded_up,
    times,
    value_of,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_tiles import SHARES, Positions, count_of, shares_of
from legato.passes.cpu.sized_axes import SizedAxis, are_far, product_of

MOST_TAPS = 11          # of a window's row, which are written out
WORTH_IT = 1 << 18      # multiply-adds from which on several threads pay

Columns = dict[int, list[tuple[int, int]]]      # of a tile, each with the positions and taps that take it


class WindowedForm(Protocol):
    """What the loops ask of a convolution's form."""

    @property
    def source(self) -> ir.Value:
        """The images without padding, [n, height, width, channels], or of another number of spatial dimensions."""
        ...

    @property
    def axes(self) -> tuple[WindowAxis, ...]:
        """The windows along the spatial dimensions, that of the columns last."""
        ...

    @property
    def terms(self) -> Index:
        """The terms of an element of the result: the image, the position in each spatial dimension, the feature."""
        ...


@dataclass(frozen=True)
class WindowSpan:
    """What the windows of a row take along an axis across it. ``top``: the first row of its windows, in the padded image; ``taps``: the
    rows of a window that lie inside of the image, from the first to the one behind the last."""

    top: Size
    taps: tuple[Size, Size]


@dataclass(frozen=True)
class WindowRow:
    """A row of the result, or a piece of it. ``number``: in its image; ``unit``: the part of the features that is computed, 0 where all
    are; ``places``: the position in the loops over images and rows; ``spans``: for each axis but the last; ``start``: of the piece;
    ``share``: the part of its tiles that is computed."""

    image: ir.Value
    number: Size
    unit: Size
    places: dict[Term, Size]
    spans: tuple[WindowSpan, ...]
    start: Size = 0
    share: Size = 0


@dataclass(frozen=True)
class WindowLine:
    """A row of the image that a row of a window takes. ``taps``: the latter's place in the window; ``places``: the image, and the row's
    position in it; ``piece``: the columns that a tile reads of it, from its column ``first`` on, as a buffer of their own; ``width``: the
    columns that a clipped tile reads of it for each tap, 0 where these are not buffers of their own."""

    taps: tuple[Size, ...]
    places: tuple[Size, ...]
    piece: ir.Value | None = None
    first: int = 0
    width: int = 0


def span_of(axis: WindowAxis | SizedAxis, at: Size) -> WindowSpan:
    """What the windows at a position take along an axis: the source of tap k is row ``top + k * dilation - begin``."""
    top = times(at, axis.stride)
    first = rounded_up(most(minus(axis.begin, top), 0), axis.dilation)
    end = least(rounded_up(most(minus(plus(axis.size, axis.begin), top), 0), axis.dilation), axis.taps)
    return WindowSpan(top, (first, end))


def images_of(source: ir.Value) -> Size:
    """The number of images of a buffer."""
    count = source.type.shape[0]
    return count if count >= 0 else memref.DimOp(source, value_of(0)).result


class WindowLoops(ABC):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row, or of each of so many equal ``pieces`` of all rows, of
    which one is gone through before the next; ``units``: parts of the features, of which each goes through ``chunk`` rows of an image
    (0: all) before the next does."""

    def __init__(self, form: WindowedForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers, out: ir.Value,
                 units: int = 1, chunk: int = 0, pieces: int = 1):
        self.form, self.machine, self.tiles, self.buffers, self.units, self.pieces = form, machine, tiles, buffers, units, pieces
        self.vectors = Vectors(machine.lanes(32))
        self.source, self.out, self.terms, self.columns = buffers.of(form.source), buffers.of(out), form.terms, form.axes[-1]
        self.has_known_sizes, self.has_known_width = are_known(form.axes), are_known([self.columns])
        axes = [SizedAxis.of(axis, self.source, self.out, place) for place, axis in enumerate(form.axes, 1)]
        self.across, self.row_axis = axes[:-1], axes[-1]
        self.rows = product_of(self.across)    # of an image
        self.chunk = chunk if isinstance(self.rows, int) and chunk < self.rows else 0
        self.shares = 1    # of the tiles of a row
        self.overlaps = True    # whether tiles of a row of unknown size may compute a position again

    def build(self, macs: int) -> None:
        """Builds all loops. ``macs``: multiply-adds for an element of a window in one position, for all features."""
        threads = self.machine.threads
        work = max(self.source.type.shape[0], 1) * macs * prod(axis.count * axis.taps for axis in self.form.axes)
        if threads == 1 or (self.has_known_sizes and work < WORTH_IT):
            each = in_order
        else:
            each = in_parallel
            self.shares = self._shares(threads) if self.units == self.pieces == 1 else 1
        each(times(times(images_of(self.source), self.rows), self.pieces * self.units * self.shares), self._row)

    def _shares(self, threads: int) -> int:
        if isinstance(self.rows, int) and self.has_known_sizes:
            return shares_of(self.tiles, self.rows, threads)
        return 1 if self.across else SHARES * threads

    def _row(self, number: Size) -> None:
        share: Size = 0
        if self.shares > 1:
            number, share = quotient(number, self.shares), remainder(number, self.shares)
        rows = times(self.rows, self.units)
        image = value_of(quotient(number, times(rows, self.pieces)))
        piece = remainder(quotient(number, rows), self.pieces) if self.pieces > 1 else 0
        unit, row = self._unit_and_row(remainder(number, rows))
        at: list[Size] = []
        rest = row
        for axis in reversed(self.across):
            at.insert(0, rest if len(at) == len(self.across) - 1 else remainder(rest, axis.count))
            rest = quotient(rest, axis.count)
        places: dict[Term, Size] = dict(zip(self.terms, [image, *at]))
        self.build_row(WindowRow(image, row, unit, places, tuple(map(span_of, self.across, at)),
                                 times(piece, self.columns.count // self.pieces), share))

    def _unit_and_row(self, number: Size) -> tuple[Size, Size]:
        """The place of a row among all of an image, chunk by chunk. The last chunk may have fewer rows."""
        if self.units == 1:
            return 0, number
        first: Size = 0
        rows = self.rows
        if self.chunk:
            chunk = quotient(number, self.units * self.chunk)
            first, number = times(chunk, self.chunk), remainder(number, self.units * self.chunk)
            rows = least(minus(rows, first), self.chunk) if rows % self.chunk else self.chunk
        return quotient(number, rows), plus(first, remainder(number, rows))

    @abstractmethod
    def build_row(self, row: WindowRow) -> None:
        """Builds one row of the result."""

    def each_tile(self, row: WindowRow, body: Callable[[Positions, Size], None]) -> None:
        """Builds ``body(tile, start)`` for the tiles of a row, or of its share."""
        if not self.has_known_width:
            tile, = self.tiles
            count, share = self.row_axis.count, row.share
            part = [quotient(times(place, count), self.shares) for place in (share, plus(share, 1))] if self.shares > 1 else [0, count]
            self.row_axis.each_tile(tile.positions, body, *part, overlap=self.overlaps)
            return
        for number, tile in enumerate(self.tiles):
            if tile.repeats == 1 and self.shares == 1:
                body(tile, plus(row.start, tile.start))
                continue

            def at(start: ir.Value, tile: Positions = tile) -> None:
                body(tile, plus(row.start, start))

            first, end = (value_of(self._begin_of(share, number)) for share in (row.share, plus(row.share, 1)))
            loop(first, end, tile.positions, at)

    def _begin_of(self, share: Size, number: int) -> Size:
        """Where a share begins, or the one before ends, among the repeats of the tile ``number``."""
        tile, before = self.tiles[number], count_of(self.tiles[:number])
        first = most(minus(quotient(times(share, count_of(self.tiles)), self.shares), before), 0)
        return plus(tile.start, times(least(first, tile.repeats), tile.positions))

    def taps_of(self, row: WindowRow, sums: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
        """The loops over the rows of a window that lie inside of the image; ``body(line, *sums)`` returns the sums with a row of the image
        added to them."""
        def inside(line: WindowLine, *carried: ir.Value) -> Sequence[ir.Value]:
            if len(line.taps) == len(self.across):
                return body(line, *carried)
            axis, span = self.across[len(line.taps)], row.spans[len(line.taps)]

            def one(tap: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
                y = minus(plus(span.top, times(tap, axis.dilation)), axis.begin)
                return inside(WindowLine((*line.taps, tap), (*line.places, y)), *carried)

            return loop(value_of(span.taps[0]), value_of(span.taps[1]), 1, one, carried)

        return list(inside(WindowLine((), (row.image,)), *sums))

    def near(self, line: WindowLine, tile: Positions, start: Size) -> WindowLine:
        """A row of an image of unknown width with the piece that a tile which starts at ``start`` reads, or of a clipped one, that which it
        reads for a tap. Their elements are constant distances apart, which LLVM does not find out where those of rows are not constant."""
        columns = list(self.columns_of(tile))
        if self.has_known_width or not columns or (tile.clipped and not self._clips_taps(tile)):
            return line
        if tile.clipped:
            return replace(line, width=(tile.positions - 1) * self.columns.stride + 1)
        return replace(line, piece=self._piece(line, start, columns[0], columns[-1] + 1), first=columns[0])

    def _piece(self, line: WindowLine, start: Size, first: int, end: int) -> ir.Value:
        channels, unknown, outer = self.source.type.shape[-1], ir.ShapedType.get_dynamic_size(), [1] * len(line.places)
        shape = [end - first, channels]
        layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), [channels, 1])
        places = [value_of(place) for place in (*line.places, self._column_at(start, first))]
        type_ = ir.MemRefType.get(shape, self.source.type.element_type, layout)
        return memref.SubViewOp(type_, self.source, places, [], [], [unknown] * len(places) + [0], outer + shape,
                                [1] * (len(outer) + 2)).result

    def source_at(self, line: WindowLine, start: Size, column: int, channel: Size) -> tuple[ir.Value, list[Size]]:
        """The buffer and the place in it of an element of the image; ``column``: from the first window's begin on, of a tile that starts at
        ``start``."""
        if line.piece is not None:
            return line.piece, [column - line.first, channel]
        if line.width:
            place = column % self.columns.dilation
            return self._piece(line, start, column - place, column - place + line.width), [place, channel]
        return self.source, [*line.places, self._column_at(start, column), channel]

    def _column_at(self, start: Size, column: int) -> Size:
        return plus(minus(times(start, self.columns.stride), self.columns.begin), column)

    def add_columns(self, tile: Positions, start: Size, sums: Sequence[ir.Value],
                    add: Callable[[int, list[tuple[int, int]], list[ir.Value]], None]) -> list[ir.Value]:
        """The sums of a tile that starts at ``start``, as many for each position, position by position, with those of each column of the
        image added. ``add(column, uses, sums)`` changes those of its ``uses``, positions and taps."""
        found, each, columns = list(sums), len(sums) // tile.positions, self.columns_of(tile)
        if not tile.clipped:
            for column, uses in columns.items():
                add(column, uses, found)
            return found
        for part in self._clipped_parts(tile, columns):
            changed = [position * each + number for uses in part.values() for position, _ in uses for number in range(each)]
            place = self._column_at(start, next(iter(part)))
            inside = arith.cmpi(arith.CmpIPredicate.ult, value_of(place), value_of(self.row_axis.size))    # and not negative
            made = scf.IfOp(inside, [found[at].type for at in changed], has_else=True)
            with ir.InsertionPoint(made.else_block):
                scf.YieldOp([found[at] for at in changed])
            with ir.InsertionPoint(made.then_block):
                for column, uses in part.items():
                    add(column, uses, found)
                scf.YieldOp([found[at] for at in changed])
            for at, result in zip(changed, made.results, strict=True):
                found[at] = result
        return found

    def _clips_taps(self, tile: Positions) -> bool:
        """Whether the columns of a clipped tile that a tap takes lie inside of the image together: of unknown width, far from others'."""
        return not self.has_known_width and tile.positions > 1 and are_far(self.columns, tile.positions)

    def _clipped_parts(self, tile: Positions, columns: Columns) -> list[Columns]:
        """The columns of a clipped tile that lie inside of the image together: those of a tap, or each column alone."""
        if not self._clips_taps(tile):
            return [{column: uses} for column, uses in columns.items()]
        return [{column: uses for column, uses in columns.items() if uses[0][1] == tap} for tap in range(self.columns.taps)]

    def columns_of(self, tile: Positions) -> Columns:
        """The columns of the image that a tile reads, from its first window's on, each with its positions and taps; of a clipped one, the
        columns beside the image too."""
        axis = self.columns
        begin, end = tile.start * axis.stride - axis.begin, (tile.positions - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1
        found: Columns = {}
        for position in range(tile.positions):
            for tap in range(axis.taps):
                column = position * axis.stride + tap * axis.dilation
                inside = 0 <= begin + column < axis.size if self.has_known_width else tile.before <= column < end - tile.after
                if tile.clipped or inside:
                    found.setdefault(column, []).append((position, tap))
        return dict(sorted(found.items()))


def in_order(count: Size, step: Callable[[ir.Value], None]) -> None:
    """A loop of one thread."""
    loop(0, count, 1, step)
