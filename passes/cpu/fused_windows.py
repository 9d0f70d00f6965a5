"""Loops of a depthwise convolution over rows that a pointwise one makes, a row of windows at a time.

A row of the pointwise one is computed when windows first reach it, and kept in a ring of as many rows as windows span, by a panel of
features at a time: what windows read was written shortly before. Threads share the rows of the result, where these are many, and panels.
Of images of unknown sizes, a thread's ring is as wide as they are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from legato.analysis.structured.depthwise import DepthwiseForm
from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.window import WindowAxis, are_known
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.core.vector_loops import (
    Size,
    exceeds,
    in_parts,
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
    value_of,
    when,
)
from legato.passes.cpu.depthwise_convolutions import DepthwiseLoops, depthwise_tiles
from legato.passes.cpu.direct.pointwise import Panels, PointwiseRows, Ring
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.row_tiles import Positions
from legato.passes.cpu.sized_axes import SizedAxis
from legato.passes.cpu.window_loops import WORTH_IT, WindowLine, WindowRow, images_of, span_of

WIDE = 256          # columns of an image that is not known
ENOUGH = 4          # panels for each thread
OTHER_CORE = 1.1    # how much longer it takes where what a thread reads next was written by others


@dataclass(frozen=True)
class FusedForm:
    """A pointwise convolution, and the depthwise one that reads its result."""

    pointwise: DirectForm
    depthwise: DepthwiseForm
    panels: Panels

    @property
    def tensors(self) -> list[ir.Value]:
        """What both read, besides what the pointwise convolution makes."""
        first, second = self.pointwise, self.depthwise
        read = [*(present(first.flat(*one))[0] for one in first.reads), *(value for value, _ in second.reads)]
        return [first.source, first.filter, second.weights, *read]

    @property
    def packed_shape(self) -> list[int]:
        """The shape of the packed filter of the pointwise convolution."""
        return self.panels.packed_shape(self.pointwise.channels)

    @property
    def down(self) -> WindowAxis:
        """The windows across rows."""
        return self.depthwise.axes[0]

    @property
    def span(self) -> int:
        """The rows that a window spans."""
        return (self.down.taps - 1) * self.down.dilation + 1

    @property
    def ring_rows(self) -> int:
        """The rows that are kept: as many as a window spans, or some more, so that their number is a power of two."""
        rows = 1 << (self.span - 1).bit_length()
        return min(rows, self.down.size) if are_known([self.down]) else rows

    @property
    def ring_bytes(self) -> int:
        """The memory of a ring, of columns that may be assumed."""
        columns = self.depthwise.axes[1]
        return 4 * self.ring_rows * (columns.size if are_known([columns]) else WIDE) * self.panels.width

    def threads(self, machine: CpuMachine) -> int:
        """The threads that share the work: one where it is little."""
        if not are_known(self.depthwise.axes):
            return machine.threads
        windows = prod(axis.count * axis.taps for axis in self.depthwise.axes)
        work = (prod(axis.size for axis in self.depthwise.axes) * self.pointwise.channels + windows) * self.pointwise.features
        return machine.threads if work * max(1, self.pointwise.source.type.shape[0]) >= WORTH_IT else 1

    def chunks(self, threads: int) -> int:
        """The parts of the result's rows. Rows that the windows of two parts read are computed twice, and threads that have panels of their
        own write what others read. Of unknown rows there are as many as threads, unless panels are enough for these."""
        if not are_known([self.down]):
            return 1 if self.panels.count >= ENOUGH * threads else threads
        images = max(1, self.pointwise.source.type.shape[0])

        def cost(chunks: int) -> float:
            rows = -(-self.down.count // chunks)
            chunks = -(-self.down.count // rows)
            computed = sum(end - first for first, end, _, _ in
                           (self.down.reads(start, min(start + rows, self.down.count)) for start in range(0, self.down.count, rows)))
            items = images * self.panels.count * chunks
            shared = OTHER_CORE if images * chunks % threads else 1
            return max(computed, 1) * (-(-items // threads) * threads / items) * shared

        return min(range(1, min(4 * threads, self.down.count) + 1), key=cost) if threads > 1 else 1


def build_loops(form: FusedForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point. ``buffers``: of all tensors but what the pointwise convolution makes."""
    threads = form.threads(machine)
    panels, chunks, images = form.panels.count, form.chunks(threads), images_of(buffers.of(form.pointwise.source))
    made: list[FusedLoops] = []

    def part(number: ir.Value, _: Size) -> None:
        image, rest = quotient(number, panels * chunks), remainder(number, panels * chunks)
        made[0].build_part(value_of(image), quotient(rest, panels), remainder(rest, panels))

    in_parts(times(images, panels * chunks), threads, part, lambda _: made.append(FusedLoops(form, machine, buffers, chunks)))


