"""tir-depthwise-convolutions: depthwise convolutions as loops over rows of the result, a few positions of a row at a time.

The sums of some neighbouring positions, for one vector of channels, stay in registers while the rows of the window go by. An element of the
input is read once for all positions whose windows hold it. Rows above and below the image are left out by the bounds of the loop over the
window's rows; columns beside it where the tiles at both ends of a row are written out. So no padded copy is made, and all rows of the
result, which threads share, are alike.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured.depthwise import TERMS, DepthwiseForm
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, memref, vector
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
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding

POSITIONS = 8           # of a tile: as many multiply-adds have to be in flight
MOST_TAPS = 11          # of a window's row, which are written out
MOST_TILES = 16         # of a row, which are written out: in padding wider than this, they would be too many
WORTH_IT = 1 << 18      # multiply-adds from which on several threads pay


@dataclass(frozen=True)
class DepthwiseConvolutions(ModulePass):
    """Turns depthwise convolutions of f32 into loops on vectors of channels. Others, and those of fewer channels than a vector has lanes,
    are left as they are. Elements of padding are not multiplied: an infinite weight makes no NaN there."""

    name: ClassVar[str] = "tir-depthwise-convolutions"
    rounding: ClassVar[Rounding] = Rounding(ulps=4, specials=False)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.has("fma") else ():
                form = DepthwiseForm.of(context.kernels.of(kernel))
                if form is None or form.channels < machine.lanes(32) or form.axes[1].taps > MOST_TAPS:
                    continue
                tiles = [*tiles_of(form.axes[1], machine)]
                if len(tiles) <= MOST_TILES:
                    tensors = [form.source, form.weights, *(value for value, _ in form.reads)]
                    into_loops(kernel, form.window.op.location, tensors, partial(build_loops, form, machine, tiles))
                    context.kernels.drop(kernel)


@dataclass(frozen=True)
class Positions:
    """Neighbouring positions of a row of the result. ``repeats``: how many such tiles follow each other, all of whose windows lie inside of
    the image; 1 also where some do not."""

    start: int
    positions: int
    repeats: int = 1


def tiles_of(axis: WindowAxis, machine: CpuMachine) -> Iterator[Positions]:
    """The tiles of a row, from left to right."""
    most_positions = min(POSITIONS, max(1, machine.registers - axis.taps - 2))
    size = -(-axis.count // -(-axis.count // most_positions))
    first, last = axis.inside()
    start = 0
    while start < axis.count:
        positions = min(size, axis.count - start)
        inside = max(1, (last - start) // positions) if start >= first and positions == size else 1
        yield Positions(start, positions, inside)
        start += positions * inside


def build_loops(form: DepthwiseForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    DepthwiseLoops(form, machine, tiles, buffers).build()


class DepthwiseLoops:
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row."""

    def __init__(self, form: DepthwiseForm, machine: CpuMachine, tiles: Sequence[Positions], buffers: Buffers):
        self.form, self.machine, self.tiles, self.buffers = form, machine, tiles, buffers
        self.vectors = Vectors(machine.lanes(32))
        self.rows, self.columns = form.axes
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])
        self.source, self.weights = buffers.of(form.source), buffers.of(form.weights)

    def build(self) -> None:
        """Builds all loops: over images and rows, tiles of a row, and channels."""
        images = self.form.source.type.shape[0]
        count: Size = images if images >= 0 else memref.DimOp(self.source, value_of(0)).result
        work = max(images, 1) * self.rows.count * self.columns.count * self.rows.taps * self.columns.taps * self.form.channels
        each = in_order if self.machine.threads == 1 or work < WORTH_IT else in_parallel
        each(times(count, self.rows.count), self._row)

    def _row(self, number: ir.Value) -> None:
        """One row of the result."""
        axis = self.rows
        image, row = quotient(number, axis.count), remainder(number, axis.count)
        top = times(row, axis.stride)
        # the taps inside of the image; the source of tap k is row ``top + k * dilation - begin``
        first = rounded_up(most(minus(axis.begin, top), 0), axis.dilation)
        end = least(rounded_up(most(minus(axis.size + axis.begin, top), 0), axis.dilation), axis.taps)
        places = {"n": image, "h": row}
        lanes, channels = self.vectors.lanes, self.form.channels
        for tile in self.tiles:
            def at(start: Size, tile: Positions = tile) -> None:
                whole = channels - channels % lanes
                loop(0, whole, lanes, lambda channel: self._tile(tile, start, {**places, "f": channel}, top, (first, end), None))
                if whole < channels:
                    self._tile(tile, start, {**places, "f": whole}, top, (first, end), channels - whole)

            if tile.repeats == 1:
                at(tile.start)
            else:
                loop(tile.start, tile.start + tile.repeats * tile.positions, tile.positions, at)

    def _tile(self, tile: Positions, start: Size, places: dict[str | int, Size], top: Size, taps: tuple[Size, Size],
              count: int | None) -> None:
        """The positions from ``start`` on, for a vector of channels, of which ``count`` exist (None: all)."""
        v, axis, channel = self.vectors, self.columns, places["f"]
        mask = None if count is None else v.mask(count)
        left = minus(times(start, axis.stride), axis.begin)

        def window_row(tap: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            y = minus(plus(top, times(tap, self.rows.dilation)), self.rows.begin)
            weights = [v.load_if(mask, self.weights, tap, j, channel) for j in range(axis.taps)]
            found = list(sums)
            for column, uses in self._columns(tile).items():
                value = v.load_if(mask, self.source, places["n"], y, plus(left, column), channel)
                for position, j in uses:
                    found[position] = vector.FMAOp(value, weights[j], found[position]).result
            return found

        made = value_of(taps[0]), value_of(taps[1])
        sums = loop(*made, 1, window_row, [v.splat(0)] * tile.positions)
        for position, value in enumerate(sums):
            self._write(value, {**places, "w": plus(start, position)}, count)

    def _columns(self, tile: Positions) -> dict[int, list[tuple[int, int]]]:
        """The columns of the image that a tile reads, from its first window's on, each with its positions and taps."""
        axis = self.columns
        begin = tile.start * axis.stride - axis.begin
        found: dict[int, list[tuple[int, int]]] = {}
        for position in range(tile.positions):
            for tap in range(axis.taps):
                column = position * axis.stride + tap * axis.dilation
                if 0 <= begin + column < axis.size:
                    found.setdefault(column, []).append((position, tap))
        return dict(sorted(found.items()))

    def _write(self, value: ir.Value, places: dict[str | int, Size], count: int | None) -> None:
        """Writes a vector of the result, through the elementwise ops after the convolution."""
        elements = Elements(self.form.kernel, self.buffers, self.vectors, places, "f", count, {self.form.result: value})
        result, at = elements.tensor(self.form.returned, TERMS), [places[term] for term in TERMS]
        self.vectors.store_if(None if count is None else self.vectors.mask(count), result, self.out, *at)


def in_order(count: Size, step: Callable[[ir.Value], None]) -> None:
    """A loop of one thread."""
    loop(0, count, 1, step)
