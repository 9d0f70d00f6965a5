"""Convolutions of images whose sizes only a call gives as products of matrices, by AMX.

Where sizes are known, copies of images are laid out for all windows at once. Here what the windows of some positions read is copied,
rounded, into rows, a matrix for each tap and block of channels, and multiplied with panels of features. Of few channels, a window's columns
are read like channels.
"""
from __future__ import annotations

from math import prod

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import index
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    Vectors,
    joined,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    scratch,
    times,
    value_of,
    write,
)
from legato.passes.cpu.elements import Buffers, RowBuffers
from legato.passes.cpu.matrices.open_cut import OpenCut
from legato.passes.cpu.matrices.packing import COLUMNS, PAIR, STEP, PairTiles, PartsPacking, read_shape
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import ROWS
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.matrices.steps import rounded, scratch_rows
from legato.passes.cpu.row_product import ProductResult

AT_HAND = 2     # of the second cache, its inverse, that the rows of a thread's tiles take


def open_tiles(form: ConvolutionForm) -> PairTiles:
    """The sizes of a step: two by two matrices, or two by one of few features."""
    return PairTiles(ROWS, COLUMNS if form.filter_shape[3] > SIDE else SIDE)


def as_images(signals: ir.Value) -> ir.Value:
    """A view of signals as images of one row; images as they are."""
    if signals.type.rank == 4:
        return signals
    shape = [signals.type.shape[0], 1, *signals.type.shape[1:]]
    unknown = [memref.dim(signals, index(axis)) for axis in range(3) if signals.type.shape[axis] < 0]
    type_ = ir.MemRefType.get(shape, signals.type.element_type)
    return memref.ExpandShapeOp(type_, signals, [[0], [1, 2], [3]], unknown, shape).result


def in_lines(images: ir.Value) -> ir.Value:
    """A view of images of which a row's columns and channels are one dimension."""
    count, height, width, channels = images.type.shape
    line = width * channels if width >= 0 else width
    type_ = ir.MemRefType.get([count, height, line], images.type.element_type)
    return memref.CollapseShapeOp(type_, images, [[0], [1], [2, 3]]).result


