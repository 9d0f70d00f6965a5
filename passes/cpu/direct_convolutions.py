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
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Index, Term
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import arith, bufferization, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, loop, minus, plus, quotient, read, remainder, times, value_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.feature_blocks import POSITIONS, Blocks, blocks_of, pack, stays_in_cache
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.window_loops import MOST_TAPS, MOST_TILES, Positions, WindowLoops, WindowRow, tiles_of
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

MANY = 32               # registers: with fewer, the tiles of other schedules hold as many sums
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
    return form.features >= blocks.lanes // 2 and stays_in_cache(form, machine, max(1, blocks.units))


def build_loops(form: DirectForm, machine: CpuMachine, tiles: Sequence[Positions], blocks: Blocks, shape: Sequence[int],
                buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    filters = bufferization.ToBufferOp(ir.MemRefType.get(shape, ir.F32Type.get()), form.filter, read_only=True).result
    whole = stays_in_cache(form, machine) and (machine.threads == 1 or form.axes[0].count > 1)
    units = 1 if whole else max(1, blocks.units)
    DirectLoops(form, machine, tiles, blocks, buffers, filters, units).build(form.channels * form.groups * form.features, units)


class FlatElements(Elements):
    """Elements of the tensors of a form's kernel, whose groups and features are one dimension."""

    def __init__(self, form: DirectForm, buffers: Buffers, vectors: Vectors, places: Mapping[Term, Size], count: int | None,
                 known: Mapping[ir.Value, ir.Value]):
        super().__init__(form.kernel, buffers, vectors, places, "f", count, known)
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
        for part, count in enumerate(counts):
            self._write(sums[part::vectors], start, {**row.places, "f": plus(feature, part * lanes)}, None if count == lanes else count)

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

    def _write(self, sums: Sequence[ir.Value], start: Size, places: dict[str | int, Size], count: int | None) -> None:
        """Writes a vector of the result for each position from ``start`` on, through the elementwise ops after the convolution."""
        form, elements_at = self.form, partial(FlatElements, self.form, self.buffers, self.vectors)
        mask = None if count is None else self.vectors.mask(count)
        indices: dict[ir.Value, set[Index]] = {}
        for tensor, index in form.reads:
            indices.setdefault(tensor, set()).add(index)
        of_features = elements_at(places, count, {})
        known = {tensor: of_features.tensor(tensor, next(iter(found))) for tensor, found in indices.items()
                 if len(found) == 1 and "w" not in next(iter(found))}   # read once for all positions
        for position, value in enumerate(sums):
            here = {**places, "w": plus(start, position)}
            result = elements_at(here, count, known | {form.result: value}).tensor(form.returned, form.own_terms)
            self.vectors.store_if(mask, result, self.out, *[here[term] for term in form.terms])
