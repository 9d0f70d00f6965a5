"""The loops over a part of a pool of channels-first images: rows of a plane, whose columns are combined then. How: ``plane_pools``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from legato.analysis.structured.elements import Term
from legato.core.halves import is_half
from legato.core.mlir import arith, ir
from legato.core.vector_loops import (
    Size,
    below,
    if_else,
    least,
    loop,
    minus,
    most,
    plus,
    remainder,
    times,
    value_of,
    when,
)
from legato.passes.cpu.elements import Elements
from legato.passes.cpu.far_windows import far_windows
from legato.passes.cpu.sized_axes import SizedAxis
from legato.passes.cpu.window_loops import WindowSpan, span_of

if TYPE_CHECKING:
    from legato.passes.cpu.plane_pools import PoolLoops

MOST_TAPS = 32          # of a window's row, which are written out
STEP = 8                # of more
MOST_ROWS = 9           # of a window that are written out, where all of them lie inside of the image
VECTORS = 8             # of columns that are combined at once


class PoolPart:
    """Builds the loops of one part of the result: of one channel of an image, from position ``first`` of the first dimension on."""

    def __init__(self, loops: PoolLoops, plane: list[Size], first: Size, thread: Size):
        self.loops, self.plane, self.first, self.thread = loops, plane, first, thread
        self.form, self.vectors, self.combine = loops.form, loops.vectors, loops.combine
        self.across, self.columns, self.rows = loops.across, loops.columns, loops.rows
        self.counts = list(loops.counts)
        if self.across and not isinstance(self.across[0].count, int):
            self.counts[0] = least(self.counts[0], minus(self.across[0].count, first))

    def build(self) -> None:
        """Combines the rows, and then the columns of what they are combined to."""
        self._combine_rows([], [])
        self._over_rows([])

    # --- the rows of the windows ---

    def _combine_rows(self, places: list[Size], spans: list[WindowSpan]) -> None:
        """The loops over positions across the rows. Those whose windows lie inside of the image have a loop of their own, without branches,
        along the last dimension."""
        number = len(places)
        if not self.across:
            self._keep([], [], True)
            return
        axis, count, first = self.across[number], self.counts[number], self.first if number == 0 else 0

        def at(place: Size, is_inside: bool) -> None:
            here, there = [*places, place], [*spans, span_of(axis, plus(first, place))]
            if number + 1 < len(self.across):
                self._combine_rows(here, there)
            else:
                self._keep(here, there, is_inside)

        if number + 1 < len(self.across) or prod(axis.taps for axis in self.across) > MOST_ROWS:
            loop(0, count, 1, lambda place: at(place, False))
            return
        if inside(axis) == (0, axis.count):
            loop(0, count, 1, lambda place: at(place, True))
            return
        low, high = (least(most(minus(end, first), 0), count) for end in inside(axis))
        if low is not high:
            loop(low, high, 1, lambda place: at(place, True))
        if (low, high) != (0, count):
            skipped = minus(high, low)
            loop(0, minus(count, skipped), 1, lambda place: at(
                arith.select(below(place, low), place, value_of(plus(place, skipped))), False))

    def _keep(self, places: list[Size], spans: list[WindowSpan], is_inside: bool) -> None:
        """Combines the rows of a row of windows into the one that is kept. ``is_inside``: whether those along the last dimension are."""
        outer = [(axis, span) for axis, span in zip(self.across[:-1], spans) if inside(axis) != (0, axis.count)]
        if is_inside and outer:
            axes, own = zip(*outer)
            if_else(all_inside(axes, own), lambda: self._keep_row(places, spans, True), lambda: self._keep_row(places, spans, False))
        else:
            self._keep_row(places, spans, is_inside)

    def _keep_row(self, places: list[Size], spans: list[WindowSpan], written_out: bool) -> None:
        size, lanes, group = self.columns.size, self.vectors.lanes, self.rows.group
        step = max(1, VECTORS // self.rows.apart) * group
        whole = minus(size, remainder(size, step))

        def keep(start: Size, counts: Sequence[Size]) -> None:
            def row(at: Sequence[Size]) -> list[ir.Value]:
                return [self._load(count, *self.plane, *at, plus(start, number * lanes)) for number, count in enumerate(counts)]

            values = self._written_out(spans, row) if written_out else self._over_taps(
                spans, [], [self.loops.border] * len(counts), lambda at, values: [*map(self.combine, row(at), values)])
            self.rows.keep([self.thread, *places], values, start)

        if whole != 0:
            loop(0, whole, step, lambda start: keep(start, [lanes] * (step // lanes)))
        if not isinstance(size, int):
            loop(whole, size, group, lambda start: keep(start, [minus(minus(size, start), begin) for begin in range(0, group, lanes)]))
        elif size % step:
            left = size % step
            keep(whole, [min(lanes, left - begin) for begin in range(0, left, lanes)])

    def _written_out(self, spans: list[WindowSpan], row: Callable[[Sequence[Size]], list[ir.Value]]) -> list[ir.Value]:
        """The rows of a window inside of the image, combined."""
        places: list[tuple[Size, ...]] = [()]
        for axis, span in zip(self.across, spans):
            places = [(*one, minus(plus(span.top, tap * axis.dilation), axis.begin)) for one in places for tap in range(axis.taps)]
        values = row(places[0])
        for one in places[1:]:
            values = [*map(self.combine, row(one), values)]
        return values

    def _over_taps(self, spans: list[WindowSpan], places: list[Size], values: Sequence[ir.Value],
                   body: Callable[[list[Size], Sequence[ir.Value]], Sequence[ir.Value]]) -> Sequence[ir.Value]:
        """The loops over the rows of a window that lie inside of the image."""
        if len(places) == len(spans):
            return body(places, values)
        axis, span = self.across[len(places)], spans[len(places)]

        def one(tap: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
            place = minus(plus(span.top, times(tap, axis.dilation)), axis.begin)
            return self._over_taps(spans, [*places, place], carried, body)

        return loop(value_of(span.taps[0]), value_of(span.taps[1]), 1, one, values)

    def _load(self, count: Size, *at: Size) -> ir.Value:
        """Neighbouring elements, of which ``count`` exist, as those that are combined."""
        v, source, border = self.vectors, self.loops.source, self.loops.border
        if isinstance(count, int) and count == v.lanes:
            return widened(v.load(source, *at))
        if self.loops.has_masks or not isinstance(count, int):
            mask = v.mask(count)
            return arith.select(mask, widened(v.load_if(mask, source, *at)), border)
        return widened(v.load_first(count, v.constant(self.form.neutral, source.type.element_type), source, *at))

    # --- the columns of the windows ---

    def _over_rows(self, places: list[Size]) -> None:
        """The loops over the rows that are kept, and over their columns. The last vector of a row of known size begins where it ends at the
        row's end."""
        if len(places) < len(self.across):
            loop(0, self.counts[len(places)], 1, lambda place: self._over_rows([*places, place]))
            return
        count, lanes = self.columns.count, self.vectors.lanes
        if not isinstance(count, int):
            left = remainder(count, lanes)
            whole = minus(count, left)
            loop(0, whole, lanes, lambda at: self._write(places, at, None))
            when(below(whole, count), lambda: self._write(places, whole, left))
            return
        if count < lanes:
            self._write(places, 0, count)
            return
        whole = count - count % lanes
        if whole <= VECTORS // 2 * lanes:
            for at in range(0, whole, lanes):
                self._write(places, at, None)
        else:
            loop(0, whole, lanes, lambda at: self._write(places, at, None))
        if whole < count:
            self._write(places, count - lanes, None)

    def _write(self, places: list[Size], at: Size, count: Size | None) -> None:
        """Combines the columns of neighbouring windows, and writes what the elementwise ops make of that."""
        v, form, out = self.vectors, self.form, self.loops.out
        row = [self.thread, *places]
        if self.loops.steps_far:
            windows = range(min(v.lanes, self.columns.count) if isinstance(self.columns.count, int) else v.lanes)
            last = minus(count, 1) if isinstance(count, ir.Value) else v.lanes
            value = far_windows(self.rows, row, [plus(at, least(number, last)) for number in windows], self.combine)
        else:
            value = self._near_windows(row, at)
        own = form.result.type.element_type
        value = value if own == self.loops.element else arith.truncf(v.of(own), value)
        across = [plus(self.first, places[0]), *places[1:]] if places else []
        here: dict[Term, Size] = dict(zip(form.terms, [*self.plane, *across, at], strict=True))
        result = Elements(form.kernel, self.loops.buffers, v, here, "w", count, {form.result: value}).tensor(form.returned, form.terms)
        if isinstance(count, int) and not self.loops.has_masks:
            v.store_first(count, result, out, *here.values())
        else:
            v.store_if(None if count is None else v.mask(count), result, out, *here.values())

    def _near_windows(self, row: Sequence[Size], at: Size) -> ir.Value:
        """What neighbouring windows are combined to, tap by tap; many taps by a loop over parts of them."""
        taps, step = self.columns.taps, self.columns.taps if self.columns.taps <= MOST_TAPS else STEP

        def combine(first: Size, count: int, value: ir.Value) -> ir.Value:
            for tap in range(count):
                value = self.combine(self.rows.load(row, plus(first, tap), at), value)
            return value

        value, rest = self.rows.load(row, 0, at), (taps - 1) % step
        value = combine(1, rest, value)
        if rest + 1 == taps:
            return value
        return loop(1 + rest, taps, step, lambda tap, value: [combine(tap, step, value)], [value])[0]


