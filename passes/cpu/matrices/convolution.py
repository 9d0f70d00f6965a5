"""The loops of one convolution as products of pairs of bf16: what ``tir-matrix-convolutions`` makes of a kernel."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.analysis.structured.window import WindowAxis
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, Vectors, in_parts, least, loop, minus, plus, quotient, remainder, times, value_of
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.copies import ImageCopy
from legato.passes.cpu.matrices.geometry import CopyGeometry
from legato.passes.cpu.matrices.overlapping_copy import OverlappingCopy
from legato.passes.cpu.matrices.packing import PAIR, PairTiles
from legato.passes.cpu.matrices.steps import rounded
from legato.passes.cpu.next_blocks import fetch_part, flattened, is_cold
from legato.passes.cpu.window_loops import span_of

SHARE = 4               # of the second cache, its inverse, that the inputs of a thread's positions take
IMAGES = 4              # filters, in copies of an image, that each of several threads may read
MOST_IDLE = 1.1         # of the rounds that threads take for tiles, over the tiles
LEAST_SHARE = 32        # positions of a row that a thread copies, at least


@dataclass(frozen=True)
class TilePlace:
    """A tile of positions of a group of the result. ``first``: its first position in what is read; ``h``, ``w``: the row and the column of
    that; ``written``: how many of its positions another tile writes; ``number``: that of the tile in its chunk."""

    first: Size
    h: Size
    w: Size
    written: Size
    group: Size = 0
    number: Size = 0


class PairConvolution:
    """Builds the loops of one kernel at the insertion point; subclasses, those of a tile. ``weights``: the filters as
    ``packing.pack_filters`` orders them for these sizes of tiles. ``worth_it``: multiply-adds from which on several threads pay."""

    worth_it: ClassVar[int]

    def __init__(self, form: ImageConvolutionForm, machine: CpuMachine, tiles: PairTiles, buffers: Buffers, weights: ir.Value):
        self.form, self.buffers, self.weights, self.tiles = form, buffers, weights, tiles
        self.source, self.out = buffers.of(form.source), buffers.of(list(form.kernel.function.arguments)[-1])
        self.vectors, self.features = Vectors(machine.lanes(32)), form.filter_shape[3]
        self.geometry = geometry = self.geometry_of(form)
        self.blocks = tiles.blocks(geometry.run)
        self.depth = self.blocks * tiles.depth * PAIR       # of a position, in elements
        self.in_place = self._is_in_place()
        if not self.in_place and not geometry.column:
            self.depth += -self.depth % self.vectors.lanes
        self.in_row = -(-geometry.columns // tiles.positions)
        self.count = geometry.rows * self.in_row if tiles.in_rows else -(-geometry.positions // tiles.positions)
        share = machine.l2_bytes // SHARE
        # beside a weight that stays in the cache, all features of a tile are computed, and written, one after the other
        most = 1 if self.stays(share) else max(1, share // (tiles.positions * self.depth * PAIR))
        self.chunks = -(-self.count // most)
        self.chunk = -(-self.count // self.chunks)       # tiles
        self.panels = weights.type.shape[0] // form.groups
        self.cold = flattened(weights) if is_cold(weights) else None
        work = form.groups * geometry.positions * geometry.taps[0] * geometry.taps[1] * geometry.run * self.features
        self.threads = machine.threads if work >= self.worth_it else 1
        is_long = geometry.height == 1 and not geometry.column and geometry.columns >= LEAST_SHARE * self.threads
        self.shares = self.threads if is_long else 1    # of an only row, which threads copy apart
        if self._keeps_rows():
            self.chunks = max(self.chunks, self.threads)
            self.chunk = -(-self.count // self.chunks)

    def _keeps_rows(self) -> bool:
        """Whether each thread multiplies the rows of the image that it copied, which are in its core's cache, with all features: where the
        filters that all threads read then are no longer than several images, and the tiles divide well among the threads."""
        rounds = -(-self.count // self.threads) * self.threads
        return prod(self.weights.type.shape) <= IMAGES * self.geometry.positions * self.depth and rounds <= MOST_IDLE * self.count

    @property
    def overlaps(self) -> bool:
        """Whether the last tiles begin earlier than the ones before end: nothing may be read behind the image."""
        return self.in_place

    @classmethod
    def geometry_of(cls, form: ImageConvolutionForm) -> CopyGeometry:
        """How the copy of an image lies in memory."""
        return CopyGeometry.of(form)

    def stays(self, share: int) -> bool:
        """Whether the filters stay in the second cache beside images and results. ``share``: a part of its bytes."""
        return prod(self.weights.type.shape) * PAIR <= share

    def _is_in_place(self) -> bool:
        """Whether the image is what a copy of it would be: of one tap, without padding, and bf16 in whole blocks of channels."""
        geometry, shape = self.geometry, self.form.source_shape
        is_bf16 = self.source.type.element_type == ir.BF16Type.get()
        same = (*geometry.taps, *geometry.step) == (1, 1, 1, 1) and [geometry.rows, geometry.columns, self.depth] == shape[1:]
        return is_bf16 and same and shape[0] >= 0 and geometry.positions >= self.tiles.positions

    def build(self) -> None:
        """Builds all loops: for each image its copy, then the products."""
        images = self.form.source_shape[0]
        if self.in_place:
            self._read_in_place()
        else:
            self._allocate_copy()
        loop(0, images if images >= 0 else memref.DimOp(self.source, value_of(0)).result, 1, self._image)

    def _read_in_place(self) -> None:
        count, bf16 = self.form.source_shape[0] * self.geometry.positions, ir.BF16Type.get()
        last = self.source.type.rank - 1
        self.read = memref.CollapseShapeOp(ir.MemRefType.get([count, self.depth], bf16), self.source, [[*range(last)], [last]]).result
        shape = [count, self.depth // PAIR, PAIR]
        self.pairs = memref.ExpandShapeOp(ir.MemRefType.get(shape, bf16), self.read, [[0], [1, 2]], [], shape).result

    def _allocate_copy(self) -> None:
        geometry = self.geometry
        down, right = (reach // step for reach, step in zip(geometry.reach, geometry.step))
        # of a phase; tiles that reach beyond the last position read behind its last row
        beyond = 0 if self.tiles.in_rows else self.count * self.tiles.positions + down * geometry.pitch + right
        self.length = max(geometry.height * geometry.pitch, beyond)
        if geometry.column:
            self.copy = OverlappingCopy(self.form, geometry, self.vectors, self.source, self.length)
        else:
            self.copy = ImageCopy(self.form, geometry, self.vectors, self.source, self.depth, self.length, self.shares)
        self.read, self.pairs = self.copy.memory, self.copy.pairs

    def _image(self, image: ir.Value) -> None:
        for a in range(0 if self.in_place else self.geometry.phases[0]):
            for b in range(self.geometry.phases[1]):
                self._each(self.geometry.height * self.shares, lambda item, _, a=a, b=b: self.copy.row(image, item, a, b))
        self._each(self.form.groups * self.chunks * self.panels, lambda item, thread: self._item(image, item, thread))

    def _each(self, count: int, body: Callable[[ir.Value, Size], None]) -> None:
        in_parts(count, self.threads, body)

    def _item(self, image: ir.Value, item: ir.Value, thread: Size) -> None:
        """The products of a chunk of tiles with a panel of features of a group."""
        chunk, panel, group = quotient(item, self.panels), remainder(item, self.panels), 0
        if self.form.groups > 1:
            chunk, group = remainder(chunk, self.chunks), quotient(chunk, self.chunks)
        first = times(chunk, self.chunk)
        tiles = self.chunk if self.chunk * self.chunks == self.count else least(self.chunk, minus(self.count, first))
        loop(0, tiles, 1, lambda number: self.tile(image, self._placed(image, first, number, group), panel, thread))

    def _placed(self, image: ir.Value, chunk: Size, number: Size, group: Size) -> TilePlace:
        """The place of a tile of a group, in the chunk that begins with the tile ``chunk``."""
        place = replace(self._place(image, plus(chunk, number)), number=number)
        return place if self.form.groups == 1 else replace(place, first=plus(place.first, times(group, self.copy.group)), group=group)

    def _place(self, image: ir.Value, number: Size) -> TilePlace:
        """The place of a tile of the first group."""
        geometry, positions = self.geometry, self.tiles.positions
        if self.tiles.in_rows:
            row, at = quotient(number, self.in_row), times(remainder(number, self.in_row), positions)
            w = least(at, geometry.columns - positions) if geometry.columns % positions else at
            return TilePlace(plus(times(row, geometry.pitch), w), row, w, minus(at, w) if geometry.columns % positions else 0)
        first, written = times(number, positions), 0
        if self.overlaps and geometry.positions % positions:
            begin = least(first, geometry.positions - positions)
            first, written = begin, minus(first, begin)
        h, w = quotient(first, geometry.pitch), remainder(first, geometry.pitch)
        return TilePlace(plus(times(image, geometry.positions), first) if self.in_place else first, h, w, written)

    def tile(self, image: ir.Value, place: TilePlace, panel: Size, thread: Size) -> None:
        """Builds the products of a tile with a panel of features, and what writes their sums."""
        raise NotImplementedError

    def sums_of(self, tile: TilePlace, step: Callable[..., list[ir.Value]], sums: list[ir.Value]) -> list[ir.Value]:
        """The sums over the taps that some position of a tile reads in the image, and over blocks of channels. ``step(first, matrix, block,
        sums)`` adds those of one block, of which ``matrix`` is the number in the packed filters, to those of the positions from ``first``
        on."""
        width, deep = self.geometry.taps[1], self.blocks
        (top, bottom), (left, right) = self._taps_inside(tile)

        def row(i: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            return loop(left, right, 1, lambda j, *carried: tap(i, j, carried), sums)

        def tap(i: ir.Value, j: ir.Value, sums: tuple[ir.Value, ...]) -> list[ir.Value]:
            place, phase = self.geometry.shifted(tile.first, i, j)
            begin = place if self.in_place else plus(place, times(phase, self.length))
            matrix = times(plus(times(i, width), j), deep)
            return loop(0, deep, 1, lambda block, *carried: step(begin, plus(matrix, block), block, carried), sums)

        return loop(top, bottom, 1, row, sums)

    def _taps_inside(self, tile: TilePlace) -> list[tuple[Size, Size]]:
        """Down and across, the first tap that some position of a tile reads in the image, and the one behind the last: padding is zeros."""
        form, geometry, across = self.form, self.geometry, self.tiles.positions - 1
        last, rows = plus(tile.w, across), 0 if self.tiles.in_rows else quotient(plus(tile.w, across), geometry.pitch)
        found: list[tuple[Size, Size]] = []
        for number, (first, end, more) in enumerate([(tile.h, plus(tile.h, rows), 0), (tile.w, last, across)]):
            axis = WindowAxis(form.source_shape[1 + number], form.result_shape[1 + number], form.begins[number], form.strides[number],
                              form.dilations[number], geometry.taps[number])
            is_outside = max(axis.reads(0, axis.count)[2:]) > more * axis.stride       # whether a tap of the first or the last tile is
            if axis.taps > 1 and is_outside and (self.tiles.in_rows or number == 0):
                found.append((span_of(axis, end).taps[0], span_of(axis, first).taps[1]))
            else:
                found.append((0, axis.taps))
        return found

    def fetch(self, tile: TilePlace, panel: Size, matrix: Size) -> None:
        """Fetches a part of the filters behind a panel of all, in the step of a tile that reads this matrix, unless they stay in the
        caches."""
        if self.cold is not None:
            _, steps, *shape = self.weights.type.shape
            width = prod(shape)
            number = plus(times(tile.number, steps), matrix)
            fetch_part(self.cold, times(plus(panel, 1), steps * width), number, width, self.chunk)

    def narrowed(self, value: ir.Value) -> ir.Value:
        """A vector of the result as it is stored."""
        if value.type.element_type == self.out.type.element_type:
            return value
        return rounded(self.vectors, value)     # only products of pairs read it
