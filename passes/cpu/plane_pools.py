"""tir-plane-pools: maximum and average pools of channels-first images, as loops over rows of the result, with vectors along a row.

For a part of a channel, the rows of the image that a row of windows takes are combined first, column by column, into one row in the
first-level cache, with a border of what changes nothing (``kept_rows``); then its columns, tap by tap for neighbouring windows, or where
these are far apart window by window (``far_windows``). Rows above and below the image are left out: rows of windows that lie inside have a
loop of their own, of others the bounds of loops over the window's rows are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from legato.analysis.structured.elements import Term
from legato.analysis.structured.pool import PoolForm, steps_far
from legato.analysis.structured.window import WindowAxis
from legato.core.halves import is_half
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    if_else,
    in_parts,
    least,
    loop,
    minus,
    most,
    plus,
    quotient,
    remainder,
    times,
    value_of,
)
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.column_tiles import PARTS, evenly
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.far_windows import far_windows
from legato.passes.cpu.kept_rows import KeptRows
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.window_loops import WORTH_IT, WindowSpan, span_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

MOST_TAPS = 32          # of a window's row, which are written out
STEP = 8                # of more
MOST_ROWS = 9           # of a window that are written out, where all of them lie inside of the image
VECTORS = 8             # of columns that are combined at once
LEAST_LANES = 8


@dataclass(frozen=True)
class PlanePools(ModulePass):
    """Turns pools of channels-first images, of known sizes, into loops on vectors of columns: maxima, and sums of floats."""

    name: ClassVar[str] = "tir-plane-pools"
    rounding: ClassVar[Rounding] = Rounding(ulps=4)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form = PoolForm.of(context.kernels.of(kernel))
                if form is not None:
                    tensors = [form.source, *(value for value, _ in form.reads)]
                    into_loops(kernel, form.heart.op.location, tensors, partial(build_loops, form, machine))
                    context.kernels.drop(kernel)


def build_loops(form: PoolForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    PoolLoops(form, machine, buffers).build()


class PoolLoops:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: PoolForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.machine, self.buffers = form, machine, buffers
        *self.across, self.columns = form.axes
        self.source, self.out = buffers.of(form.source), buffers.of(list(form.kernel.function.arguments)[-1])
        own = form.result.type.element_type
        self.element = own if isinstance(own, ir.IntegerType) else ir.F32Type.get()    # in which elements are combined
        bits = self.element.width
        self.steps_far = steps_far(self.columns, own)
        width = max(LEAST_LANES, self.columns.count, self.columns.taps if self.steps_far else 0)
        self.vectors = Vectors(min(machine.lanes(bits), 1 << (width - 1).bit_length()))
        self.has_masks = own == ir.F32Type.get() or machine.has("avx512bw")
        self.combine = partial(combined, form.combiner)
        work = max(1, self.source.type.shape[0]) * form.channels * prod(axis.count * axis.taps for axis in form.axes)
        self.threads = machine.threads if work >= WORTH_IT else 1
        self.counts = self._counts(bits // 8)
        self.border = self.vectors.constant(form.neutral, self.element)
        self.rows = KeptRows(self.vectors, self.columns, self.border, self.threads, *self.counts, whole=self.steps_far)

    def _counts(self, size: int) -> list[int]:
        """The positions, by the dimensions across rows, whose rows are kept: as many of the first as fit into half of the first cache."""
        if not self.across:
            return []
        inner = [axis.count for axis in self.across[1:]]
        width = (self.columns.count + self.columns.taps) * self.columns.stride + 2 * self.vectors.lanes
        most, count = max(1, self.machine.l1_bytes // 2 // (size * prod(inner) * width)), self.across[0].count
        if self.threads > 1:
            most = min(most, -(-count * self.form.channels // (PARTS * self.threads)))
        return [evenly(count, most), *inner]

    def build(self) -> None:
        """Builds all loops."""
        self.rows.empty()
        parts = -(-self.across[0].count // self.counts[0]) if self.across else 1
        images = self.source.type.shape[0]
        count = images if images >= 0 else memref.DimOp(self.source, value_of(0)).result

        def build_part(number: ir.Value, thread: Size) -> None:
            plane = quotient(number, parts)
            first: Size = 0 if parts == 1 else least(times(remainder(number, parts), self.counts[0]), self.across[0].count - self.counts[0])
            image, channel = quotient(plane, self.form.channels), remainder(plane, self.form.channels)
            PoolPart(self, [image, channel], first, thread).build()

        in_parts(times(count, self.form.channels * parts), self.threads, build_part)


class PoolPart:
    """Builds the loops of one part of the result: of one channel of an image, from position ``first`` of the first dimension on."""

    def __init__(self, loops: PoolLoops, plane: list[Size], first: Size, thread: Size):
        self.loops, self.plane, self.first, self.thread = loops, plane, first, thread
        self.form, self.vectors, self.combine = loops.form, loops.vectors, loops.combine
        self.across, self.columns, self.rows = loops.across, loops.columns, loops.rows

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
        axis, count, first = self.across[number], self.loops.counts[number], self.first if number == 0 else 0

        def at(place: Size, is_inside: bool) -> None:
            here, there = [*places, place], [*spans, span_of(axis, plus(first, place))]
            if number + 1 < len(self.across):
                self._combine_rows(here, there)
            else:
                self._keep(here, there, is_inside)

        low, high = (least(most(minus(end, first), 0), count) for end in axis.inside())
        if number + 1 < len(self.across) or prod(axis.taps for axis in self.across) > MOST_ROWS:
            loop(0, count, 1, lambda place: at(place, False))
            return
        if low != high:
            loop(low, high, 1, lambda place: at(place, True))
        if (low, high) != (0, count):
            skipped = minus(high, low)
            loop(0, minus(count, skipped), 1, lambda place: at(
                arith.select(below(place, low), place, value_of(plus(place, skipped))), False))

    def _keep(self, places: list[Size], spans: list[WindowSpan], is_inside: bool) -> None:
        """Combines the rows of a row of windows into the one that is kept. ``is_inside``: whether those along the last dimension are."""
        outer = [(axis, span) for axis, span in zip(self.across[:-1], spans) if axis.inside() != (0, axis.count)]
        if is_inside and outer:
            axes, own = zip(*outer)
            if_else(all_inside(axes, own), lambda: self._keep_row(places, spans, True), lambda: self._keep_row(places, spans, False))
        else:
            self._keep_row(places, spans, is_inside)

    def _keep_row(self, places: list[Size], spans: list[WindowSpan], written_out: bool) -> None:
        size = self.columns.size
        step = max(1, VECTORS // self.rows.apart) * self.rows.group
        whole = size - size % step

        def keep(start: Size, columns: int) -> None:
            lanes = self.vectors.lanes
            counts = [min(lanes, columns - begin) for begin in range(0, columns, lanes)]

            def row(at: Sequence[Size]) -> list[ir.Value]:
                return [self._load(count, *self.plane, *at, plus(start, number * lanes)) for number, count in enumerate(counts)]

            values = self._written_out(spans, row) if written_out else self._over_taps(
                spans, [], [self.loops.border] * len(counts), lambda at, values: [*map(self.combine, row(at), values)])
            self.rows.keep([self.thread, *places], values, start)

        if whole:
            loop(0, whole, step, lambda start: keep(start, step))
        if whole < size:
            keep(whole, size - whole)

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

    def _load(self, count: int, *at: Size) -> ir.Value:
        """Neighbouring elements, of which ``count`` exist, as those that are combined."""
        v, source, border = self.vectors, self.loops.source, self.loops.border
        if count == v.lanes:
            return widened(v.load(source, *at))
        if self.loops.has_masks:
            mask = v.mask(count)
            return arith.select(mask, widened(v.load_if(mask, source, *at)), border)
        return widened(v.load_first(count, v.constant(self.form.neutral, source.type.element_type), source, *at))

    # --- the columns of the windows ---

    def _over_rows(self, places: list[Size]) -> None:
        """The loops over the rows that are kept, and over their columns. The last vector of a row begins where it ends at the row's end."""
        if len(places) < len(self.across):
            loop(0, self.loops.counts[len(places)], 1, lambda place: self._over_rows([*places, place]))
            return
        count, lanes = self.columns.count, self.vectors.lanes
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

    def _write(self, places: list[Size], at: Size, count: int | None) -> None:
        """Combines the columns of neighbouring windows, and writes what the elementwise ops make of that."""
        v, form, out = self.vectors, self.form, self.loops.out
        row = [self.thread, *places]
        if self.loops.steps_far:
            value = far_windows(self.rows, row, at, min(v.lanes, self.columns.count), self.combine)
        else:
            value = self._near_windows(row, at)
        own = form.result.type.element_type
        value = value if own == self.loops.element else arith.truncf(v.of(own), value)
        across = [plus(self.first, places[0]), *places[1:]] if places else []
        here: dict[Term, Size] = dict(zip(form.terms, [*self.plane, *across, at], strict=True))
        result = Elements(form.kernel, self.loops.buffers, v, here, "w", count, {form.result: value}).tensor(form.returned, form.terms)
        if count is not None and not self.loops.has_masks:
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


def all_inside(axes: Sequence[WindowAxis], spans: Sequence[WindowSpan]) -> ir.Value:
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