def inside(axis: SizedAxis) -> tuple[Size, Size]:
    """The range [first, end) of positions whose windows lie inside of the image: all, where it has no padding."""
    return (0, axis.count) if not isinstance(axis.count, int) and axis.begin == axis.end == 0 else axis.inside()


def all_inside(axes: Sequence[SizedAxis], spans: Sequence[WindowSpan]) -> ir.Value:
    """Whether all rows of a window lie inside of the image."""
    tests = []
    for axis, span in zip(axes, spans):
        first = arith.cmpi(arith.CmpIPredicate.eq, value_of(span.taps[0]), value_of(0))
        tests += [first, arith.cmpi(arith.CmpIPredicate.eq, value_of(span.taps[1]), value_of(axis.taps))]
    result = tests[0]
    for test in tests[1:]:
        result = arith.andi(result, test)
    return result


def combined(name: str, element: ir.Value, so_far: ir.Value) -> ir.Value:
    """What a pool makes of an element and those before it."""
    return ir.Operation.create(name, [so_far.type], [element, so_far]).results[0]


def widened(value: ir.Value) -> ir.Value:
    """A vector of halves as f32; another one as it is."""
    return arith.extf(ir.VectorType.get(value.type.shape, ir.F32Type.get()), value) if is_half(value.type) else value
