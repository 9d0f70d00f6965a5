"""tir-direct-convolutions: convolutions as loops over rows of the result, a few positions of a row at a time, whose sums stay in registers
for one or two vectors of features. How windows and padding are gone through: ``window_loops``.

Where a group, or a convolution without groups, has as many features as a vector has lanes, an element of the image is multiplied with a
vector of the filter. Of narrower groups, a vector has the features of several: what they read lies side by side in the image, and a shuffle
gives each lane the channel of its group.

All features of a row are computed one after the other, where the filter stays in the cache meanwhile; a larger one of many groups goes
through all rows part by part.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import arith, bufferization, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, loop, minus, plus, quotient, read, remainder, times, value_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.window_loops import MOST_TAPS, MOST_TILES, Positions, WindowLoops, WindowRow, tiles_of
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

POSITIONS = 12          # of a tile, at most
IN_FLIGHT = 8           # sums that hide how long a multiply-add takes
MANY = 32               # registers: with fewer, the tiles of other schedules hold as many sums
SHARE = 2               # of the second cache, its inverse, that filters take
MOST_PRODUCTS = 512     # of a narrow group, which are written out for a row of a window


@dataclass(frozen=True)
class DirectConvolutions(ModulePass):
    """Turns convolutions of f32 with constant filters, of windows that overlap, into loops on vectors of features. Others are left as they
    are. Elements of padding are not multiplied: an infinite weight makes no NaN there."""

    name: ClassVar[str] = "tir-direct-convolutions"
    rounding: ClassVar[Rounding] = Rounding(ulps=4, specials=False)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        calls, constants = calls_by_callee(module), Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module) if machine.has("fma") else ():
                form, sites = DirectForm.of(context.kernels.of(kernel)), calls.get(kernel.name.value, [])
                if form is None or not are_constant(form.filter, sites):
                    continue
                blocks = blocks_of(form, machine)
                tiles = tiles_of(form.axes[1], blocks.positions(machine.registers, form.axes[1]))
                if not is_worth_it(form, blocks, machine) or len(tiles) > MOST_TILES:
                    continue
                place, shape = form.filter.arg_number, blocks.packed_shape(list(form.filter.type.shape))
                tensors = [form.source, *(present(form.flat(*one))[0] for one in form.reads)]
                into_loops(kernel, form.op.location, tensors, partial(build_loops, form, machine, tiles, blocks, shape))
                retype(kernel, form.filter, shape, ir.F32Type.get())
                context.kernels.drop(kernel)
                for call in sites:
                    give_transformed(call, place, constants, made, "direct", shape, np.dtype(np.float32), partial(pack, blocks=blocks))


@dataclass(frozen=True)
class Blocks:
    """How the features of groups are cut into blocks of as many as a vector has lanes. ``channels``, ``features``: of a group; ``vectors``:
    the blocks that are computed at once."""

    groups: int
    channels: int
    features: int
    lanes: int
    vectors: int

    @property
    def together(self) -> int:
        """The groups of a block: 1 where it has features of one group only."""
        return max(1, min(self.groups, self.lanes // self.features))

    @property
    def each(self) -> int:
        """The blocks of a group, or 1 of several groups."""
        return -(-self.features // self.lanes)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-self.groups // self.together) * self.each

    def positions(self, registers: int, axis: WindowAxis) -> int:
        """The positions of a tile: as many as have sums in registers, beside a row of the filter and an element, or in narrow groups all
        elements of a row."""
        if self.together == 1:
            return max(1, min(POSITIONS, (registers - 2) // self.vectors - axis.taps))
        spare = registers - 2 * axis.taps - (axis.taps - 1) * (axis.dilation - 1) - 1 + axis.stride
        return max(1, min(POSITIONS, spare // (axis.stride + 1)))

    @property
    def units(self) -> int:
        """The parts of as many features as are computed at once; 0 where there are no such."""
        at_once = self.vectors * self.lanes
        return 0 if self.together > 1 or self.features % at_once else self.groups * self.features // at_once

    def packed_shape(self, shape: Sequence[int]) -> list[int]:
        """The shape of packed filters: blocks, then the windows' rows, the channels and the windows' columns, then the lanes of a block."""
        height, width = ([1] * (4 - len(shape)) + list(shape))[:2]
        return [self.count, height, self.channels, width, self.lanes]


def blocks_of(form: DirectForm, machine: CpuMachine) -> Blocks:
    """The blocks of a convolution: two at once where there are two, there are registers for their sums, and what they multiply stays in the
    second cache."""
    lanes = machine.lanes(32)
    pair = Blocks(form.groups, form.channels, form.features, lanes, 2)
    fits = _bytes(form) // (form.groups * form.features) * 2 * lanes <= machine.l2_bytes // SHARE
    many = pair.positions(machine.registers, form.axes[1]) * 2 >= IN_FLIGHT
    return pair if form.features > lanes and fits and many else replace(pair, vectors=1)


def pack(filters: np.ndarray, result: np.ndarray, blocks: Blocks) -> None:
    """Writes filters, ``[(height,) width, channels, features]``, to ``result`` of the shape ``Blocks.packed_shape``, padded with zeros."""
    count, height, channels, width, lanes = result.shape
    whole = filters.reshape(height, width, channels, blocks.groups, blocks.features).swapaxes(1, 2)
    if blocks.together == 1:
        padded = np.zeros((*whole.shape[:4], blocks.each * lanes), filters.dtype)
        padded[..., :blocks.features] = whole
        result[...] = np.moveaxis(padded.reshape(height, channels, width, count, lanes), 3, 0)
        return
    used = blocks.together * blocks.features
    padded = np.zeros((height, channels, width, count * used), filters.dtype)
    padded[..., :blocks.groups * blocks.features] = whole.reshape(height, channels, width, -1)
    result[...] = 0
    result[..., :used] = np.moveaxis(padded.reshape(height, channels, width, count, used), 3, 0)


def build_loops(form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, shape: Sequence[int],
                buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    filters = bufferization.ToBufferOp(ir.MemRefType.get(shape, ir.F32Type.get()), form.filter, read_only=True).result
    whole = _bytes(form) <= machine.l2_bytes // SHARE and (machine.threads == 1 or form.axes[0].count > 1)
    units = 1 if whole else max(1, blocks.units)
    DirectLoops(form, machine, tiles, blocks, buffers, filters, units).build(form.channels * form.groups * form.features, units)


def is_worth_it(form: DirectForm, blocks: Blocks, machine: CpuMachine) -> bool:
    """Whether windows overlap, and are short enough to write out their rows, the filter, or a part of it that goes through all rows, stays
    in the second cache, and there is work for all threads."""
    rows, columns = form.axes
    if all(axis.stride >= axis.taps for axis in form.axes) or columns.taps > MOST_TAPS:
        return False
    if machine.threads > 1 and rows.count == 1 and blocks.units < machine.threads:
        return False
    if blocks.together > 1:
        return blocks.together * form.channels <= 2 * blocks.lanes and columns.taps * form.channels * POSITIONS <= MOST_PRODUCTS
    if form.groups == 1 and machine.registers < MANY:
        return False
    parts = max(1, blocks.units)
    return form.features >= blocks.lanes // 2 and _bytes(form) // parts <= machine.l2_bytes // SHARE


def _bytes(form: DirectForm) -> int:
    return prod(form.filter.type.shape) * 4


class FlatElements(Elements):
    """Elements of the tensors of a form's kernel, whose groups and features are one dimension."""

    def __init__(self, form: DirectForm, buffers: Buffers, vectors: Vectors, places: Mapping[Term, Size], count: int | None,
                 result: ir.Value):
        super().__init__(form.kernel, buffers, vectors, places, "f", count, {form.result: result})
        self.form = form

    def _load(self, tensor: ir.Value, at: Index) -> ir.Value:
        return super()._load(*present(self.form.flat(tensor, at)))


