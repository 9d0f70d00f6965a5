"""The loops of a product of f32 by AMX: what ``tir-split-products`` makes of a kernel.

A number of f32 is the sum of three of bf16, and a product of two numbers the sum of the products of their parts, of which six are above
f32's precision. Rows are split when the kernel runs, a block of the depth at a time. The weight is packed in parts, or, if it comes from
memory, in f32, and split then, panel by panel.

Numbers from 2^63 on, infinities and NaNs are not split: products of their parts may be infinite, of two signs. The rows of a tile that
has one are multiplied in f32, by the weight's numbers. So are rows without a number of 2^-50 and more, whose products the instructions
might take for zeros, as they do with denormal numbers. Beside greater numbers, those below 2^-110 lose their lower parts.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from legato.core.interfaces import CpuMachine
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    if_else,
    joined,
    least,
    loop,
    minus,
    most,
    plus,
    read,
    remainder,
    rounded_up,
    scratch,
    times,
    when,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.depth_cut import DepthCut
from legato.passes.cpu.matrices.magnitudes import Magnitudes
from legato.passes.cpu.matrices.open_cut import OpenCut, chosen
from legato.passes.cpu.matrices.packed_numbers import ColumnNumbers, PanelNumbers, SplitNumbers, WholeNumbers
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR
from legato.passes.cpu.matrices.panel_splitting import PANELS, PanelSplitting
from legato.passes.cpu.matrices.product_cut import ProductCut
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import ROWS, ends_in_half
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.matrices.row_splitting import RowSplitting
from legato.passes.cpu.matrices.rows_in_f32 import RowsInF32
from legato.passes.cpu.row_product import RowProduct


class PartProducts:
    """Builds the loops of one kernel at the insertion point. ``weights``: packed as the cut's packing says, or where that is in f32, as
    other products may read it, too."""

    def __init__(self, product: RowProduct, cut: ProductCut | DepthCut | OpenCut, machine: CpuMachine, buffers: Buffers, weights: ir.Value):
        self.product, self.packing, self.buffers, self.weights = product, cut.packing, product.by_rows(buffers), weights
        self.vectors = Vectors(machine.lanes(32))
        self.magnitudes = Magnitudes(self.vectors)
        left = buffers.of(product.left)
        self.rows = product.rows_of(left)
        self.cut = replace(cut, rows=self.rows)
        self.left = product.in_rows(left) if product.source is None else self._flattened(left)
        self.whole, self.in_blocks = product.rows is not None and product.rows % ROWS == 0, self.packing.blocks > 1

    def _flattened(self, left: ir.Value) -> ir.Value:
        """All elements of a buffer, among which rows are found."""
        count = prod(left.type.shape) if left.type.has_static_shape else ir.ShapedType.get_dynamic_size()
        type_ = ir.MemRefType.get([count], left.type.element_type)
        return memref.CollapseShapeOp(type_, left, [[*range(left.type.rank)]]).result

    def _source(self, row: Size, column: Size) -> list[Size]:
        """Where an element of a row is."""
        source = self.product.source
        return [row, column] if source is None else [source(row, column)]

    def build(self) -> None:
        """Builds all loops."""
        packing = self.packing
        if packing.at_run_time:
            as_panels = list(self.weights.type.shape) == packing.shape
            self.numbers = (PanelNumbers if as_panels else ColumnNumbers)(self.weights, packing, self.vectors)
        else:
            self.numbers = SplitNumbers(self.weights, packing, self.vectors)
        self.in_f32 = RowsInF32(self.left, self._source, self.rows, packing, self.vectors, self.numbers)
        self.multiply()

    def multiply(self) -> None:
        """Builds the loops over what threads multiply."""
        self.cut.each_share(self._chunk, self._allocate)

    def _allocate(self) -> None:
        """Allocates the buffers of a thread."""
        cut = self.cut
        # of a tile and a panel; or of all that are at hand, where blocks of the depth add to them
        self.sums = scratch(cut.chunk * ROWS, cut.panels_each * COLUMNS) if self.in_blocks else scratch(ROWS, COLUMNS)
        self.allocate_parts(scratch(cut.chunk, element=self.magnitudes.bits))

    def allocate_parts(self, greatest: ir.Value) -> None:
        """Allocates the buffers of a thread for parts. ``greatest``: that for the greatest magnitude of each tile."""
        self.greatest = greatest
        self.splitting = RowSplitting(self.left, self._source, self.packing, self.vectors, self.cut.chunk, greatest)
        self.panels = PanelSplitting(self.numbers, self.packing, self.vectors) if isinstance(self.numbers, WholeNumbers) else None

    def needs_f32(self, *slots: Size) -> ir.Value:
        """Whether the tile in some slots has a number that is no sum of parts, or all are so small that products would be lost."""
        return self.magnitudes.need_f32(joined(arith.maxui, [read(self.greatest, slot) for slot in slots]))

    def _chunk(self, share: Share) -> None:
        """The products of a chunk, in blocks of the depth where there are several."""
        if not self.in_blocks:
            self._split_rows(share, 0)

            def product(panel: Size, tile: Size) -> None:
                if_else(self.needs_f32(plus(share.slot, tile)), lambda: self._in_f32(share, tile, panel),
                        lambda: self._by_parts(share, tile, panel, 0))
                self._outputs(share, tile, panel)

            self._each_of_split(share, 0, product, [] if self.panels is None else [self._some_need_f32(share)])
            return
        self._each(share, lambda panel, tile: self._clear(share, tile, panel))
        loop(0, self.packing.blocks, 1, lambda block: self._block(share, block))

        def result(panel: Size, tile: Size) -> None:
            when(self.needs_f32(plus(share.slot, tile)), lambda: self._in_f32(share, tile, panel))
            self._outputs(share, tile, panel)

        self._each(share, result)

    def _block(self, share: Share, block: Size, first: Size = 0) -> None:
        """What a block of the depth adds to the sums of a chunk. ``first``: that which sums begin with."""
        self._split_rows(share, block, first)
        self._each_of_split(share, block, lambda panel, tile: self._by_parts(share, tile, panel, block))

    def _each(self, share: Share, body: Callable[[Size, Size], None]) -> None:
        """Does something for each panel and each tile."""
        loop(share.begin, share.end, 1, lambda panel: loop(0, share.count, 1, lambda tile: body(panel, tile)))

    def _split_rows(self, share: Share, block: Size, first: Size = 0) -> None:
        """Splits rows of a chunk, and meanwhile fetches the first panels."""
        def split(tile: Size) -> None:
            def fetch(step: Size) -> None:
                if self.panels is not None:
                    loop(0, PANELS, 1, lambda number: self._fetch(share, block, plus(share.begin, number), step, steps, tile))

            row, steps = share.row(tile), self.splitting.steps(block)
            self.splitting.split(row, self._rows(row), tile, plus(share.slot, tile), block, first, fetch)

        loop(0, share.count, 1, split)

    def _each_of_split(self, share: Share, block: Size, body: Callable[[Size, Size], None], alone: Sequence[ir.Value] = ()) -> None:
        """Does something for each panel and each tile. Tiles that are multiplied split the panel after theirs; what they do not is split
        before: the first panel, and all where one of the conditions ``alone`` holds, or no tile is more than a matrix."""
        if (panels := self.panels) is None:
            self._each(share, body)
            return
        alone = [*alone, below(self._whole_tiles(share), 1)] if self._may_end_in_half else alone

        def multiply(panel: Size) -> None:
            def split(step: Size) -> None:
                panels.split(block, panel, step, self._which(share, panel))

            when(joined(arith.ori, [below(panel, plus(share.begin, 1)), *alone]), lambda: loop(0, self.splitting.steps(block), 1, split))
            loop(0, share.count, 1, lambda tile: body(panel, tile))

        loop(share.begin, share.end, 1, multiply)

    def _some_need_f32(self, share: Share) -> ir.Value:
        """Whether a tile of a chunk needs f32."""
        def or_one(tile: Size, found: ir.Value) -> list[ir.Value]:
            return [arith.ori(found, self.needs_f32(plus(share.slot, tile)))]

        return loop(0, share.count, 1, or_one, [arith.ConstantOp(ir.IntegerType.get_signless(1), 0).result])[0]

    @property
    def _may_end_in_half(self) -> bool:
        """Whether the last tile may be one matrix."""
        return not isinstance(self.rows, int) or ends_in_half(self.rows)

    def _whole_tiles(self, share: Share) -> Size:
        """The tiles of a chunk that are more than a matrix."""
        if not self._may_end_in_half:
            return share.count
        return least(share.count, rounded_up(minus(minus(self.rows, share.row(0)), SIDE), ROWS))

    def _split_next(self, share: Share, block: Size, panel: Size, tile: Size) -> Callable[[Size], None] | None:
        """What splits, at each step of a tile that is more than a matrix, a part of the panel after this one, if there is one."""
        if (panels := self.panels) is None:
            return None
        following, each = plus(panel, 1), rounded_up(DEPTH, most(1, self._whole_tiles(share)))
        begin = times(tile, each)
        end = chosen(below(following, share.end), least(plus(begin, each), DEPTH), 0)
        return lambda step: panels.split(block, following, step, self._which(share, following), begin, end)

    @staticmethod
    def _which(share: Share, panel: Size) -> Size:
        """The place of a panel that is split."""
        return remainder(minus(panel, share.begin), PANELS)

    def _fetch(self, share: Share, block: Size, panel: Size, step: Size, steps: Size, tile: Size) -> None:
        """Fetches a part of a panel that is split when the kernel runs, at a step of a tile."""
        if self.panels is not None:
            self.panels.numbers.fetch(block, panel, step, steps, tile, share.count, self.cut.chunk)

    def _rows(self, row: Size) -> Size:
        """The rows of a tile that begins with a row."""
        return ROWS if self.whole else least(ROWS, minus(self.rows, row))

    def _place(self, share: Share, tile: Size, panel: Size) -> list[Size]:
        """Where the sums of a tile and a panel are."""
        if not self.in_blocks:
            return [0, 0]
        return [times(plus(share.slot, tile), ROWS), times(minus(panel, share.begin), COLUMNS)]

    def _clear(self, share: Share, tile: Size, panel: Size) -> None:
        """Begins sums."""
        row, column = self._place(share, tile, panel)

        def one(i: ir.Value) -> None:
            for j in range(0, COLUMNS, self.vectors.lanes):
                self.vectors.store(self.vectors.splat(0), self.sums, plus(row, i), plus(column, j))

        loop(0, ROWS, 1, one)

    def _by_parts(self, share: Share, tile: Size, panel: Size, block: Size) -> None:
        """The sums of the products of a tile with a panel in a block. A tile of few rows is one matrix."""
        rows = self._rows(share.row(tile))
        if not self._may_end_in_half:
            self._multiply(ROWS, share, tile, panel, block)
        else:
            if_else(below(SIDE, rows), lambda: self._multiply(ROWS, share, tile, panel, block),
                    lambda: self._multiply(SIDE, share, tile, panel, block))

    def _multiply(self, rows: int, share: Share, tile: Size, panel: Size, block: Size) -> None:
        """The sums of the first rows of a tile, whose parts are matrices."""
        parts, steps = self.packing.parts, self.splitting.steps(block)
        matrices, of_panel = self.weights, [plus(times(block, self.packing.panels), panel)]
        if self.panels is not None:
            matrices, of_panel = self.panels.matrices, []
        later = least(plus(panel, PANELS), minus(share.end, 1))     # behind the last one, which is near, are other threads'
        split_next = self._split_next(share, block, panel, tile) if rows == ROWS else None
        which = self._which(share, panel)

        def step(number: ir.Value, sums: ir.Value) -> list[ir.Value]:
            self._fetch(share, block, later, number, steps, tile)
            if split_next is not None:
                split_next(number)
            place = number if self.panels is None else self.panels.place(which, number)
            left = read_matrix(self.splitting.pairs, [tile, number, 0, 0, 0, 0], [parts, rows, SIDE, PAIR])
            right = read_matrix(matrices, [*of_panel, place, 0, 0, 0, 0], [parts, SIDE, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        at = self._place(share, tile, panel)
        begun = read_matrix(self.sums, at, [rows, COLUMNS]) if self.in_blocks else no_sums(rows, COLUMNS)
        sums, = loop(0, steps, 1, step, [begun])
        write_sums(sums, self.sums, *at)

    def _in_f32(self, share: Share, tile: Size, panel: Size) -> None:
        """The sums of the products of a tile with numbers that are no sums of parts, over the whole depth."""
        row = share.row(tile)
        self.in_f32.multiply(row, self._rows(row), panel, self.sums, self._place(share, tile, panel))

    def _outputs(self, share: Share, tile: Size, panel: Size) -> None:
        """Writes the rows of a tile through the elementwise ops after the product."""
        row = share.row(tile)
        self.product.write(self.buffers, self.vectors, self.sums, self._place(share, tile, panel), row, self._rows(row),
                           times(panel, COLUMNS), COLUMNS)
