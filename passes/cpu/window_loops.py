"""Loops over the windows of an image, a few positions of a row at a time: what depthwise and direct convolutions share.

The sums of some neighbouring positions stay in registers while the rows of the window go by. An element of the input is read once for all
positions whose windows hold it. Rows above and below the image are left out by the bounds of the loop over the window's rows; columns
beside it where the tiles at both ends of a row are written out, or where these are many, by branches. So no padded copy is made, and all
rows of the result, which threads share, are alike. An image of three dimensions has rows in each of its slices, and windows have, too; an
image of one is a row.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.window import WindowAxis
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
from legato.passes.cpu.sized_axes import SizedAxis

MOST_TAPS = 11          # of a window's row, which are written out
MOST_TILES = 16         # of a row, which are written out: in padding wider than this, they would be too many
SHARES = 4              # of a row for each thread, at most
LEAST_TILES = 4         # of a share
WORTH_IT = 1 << 18      # multiply-adds from which on several threads pay


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
class Positions:
    """Neighbouring positions of a row of the result. ``repeats``: how many such tiles follow each other; ``clipped``: whether branches
    leave out the columns beside the image. All windows of other repeated tiles lie inside of it."""

    start: int
    positions: int
    repeats: int = 1
    clipped: bool = False


def tiles_of(axis: WindowAxis, most_positions: int, clips: bool = True) -> list[Positions]:
    """The tiles of a row, from left to right. ``clips``: whether neighbouring ones that reach out of the image may be clipped ones."""
    return list(_tiles(axis, -(-axis.count // -(-axis.count // most_positions)), clips))


def count_of(tiles: Sequence[Positions]) -> int:
    """The number of tiles of a row."""
    return sum(tile.repeats for tile in tiles)


def shares_of(tiles: Sequence[Positions], rows: int, threads: int) -> int:
    """The parts of an only row's tiles, of which threads have as many each; 1 where there are rows to share, or few tiles."""
    each = min(SHARES, count_of(tiles) // (LEAST_TILES * threads))
    return threads * each if threads > 1 and rows == 1 and each else 1


def _tiles(axis: WindowAxis, size: int, clips: bool) -> Iterator[Positions]:
    first, last = axis.inside()
    start = 0
    while start < axis.count:
        positions = min(size, axis.count - start)
        inside = max(0, last - start) // positions if start >= first and positions == size else 0
        end = axis.count if start >= first else min(first + size - 1, axis.count)    # of those that reach out at this side
        outside = max(1, (end - start) // size) if clips and positions == size and not inside else 1
        yield Positions(start, positions, inside or outside, outside > 1)
        start += positions * (inside or outside)


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
    position in it."""

    taps: tuple[Size, ...]
    places: tuple[Size, ...]


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
        self.machine, self.tiles, self.buffers, self.units, self.pieces = machine, tiles, buffers, units, pieces
        self.vectors = Vectors(machine.lanes(32))
        self.across: list[WindowAxis] | list[SizedAxis] = list(form.axes[:-1])
        self.columns = form.axes[-1]
        self.width: Size = self.columns.size      # of the image
        self.rows = prod(axis.count for axis in self.across)    # of an image
        self.chunk = min(chunk or self.rows, self.rows)
        self.shares = 1    # of the tiles of a row
        self.terms = form.terms
        self.source, self.out = buffers.of(form.source), buffers.of(out)

    def build(self, macs: int) -> None:
        """Builds all loops. ``macs``: multiply-adds for an element of a window in one position, for all features."""
        units, images = self.units, self.source.type.shape[0]
        work = max(images, 1) * macs * prod(axis.count * axis.taps for axis in (*self.across, self.columns))
        if self.machine.threads == 1 or work < WORTH_IT:
            each = in_order
        else:
            each = in_parallel
            self.shares = shares_of(self.tiles, self.rows, self.machine.threads) if units == self.pieces == 1 else 1
        each(times(images_of(self.source), self.pieces * units * self.rows * self.shares), self._row)

    def _row(self, number: Size) -> None:
        share: Size = 0
        if self.shares > 1:
            number, share = quotient(number, self.shares), remainder(number, self.shares)
        rows = self.units * self.rows
        image = value_of(quotient(number, self.pieces * rows))
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
        rows: Size = self.rows
        if self.chunk < self.rows:
            chunk = quotient(number, self.units * self.chunk)
            first, number = times(chunk, self.chunk), remainder(number, self.units * self.chunk)
            rows = self.chunk if self.rows % self.chunk == 0 else least(minus(self.rows, first), self.chunk)
        return quotient(number, rows), plus(first, remainder(number, rows))

    @abstractmethod
    def build_row(self, row: WindowRow) -> None:
        """Builds one row of the result."""

    def each_tile(self, row: WindowRow, body: Callable[[Positions, Size], None]) -> None:
        """Builds ``body(tile, start)`` for the tiles of a row, or of its share."""
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

    def source_at(self, line: WindowLine, start: Size, column: int, channel: Size) -> list[Size]:
        """The place of an element of the image; ``column``: from the first window's begin on, of a tile that starts at ``start``."""
        return [*line.places, self._column_at(start, column), channel]

    def _column_at(self, start: Size, column: int) -> Size:
        return plus(minus(times(start, self.columns.stride), self.columns.begin), column)

    def add_columns(self, tile: Positions, start: Size, sums: Sequence[ir.Value],
                    add: Callable[[int, list[tuple[int, int]], list[ir.Value]], None]) -> list[ir.Value]:
        """The sums of a tile that starts at ``start``, as many for each position, position by position, with those of each column of the
        image added. ``add(column, uses, sums)`` changes those of its ``uses``, positions and taps."""
        found, each = list(sums), len(sums) // tile.positions
        for column, uses in self.columns_of(tile).items():
            if not tile.clipped:
                add(column, uses, found)
                continue
            changed = [position * each + number for position, _ in uses for number in range(each)]
            place = self._column_at(start, column)
            inside = arith.cmpi(arith.CmpIPredicate.ult, value_of(place), value_of(self.width))    # and not negative
            made = scf.IfOp(inside, [found[at].type for at in changed], has_else=True)
            with ir.InsertionPoint(made.else_block):
                scf.YieldOp([found[at] for at in changed])
            with ir.InsertionPoint(made.then_block):
                add(column, uses, found)
                scf.YieldOp([found[at] for at in changed])
            for at, result in zip(changed, made.results, strict=True):
                found[at] = result
        return found

    def columns_of(self, tile: Positions) -> dict[int, list[tuple[int, int]]]:
        """The columns of the image that a tile reads, from its first window's on, each with its positions and taps; of a clipped one, the
        columns beside the image too. Where the image's width is not known, all columns of another one lie inside."""
        axis = self.columns
        begin = tile.start * axis.stride - axis.begin
        found: dict[int, list[tuple[int, int]]] = {}
        for position in range(tile.positions):
            for tap in range(axis.taps):
                column = position * axis.stride + tap * axis.dilation
                if tile.clipped or axis.size < 0 or 0 <= begin + column < axis.size:
                    found.setdefault(column, []).append((position, tap))
        return dict(sorted(found.items()))


def in_order(count: Size, step: Callable[[ir.Value], None]) -> None:
    """A loop of one thread."""
    loop(0, count, 1, step)