class DirectLoops(WindowLoops):
    """Builds the loops of one kernel at the insertion point. ``tiles``: of a row; ``filters``: the packed ones."""

    def __init__(self, form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, buffers: Buffers,
                 filters: ir.Value, units: int):
        super().__init__(form, machine, tiles, buffers, list(form.kernel.function.arguments)[-1])
        self.form, self.blocks, self.filters, self.units = form, blocks, filters, units

    def build_row(self, row: WindowRow) -> None:
        """All features of a row, or those of a unit, each for all tiles: the filter of a block stays in the cache meanwhile."""
        (self._row_of_narrow if self.blocks.together > 1 else self._row_of_wide)(row)

    def _row_of_wide(self, row: WindowRow) -> None:
        blocks, lanes = self.blocks, self.vectors.lanes
        at_once = blocks.vectors * lanes
        whole = blocks.features - blocks.features % at_once
        rest = blocks.features - whole
        counts = [min(lanes, rest - first) for first in range(0, rest, lanes)]

        def of_group(group: ir.Value) -> None:
            def tiles(feature: Size, counts: Sequence[int]) -> None:
                block = plus(times(group, blocks.each), quotient(feature, lanes))
                place = plus(times(group, blocks.features), feature)
                products = partial(self._spread, row, block, times(group, blocks.channels), len(counts))
                self.each_tile(lambda tile, start: self._tile(row, tile, start, place, counts, products))

            if self.units > 1:
                tiles(times(remainder(row.unit, whole // at_once), at_once), [lanes] * blocks.vectors)
                return
            loop(0, whole, at_once, lambda feature: tiles(feature, [lanes] * blocks.vectors))
            if rest:
                tiles(whole, counts)

        if self.units > 1:
            of_group(value_of(quotient(row.unit, whole // at_once)))
        else:
            loop(0, blocks.groups, 1, of_group)

    def _row_of_narrow(self, row: WindowRow) -> None:
        blocks = self.blocks
        whole = blocks.groups - blocks.groups % blocks.together

        def tiles(group: Size, groups: int) -> None:
            products = partial(self._shuffled, row, quotient(group, blocks.together), times(group, blocks.channels), groups)
            place = times(group, blocks.features)
            self.each_tile(lambda tile, start: self._tile(row, tile, start, place, [groups * blocks.features], products))

        loop(0, whole, blocks.together, lambda group: tiles(group, blocks.together))
        if whole < blocks.groups:
            tiles(whole, blocks.groups - whole)

    def _tile(self, row: WindowRow, tile: Positions, start: Size, feature: Size, counts: Sequence[int],
              products: Callable[..., list[ir.Value]]) -> None:
        """The positions from ``start`` on, for vectors of features of which ``counts`` exist; ``products`` adds those of a window's row."""
        lanes, vectors = self.vectors.lanes, len(counts)

        def window_row(tap: ir.Value, y: Size, *sums: ir.Value) -> list[ir.Value]:
            return products(tile, start, tap, y, sums)

        sums = self.taps_of(row, [self.vectors.splat(0)] * (tile.positions * vectors), window_row)
        for number, value in enumerate(sums):
            position, part = divmod(number, vectors)
            places = {**row.places, "w": plus(start, position), "f": plus(feature, part * lanes)}
            self._write(value, places, None if counts[part] == lanes else counts[part])

    def _spread(self, row: WindowRow, block: Size, channel: Size, vectors: int, tile: Positions, start: Size, tap: ir.Value, y: Size,
                sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row, channel by channel, of a group whose first channel is ``channel``."""
        v = self.vectors

        def of_channel(number: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            filters = [[v.load(self.filters, plus(block, part), tap, number, j, 0) for part in range(vectors)]
                       for j in range(self.columns.taps)]
            if self.units > 1:
                self._fetch(row, tile, start, plus(block, vectors), tap, number)
            found = list(sums)
            for column, uses in self.columns_of(tile).items():
                value = v.spread(read(self.source, *self.source_at(row, y, start, column, plus(channel, number))))
                for position, j in uses:
                    for part in range(vectors):
                        at = position * vectors + part
                        found[at] = vector.FMAOp(value, filters[j][part], found[at]).result
            return found

        return loop(0, self.blocks.channels, 1, of_channel, sums)

    def _fetch(self, row: WindowRow, tile: Positions, start: Size, block: Size, tap: ir.Value, channel: ir.Value) -> None:
        """Fetches a part of the filter's vectors that the next unit multiplies with a channel into the second cache: each tile another one,
        in turns, so that all tiles of an image fetch all. Behind the filter's end that does no harm."""
        lines = self.columns.taps * self.blocks.vectors
        visits = sum(one.repeats for one in self.tiles)
        each = -(-lines // (visits * self.rows.count))
        visit = plus(times(row.row, visits), plus(quotient(minus(start, tile.start), tile.positions), self._visits_before(tile)))
        for number in range(each):
            line = remainder(plus(times(visit, each), number), lines)
            place = plus(block, quotient(line, self.columns.taps)), tap, channel, remainder(line, self.columns.taps), 0
            memref.PrefetchOp(self.filters, [*map(value_of, place)], False, 2, True)

    def _visits_before(self, tile: Positions) -> int:
        return sum(one.repeats for one in self.tiles[:self.tiles.index(tile)])

    def _shuffled(self, row: WindowRow, block: Size, channel: Size, groups: int, tile: Positions, start: Size, tap: ir.Value, y: Size,
                  sums: Sequence[ir.Value]) -> list[ir.Value]:
        """The sums with the products of a window's row, of ``groups`` groups, the first one's first channel being ``channel``."""
        v, channels, features = self.vectors, self.blocks.channels, self.blocks.features
        columns, found = self.columns_of(tile), list(sums)
        values = {column: self._channels(groups * channels, self.source_at(row, y, start, column, channel)) for column in columns}
        for number in range(channels):
            filters = [v.load(self.filters, block, tap, number, j, 0) for j in range(self.columns.taps)]
            lanes = [min(lane // features, groups - 1) * channels + number for lane in range(v.lanes)]
            for column, uses in columns.items():
                value = vector.ShuffleOp(values[column], values[column], lanes).result
                for position, j in uses:
                    found[position] = vector.FMAOp(value, filters[j], found[position]).result
        return found

    def _channels(self, count: int, at: Sequence[Size]) -> ir.Value:
        """``count`` neighbouring channels, in a vector of the next power of two."""
        width = 1 << (count - 1).bit_length()
        type_ = ir.VectorType.get([width], ir.F32Type.get())
        places = [*map(value_of, at)]
        if width == count:
            return vector.LoadOp(type_, self.source, places).result
        mask = vector.CreateMaskOp(ir.VectorType.get([width], ir.IntegerType.get_signless(1)), [value_of(count)]).result
        zeros = arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0.0))).result
        return vector.MaskedLoadOp(type_, self.source, places, mask, zeros).result

    def _write(self, value: ir.Value, places: dict[str | int, Size], count: int | None) -> None:
        """Writes a vector of the result, through the elementwise ops after the convolution."""
        elements = FlatElements(self.form, self.buffers, self.vectors, places, count, value)
        result, at = elements.tensor(self.form.returned, self.form.own_terms), [places[term] for term in self.form.terms]
        self.vectors.store_if(None if count is None else self.vectors.mask(count), result, self.out, *at)
