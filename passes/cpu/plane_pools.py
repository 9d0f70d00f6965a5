"""tir-plane-pools: maximum and average pools of channels-first images, as loops over rows of the result, with vectors along a row.

The rows of the image that a row of windows takes are combined first, column by column, into one row in the first-level cache, with a
border of what changes nothing; then its columns, window by window. With a stride of s, that row is kept as s rows, of which each has every
s-th column: what neighbouring windows take from it are neighbours. Rows above and below the image are left out by the bounds of the loops
over the window's rows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from legato.analysis.structured.elements import Term
from legato.analysis.structured.pool import PoolForm
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    Vectors,
    if_else,
    in_parts,
    loop,
    minus,
    plus,
    quotient,
    remainder,
    times,
    value_of,
)
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.kept_rows import KeptRows
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.window_loops import WORTH_IT, WindowSpan, span_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

MOST_ROWS = 9           # of a window that are written out, where all of them lie inside of the image
VECTORS = 8             # of columns that are combined at once


@dataclass(frozen=True)
class PlanePools(ModulePass):
    """Turns pools of channels-first images of floats, of known sizes, into loops on vectors of columns."""

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
        self.vectors = Vectors(machine.lanes(32))
        *self.across, self.columns = form.axes
        self.source, self.out = buffers.of(form.source), buffers.of(list(form.kernel.function.arguments)[-1])
        self.combine = partial(combined, form.combiner)
        work = max(1, self.source.type.shape[0]) * form.channels * prod(axis.count * axis.taps for axis in form.axes)
        self.threads = machine.threads if work >= WORTH_IT else 1
        self.rows = KeptRows(self.vectors, self.columns, self.vectors.splat(form.neutral), self.threads)

    def build(self) -> None:
        """Builds all loops."""
        self.rows.empty()
        rows = prod(axis.count for axis in self.across)
        images = self.source.type.shape[0]
        count = images if images >= 0 else memref.DimOp(self.source, value_of(0)).result
        in_parts(times(count, self.form.channels * rows), self.threads, partial(self._row, rows))

    def _row(self, rows: int, number: ir.Value, thread: Size) -> None:
        plane, at = quotient(number, rows), remainder(number, rows)
        image, channel = quotient(plane, self.form.channels), remainder(plane, self.form.channels)
        places: list[Size] = []
        for axis in reversed(self.across):
            places.insert(0, remainder(at, axis.count))
            at = quotient(at, axis.count)
        self._keep([image, channel], [span_of(axis, place) for axis, place in zip(self.across, places)], thread)
        self._write_row(dict(zip(self.form.terms, [image, channel, *places])), thread)

    # --- the rows of the windows ---

    def _keep(self, plane: list[Size], spans: list[WindowSpan], thread: Size) -> None:
        """Combines the rows of a row of windows into those that are kept."""
        size = self.columns.size
        step = max(1, VECTORS // self.columns.stride) * self.rows.group
        whole = size - size % step
        if whole:
            loop(0, whole, step, lambda start: self._keep_columns(plane, spans, thread, start, step))
        if whole < size:
            self._keep_columns(plane, spans, thread, whole, size - whole)

    def _keep_columns(self, plane: list[Size], spans: list[WindowSpan], thread: Size, start: Size, columns: int) -> None:
        """The same for some neighbouring columns."""
        lanes = self.vectors.lanes
        counts = [min(lanes, columns - first) for first in range(0, columns, lanes)]

        def row(places: Sequence[Size]) -> list[ir.Value]:
            return [self._load(count, *plane, *places, plus(start, number * lanes)) for number, count in enumerate(counts)]

        def keep(vectors: Sequence[ir.Value]) -> None:
            self.rows.keep([thread], vectors, start)

        border = self.vectors.splat(self.form.neutral)

        def looped() -> None:
            keep(self._over_taps(spans, [], [border] * len(counts), lambda places, sums: [*map(self.combine, row(places), sums)]))

        def written_out() -> None:
            places = [()]
            for axis, span in zip(self.across, spans):
                places = [(*one, minus(plus(span.top, tap * axis.dilation), axis.begin)) for one in places for tap in range(axis.taps)]
            sums = row(places[0])
            for one in places[1:]:
                sums = [*map(self.combine, row(one), sums)]
            keep(sums)

        if prod(axis.taps for axis in self.across) > MOST_ROWS:
            looped()
        elif all(axis.inside() == (0, axis.count) for axis in self.across):
            written_out()
        else:
            if_else(all_inside(self.across, spans), written_out, looped)

    def _over_taps(self, spans: list[WindowSpan], places: list[Size], sums: Sequence[ir.Value],
                   body: Callable[[list[Size], Sequence[ir.Value]], Sequence[ir.Value]]) -> Sequence[ir.Value]:
        """The loops over the rows of a window that lie inside of the image."""
        if len(places) == len(spans):
            return body(places, sums)
        axis, span = self.across[len(places)], spans[len(places)]

        def one(tap: ir.Value, *carried: ir.Value) -> Sequence[ir.Value]:
            place = minus(plus(span.top, times(tap, axis.dilation)), axis.begin)
            return self._over_taps(spans, [*places, place], carried, body)

        return loop(value_of(span.taps[0]), value_of(span.taps[1]), 1, one, sums)

    def _load(self, count: int, *at: Size) -> ir.Value:
        """Neighbouring elements, of which ``count`` exist, as f32."""
        v = self.vectors
        if count == v.lanes:
            return widened(v.load(self.source, *at))
        mask = v.mask(count)
        return arith.select(mask, widened(v.load_if(mask, self.source, *at)), v.splat(self.form.neutral))

    # --- the columns of the windows ---

    def _write_row(self, places: dict[Term, Size], thread: Size) -> None:
        """Combines the columns of each window, and writes what the elementwise ops make of that."""
        count, lanes = self.columns.count, self.vectors.lanes
        whole = count - count % lanes
        if whole:
            loop(0, whole, lanes, lambda at: self._write(places, thread, at, None))
        if whole < count:
            self._write(places, thread, whole, count - whole)

    def _write(self, places: dict[Term, Size], thread: Size, at: Size, count: int | None) -> None:
        v = self.vectors
        columns = [self.rows.load([thread], tap, at) for tap in range(self.columns.taps)]
        value = columns[0]
        for column in columns[1:]:
            value = self.combine(column, value)
        own = self.form.result.type.element_type
        value = value if own == v.f32 else arith.truncf(v.of(own), value)
        here: dict[Term, Size] = {**places, "w": at}
        result = Elements(self.form.kernel, self.buffers, v, here, "w", count, {self.form.result: value}).tensor(
            self.form.returned, self.form.terms)
        v.store_if(None if count is None else v.mask(count), result, self.out, *(here[term] for term in self.form.terms))


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
    return arith.maximumf(element, so_far) if name == "arith.maximumf" else arith.addf(element, so_far)


def widened(value: ir.Value) -> ir.Value:
    """A vector of floats as f32."""
    f32 = ir.F32Type.get()
    return value if value.type.element_type == f32 else arith.extf(ir.VectorType.get(value.type.shape, f32), value)
