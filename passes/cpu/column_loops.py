"""Loops over the columns of channels-first images, for convolutions: parts of the result, and tiles of sums in registers."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod

from legato.analysis.structured.column_convolution import ColumnConvolutionForm
from legato.analysis.structured.elements import Term
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    if_else,
    in_parts,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    times,
    value_of,
)
from legato.passes.cpu.column_tiles import ColumnTile, counts_of_part, rows_read
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.kept_rows import KeptRows
from legato.passes.cpu.window_loops import WORTH_IT

COPIED = 8              # vectors that are copied at once


class ColumnLoops:
    """Builds the loops of one kernel at the insertion point. A place in a row's loops is counted from the first position of the part of the
    result that is computed."""

    def __init__(self, form: ColumnConvolutionForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.machine, self.buffers = form, machine, buffers
        self.vectors = Vectors(machine.lanes(32))
        *self.across, self.columns = form.axes
        self.source, self.filter = buffers.of(form.source), buffers.of(form.filter)
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])
        self.groups = form.groups
        work = max(1, self.source.type.shape[0]) * form.features * form.channels * prod(axis.count * axis.taps for axis in form.axes)
        self.threads = machine.threads if work >= WORTH_IT else 1
        self.in_place = self.columns.stride == 1 and self.columns.count >= self.vectors.lanes and all(map(is_inside, form.axes))
        self.counts = counts_of_part(form, machine, self.threads)
        self.tile = ColumnTile.of(form.features // self.groups, form.axes, self.counts[-1] if self.across else 1, machine.registers,
                                  self.vectors.lanes)
        self.rows = None if self.in_place else KeptRows(
            self.vectors, self.columns, self.vectors.splat(0), self.threads, form.channels, *rows_read(self.across, self.counts))

    def build(self) -> None:
        """Builds all loops."""
        images = self.source.type.shape[0]
        count = images if images >= 0 else memref.DimOp(self.source, value_of(0)).result
        parts = -(-self.across[0].count // self.counts[0]) if self.across else 1

        def build_part(number: ir.Value, thread: Size) -> None:
            part, plane = remainder(number, parts), quotient(number, parts)
            group, image = remainder(plane, self.groups), quotient(plane, self.groups)
            first: list[Size] = [0] * len(self.across)
            if self.across:
                first[0] = least(times(part, self.counts[0]), self.across[0].count - self.counts[0])
            ColumnPart(self, image, group, first, thread).build()

        in_parts(times(count, self.groups * parts), self.threads, build_part, None if self.rows is None else self.rows.empty)


class ColumnPart:
    """Builds the loops of one part of the result: of an image, of one feature or all, from the positions ``first`` on."""

    def __init__(self, loops: ColumnLoops, image: Size, group: Size, first: Sequence[Size], thread: Size):
        self.loops, self.image, self.group, self.first, self.thread = loops, image, group, first, thread
        self.form, self.tile, self.vectors = loops.form, loops.tile, loops.vectors
        self.across, self.columns = loops.across, loops.columns

    def build(self) -> None:
        """Keeps the rows, and computes what is made of them."""
        if self.loops.rows is not None:
            self._keep(self.loops.rows)
        features = self.form.features // self.loops.groups
        loop(0, features, self.tile.features, lambda feature: self._positions([], least(feature, features - self.tile.features)))

    # --- the rows of the image ---

    def _keep(self, rows: KeptRows) -> None:
        channels = self.form.channels
        begins = [minus(times(first, axis.stride), axis.begin) for axis, first in zip(self.across, self.first)]
        extents = rows_read(self.across, self.loops.counts)

        def of_channel(channel: ir.Value) -> None:
            self._keep_rows(rows, channel, begins, extents, [], None)

        loop(0, channels, 1, of_channel)

    def _keep_rows(self, rows: KeptRows, channel: Size, begins: Sequence[Size], extents: Sequence[int], places: list[Size],
                   inside: ir.Value | None) -> None:
        """Keeps the rows at ``places``, counted from ``begins``. ``inside``: whether they lie inside of the image, where they may not."""
        if len(places) == len(extents):
            own = self.image, plus(self.group, channel), *(plus(begin, place) for begin, place in zip(begins, places))
            kept = self.thread, channel, *places
            if inside is None:
                self._copy(rows, own, kept)
            else:
                if_else(inside, partial(self._copy, rows, own, kept), partial(self._copy, rows, None, kept))
            return
        axis = self.across[len(places)]

        def of_row(place: ir.Value) -> None:
            known = inside
            if not is_inside(axis):
                at = plus(begins[len(places)], place)
                own = arith.cmpi(arith.CmpIPredicate.ult, value_of(at), value_of(axis.size))     # and not negative
                known = own if known is None else arith.andi(known, own)
            self._keep_rows(rows, channel, begins, extents, [*places, place], known)

        loop(0, extents[len(places)], 1, of_row)

    def _copy(self, rows: KeptRows, own: Sequence[Size] | None, kept: Sequence[Size]) -> None:
        """Copies a row of the image; None: zeros, of a row outside."""
        v, size, lanes = self.vectors, self.columns.size, self.vectors.lanes

        def columns(start: Size, count: int) -> None:
            parts = [min(lanes, count - first) for first in range(0, count, lanes)]
            values = [rows.border if own is None else
                      v.load_if(None if part == lanes else v.mask(part), self.loops.source, *own, plus(start, number * lanes))
                      for number, part in enumerate(parts)]
            rows.keep(kept, values, start)

        step = max(1, COPIED // self.columns.stride) * rows.group
        whole = size - size % step
        if whole:
            loop(0, whole, step, lambda start: columns(start, step))
        if whole < size:
            columns(whole, size - whole)

    # --- the positions of the result ---

    def _positions(self, places: list[Size], feature: Size) -> None:
        """The loops over positions, those of the last dimension across the rows by tiles."""
        if len(places) + 1 < len(self.across):
            loop(0, self.loops.counts[len(places)], 1, lambda place: self._positions([*places, place], feature))
        elif self.across:
            count = self.loops.counts[-1]
            loop(0, count, self.tile.rows, lambda row: self._row([*places, least(row, count - self.tile.rows)], feature))
        else:
            self._row([], feature)

    def _row(self, places: list[Size], feature: Size) -> None:
        """The loop over columns, by tiles of vectors. The last one begins where it ends at the row's end."""
        count, lanes = self.columns.count, self.vectors.lanes
        if count < lanes:
            self._tile(places, feature, [0], count)
            return
        step = self.tile.vectors * lanes

        def full(at: Size) -> None:
            self._tile(places, feature, [plus(at, lane) for lane in range(0, step, lanes)], None)

        if count >= step and -(-count // lanes) % self.tile.vectors == 0:
            loop(0, count, step, lambda at: full(least(at, count - step)))
            return
        whole = count - count % step
        if whole:
            loop(0, whole, step, full)
        self._tile(places, feature, [min(at, count - lanes) for at in range(whole, count, lanes)], None)

    def _tile(self, places: list[Size], feature: Size, columns: Sequence[Size], count: int | None) -> None:
        """The sums of a tile, whose first row is at ``places``. ``count``: the columns that exist, where there are too few for a vector."""
        tile, v = self.tile, self.vectors
        sums = [v.splat(0)] * (tile.features * tile.rows * len(columns))

        def of_channel(channel: ir.Value, *sums: ir.Value) -> Sequence[ir.Value]:
            return self._over_taps([channel], sums, lambda taps, sums: self._add(taps, places, feature, columns, sums))

        sums = loop(0, self.form.channels, 1, of_channel, sums)
        for (own, row, number), value in zip(self._sums(len(columns)), sums, strict=True):
            at = [*places[:-1], plus(places[-1], row)] if places else []
            spatial = [plus(first, place) for first, place in zip(self.first, at)]
            self._write(value, [self.image, plus(plus(self.group, feature), own), *spatial, columns[number]], count)

    def _sums(self, vectors: int) -> Iterator[tuple[int, int, int]]:
        """The feature, row and vector of each sum, in order."""
        for feature in range(self.tile.features):
            for row in range(self.tile.rows):
                for number in range(vectors):
                    yield feature, row, number

    def _over_taps(self, taps: list[Size], sums: Sequence[ir.Value],
                   body: Callable[[list[Size], Sequence[ir.Value]], Sequence[ir.Value]]) -> Sequence[ir.Value]:
        """The loops over the rows of a window that are not written out. ``taps``: the channel, and those of the loops around."""
        if len(taps) == len(self.across) + (0 if self.tile.unrolled and self.across else 1):
            return body(taps, sums)
        axis = self.across[len(taps) - 1]
        return loop(0, axis.taps, 1, lambda tap, *sums: self._over_taps([*taps, tap], sums, body), sums)

    def _add(self, taps: list[Size], places: list[Size], feature: Size, columns: Sequence[Size],
             sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of the rows of a window that are written out, or of one row."""
        tile, found = self.tile, list(sums)
        channel, *known = taps
        rows: dict[int, list[tuple[int, Size]]] = {}    # of the image, from that of the first tap on: the rows and taps that they serve
        if self.across and tile.unrolled:
            last = self.across[-1]
            for row in range(tile.rows):
                for tap in range(last.taps):
                    rows.setdefault(row * last.stride + tap * last.dilation, []).append((row, tap))
        else:
            rows[0] = [(0, known[-1] if self.across else 0)]
        for tap in range(self.columns.taps):
            factors: dict[tuple[int, Size], ir.Value] = {}
            for offset, uses in sorted(rows.items()):
                own = [plus(times(place, axis.stride), times(one, axis.dilation)) for axis, place, one in zip(self.across, places, known)]
                if self.across and tile.unrolled:
                    own.append(plus(times(places[-1], self.across[-1].stride), offset))
                values = [self._columns(channel, own, tap, at) for at in columns]
                for own_feature in range(tile.features):
                    for row, row_tap in uses:
                        key = own_feature, row_tap
                        if key not in factors:
                            across = [*known, row_tap] if self.across and tile.unrolled else known
                            factors[key] = self._factor(plus(plus(self.group, feature), own_feature), channel, [*across, tap])
                        first = (own_feature * tile.rows + row) * len(columns)
                        for number, value in enumerate(values):
                            found[first + number] = vector.FMAOp(value, factors[key], found[first + number]).result
        return found

    def _columns(self, channel: Size, row: Sequence[Size], tap: int, at: Size) -> ir.Value:
        """What neighbouring windows, the first at column ``at``, have at a tap. ``row``: its place, from the first row of the part on."""
        if self.loops.rows is not None:
            return self.loops.rows.load([self.thread, channel, *row], tap, at)
        own = [plus(times(first, axis.stride), place) for axis, first, place in zip(self.across, self.first, row)]
        return self.vectors.load(self.loops.source, self.image, plus(self.group, channel), *own, plus(at, tap * self.columns.dilation))

    def _factor(self, feature: Size, channel: Size, taps: Sequence[Size]) -> ir.Value:
        """A vector of an element of the filter."""
        terms: list[Size] = [feature, channel, *taps]
        return self.vectors.spread(read(self.loops.filter, *(terms[term] for term in self.form.filter_terms)))

    def _write(self, value: ir.Value, at: Sequence[Size], count: int | None) -> None:
        """Writes a vector of the result, through the elementwise ops after the convolution."""
        form, v = self.form, self.vectors
        here: dict[Term, Size] = dict(zip(form.terms, at, strict=True))
        elements = Elements(form.kernel, self.loops.buffers, v, here, "w", count, {form.result: value})
        v.store_if(None if count is None else v.mask(count), elements.tensor(form.returned, form.terms), self.loops.out, *at)


def is_inside(axis: WindowAxis) -> bool:
    """Whether no window reaches out of the image."""
    return axis.inside() == (0, axis.count)