class OpenConvolution:
    """Builds the loops of one kernel at the insertion point. ``weights``: the filters as ``packing.pack_filters`` orders them for
    ``open_tiles``."""

    def __init__(self, form: ConvolutionForm, machine: CpuMachine, tiles: PairTiles, buffers: Buffers, weights: ir.Value):
        self.form, self.tiles, self.weights, self.vectors = form, tiles, weights, Vectors(machine.lanes(32))
        self.source, self.out = as_images(buffers.of(form.source)), buffers.of(list(form.kernel.function.arguments)[-1])
        *self.taps, self.run, self.features = read_shape(form.filter_shape, form.dilations, 1)
        self.in_lines = self.run != form.filter_shape[2]    # a window's columns are read as channels
        self.blocks = tiles.blocks(self.run)
        self.steps = prod(self.taps) * self.blocks
        self.lines = in_lines(self.source)
        is_narrow = self.source.type.element_type == ir.BF16Type.get()
        self.moved = Vectors(STEP) if is_narrow else self.vectors     # what is copied at once
        self.buffers = RowBuffers(buffers, form.terms[:-1], form.result.type.shape[1:-1])
        self.images, self.height, self.width = (self._extent(axis) for axis in range(3))
        packing = PartsPacking(self.steps * STEP, self.features, parts=1)
        at_hand = machine.l2_bytes // AT_HAND // (ROWS * self.steps * STEP * PAIR)
        self.cut = OpenCut(packing, machine.threads, max(1, at_hand), times(self.images, times(self.height, self.width)))

    def _extent(self, axis: int) -> Size:
        """The size of an axis of the result: images, rows or columns."""
        known = self.form.result_shape[axis]
        return known if known >= 0 else memref.dim(self.out, index(self.form.out.index("nhw"[axis])))

    def build(self) -> None:
        """Builds all loops."""
        self.cut.each_share(self._chunk, self._allocate)

    def _allocate(self) -> None:
        """Allocates the buffers of a thread: rows, sums, and where the windows of a tile begin, by image, row and column."""
        self.rows, self.pairs = scratch_rows(self.cut.chunk, self.steps, ROWS, STEP)
        self.sums = scratch(ROWS, self.tiles.features)
        self.begins = [scratch(ROWS, element=ir.IndexType.get()) for _ in "nhw"]

    def _chunk(self, share: Share) -> None:
        """The products of a chunk of tiles with some panels."""
        loop(0, share.count, 1, lambda tile: self._copy(share.row(tile), tile))
        loop(share.begin, share.end, 1, lambda panel: loop(0, share.count, 1, lambda tile: self._multiply(share, tile, panel)))

    def _position(self, row: Size) -> tuple[Size, Size, Size]:
        """The image, row and column of a position of the result."""
        of_image = times(self.height, self.width)
        at = remainder(row, of_image)
        return quotient(row, of_image), quotient(at, self.width), remainder(at, self.width)

    def _copy(self, first: Size, tile: Size) -> None:
        """Copies what the windows of a tile read; behind the last one, what that does."""
        form, (high, wide) = self.form, self.taps

        def begin(i: ir.Value) -> None:
            image, *at = self._position(least(plus(first, i), minus(self.cut.rows, 1)))
            starts = [minus(times(one, step), before) for one, step, before in zip(at, form.strides, form.begins, strict=True)]
            for start, into in zip([image, *starts], self.begins, strict=True):
                write(value_of(start), into, i)

        loop(0, ROWS, 1, begin)
        loop(0, high, 1, lambda i: loop(0, wide, 1, lambda j: loop(0, ROWS, 1, lambda row: self._copy_tap(tile, row, i, j))))

    def _copy_tap(self, tile: Size, row: ir.Value, i: Size, j: Size) -> None:
        """Copies what the window of a row reads at a tap; zeros, where that lies outside of the image."""
        v, (down, right), channels = self.moved, self.form.dilations, self.form.filter_shape[2]
        image, y, x = (read(begin, row) for begin in self.begins)
        y, x = plus(y, times(i, down)), plus(x, times(j, right))
        first, at = times(plus(times(i, self.taps[1]), j), self.blocks), times(x, channels)
        height, width = (memref.dim(self.source, index(axis)) for axis in (1, 2))
        inside = v.spread(self._lies_in(y, height) if self.in_lines else arith.andi(self._lies_in(y, height), self._lies_in(x, width)))
        whole, rest = divmod(self.run, STEP)

        def block(number: Size, count: int = STEP) -> None:
            for lane in range(0, STEP, v.lanes):
                some, of_run = min(max(count - lane, 0), v.lanes), plus(times(number, STEP), lane)
                found = v.zeros(self.source.type.element_type)
                if some:
                    masks = [inside, *([v.mask(some)] if some < v.lanes else [])]
                    if self.in_lines:   # of the window's columns, those left of the image and right of it are zeros
                        before, behind = v.mask(minus(minus(0, at), of_run)), minus(times(minus(width, x), channels), of_run)
                        masks += [arith.xori(before, v.constant(1, ir.IntegerType.get_signless(1))), v.mask(behind)]
                    found = v.load_if(joined(arith.andi, masks), self.lines, image, y, plus(at, of_run))
                v.store(rounded(v, found), self.rows, tile, plus(first, number), row, lane)

        loop(0, whole, 1, block)
        if rest:
            block(whole, rest)

    @staticmethod
    def _lies_in(place: Size, side: Size) -> ir.Value:
        """Whether a row or column lies in the image."""
        return arith.cmpi(arith.CmpIPredicate.ult, value_of(place), value_of(side))

    def _multiply(self, share: Share, tile: Size, panel: Size) -> None:
        """The products of a tile with a panel of features, and what writes their sums."""
        features, depth = self.tiles.features, self.tiles.depth

        def step(number: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.pairs, [tile, number, 0, 0, 0], [ROWS, depth, PAIR])
            right = read_matrix(self.weights, [panel, number, 0, 0, 0], [depth, features, PAIR])
            return [contracted(left, right, sums)]

        sums, = loop(0, self.steps, 1, step, [no_sums(ROWS, features)])
        write_sums(sums, self.sums, 0, 0)
        row = share.row(tile)
        result = ProductResult(self.form, self.features, lambda row: dict(zip("nhw", self._position(row), strict=True)), "f")
        result.write(self.buffers, self.vectors, self.sums, (0, 0), row, least(ROWS, minus(self.cut.rows, row)), times(panel, features),
                     features)