class FusedLoops(DepthwiseLoops):
    """Builds what a thread computes at the insertion point, where its ring is allocated. ``chunks``: the parts of the result's rows."""

    def __init__(self, form: FusedForm, machine: CpuMachine, buffers: Buffers, chunks: int):
        images = buffers.of(form.pointwise.source)
        rows, columns = (SizedAxis.of(axis, images, images, place) for place, axis in enumerate(form.pointwise.axes, 1))
        ring = scratch(1, form.ring_rows, columns.size, form.panels.width)
        for made in (form.depthwise.source, list(form.pointwise.kernel.function.arguments)[-1]):
            buffers.put(made, ring)
        super().__init__(form.depthwise, machine, depthwise_tiles(form.depthwise, machine), buffers)
        self.across = [replace(self.across[0], size=rows.size)]     # the ring has fewer
        self.fused, self.panels, self.chunks = form, form.panels, chunks
        self.made = PointwiseRows(form.pointwise, machine, form.panels, buffers)
        self.ring = Ring(ring, 0)

    def build_part(self, image: ir.Value, chunk: Size, panel: Size) -> None:
        """A part of the rows, for a panel of features."""
        self.ring = Ring(self.source, times(panel, self.panels.width))
        down, = self.across
        rows = rounded_up(down.count, self.chunks)
        begin = times(chunk, rows)

        def made_row(y: ir.Value) -> None:
            self.made.build_row_in(self.ring, WindowRow(image, y, panel, {"n": image, "h": y}, ()))

        def row(number: ir.Value, made: ir.Value) -> Sequence[ir.Value]:
            span = span_of(down, number)
            top = minus(span.top, down.begin)
            first, end = most(made, most(top, 0)), least(plus(top, self.fused.span), down.size)
            loop(value_of(first), value_of(end), 1, made_row)
            self.build_row(WindowRow(image, number, panel, {"n": image, "h": number}, (span,)))
            return [value_of(most(first, end))]

        loop(begin, least(plus(begin, rows), down.count), 1, row, [value_of(0)])

    def build_row(self, row: WindowRow) -> None:
        """All tiles of a row, each through the features of a panel."""
        lanes, features = self.vectors.lanes, self.panels.features
        whole = features - features % lanes
        first = self.ring.first
        end = plus(first, self.panels.width)

        def through_panel(tile: Positions, start: Size) -> None:
            loop(first, least(end, whole), lanes, lambda feature: self._tile(row, tile, start, feature, None))
            if whole < features:
                when(exceeds(end, whole), lambda: self._tile(row, tile, start, whole, features - whole))

        self.each_tile(row, through_panel)

    def taps_of(self, row: WindowRow, sums: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
        """As for all windows, with the rows' places in the ring."""
        def kept(line: WindowLine, *carried: ir.Value) -> Sequence[ir.Value]:
            return body(replace(line, places=(0, self.ring.row(line.places[1]))), *carried)

        return super().taps_of(row, sums, kept)

    def source_at(self, line: WindowLine, start: Size, column: int, channel: Size) -> tuple[ir.Value, list[Size]]:
        """The place of an element that the pointwise convolution has made."""
        buffer, (*at, feature) = super().source_at(line, start, column, channel)
        return buffer, [*at, minus(feature, self.ring.first)]
