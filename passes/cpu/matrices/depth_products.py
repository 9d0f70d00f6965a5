"""The loops of a deep product of f32 by AMX, of which each thread multiplies a part of the depth."""
from __future__ import annotations

from typing import cast

from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, if_else, in_parts, joined, loop, on_threads, plus, quotient, remainder, scratch, times
from legato.passes.cpu.matrices.depth_cut import DepthCut
from legato.passes.cpu.matrices.packing import COLUMNS
from legato.passes.cpu.matrices.part_products import PartProducts
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import ROWS


class DepthProducts(PartProducts):
    """Builds the loops of one kernel, cut as ``DepthCut`` says: each thread's sums, then the results, of which a thread writes some
    rows'."""

    def multiply(self) -> None:
        """Builds the loops over what threads multiply, then over the results."""
        cut = self._depth_cut
        self.sums = scratch(cut.threads * cut.chunk * ROWS, cut.panels_each * COLUMNS)
        greatest = scratch(cut.threads * cut.chunk, element=self.magnitudes.bits)

        def part(thread: ir.Value) -> None:
            self.allocate_parts(greatest)
            self._sum(thread)

        on_threads(cut.threads, part)
        in_parts(cut.chunk * cut.packing.panels, cut.threads, self._result)

    @property
    def _depth_cut(self) -> DepthCut:
        return cast(DepthCut, self.cut)

    def _sum(self, thread: Size) -> None:
        """A thread's sums."""
        share, each = self._depth_cut.share(thread), self._depth_cut.blocks_each
        first = times(thread, each)
        self._each(share, lambda panel, tile: self._clear(share, tile, panel))
        loop(0, each, 1, lambda number: self._block(share, plus(first, number), first))

    def _result(self, item: ir.Value, thread: Size) -> None:
        """The result of a tile and a panel, from all threads' sums."""
        cut = self._depth_cut
        share, tile, panel = cut.share(thread), quotient(item, cut.packing.panels), remainder(item, cut.packing.panels)
        needs_f32 = self.needs_f32(*(plus(cut.share(one).slot, tile) for one in range(cut.threads)))
        if_else(needs_f32, lambda: self._in_f32(share, tile, panel), lambda: self._add(share, tile, panel))
        self._outputs(share, tile, panel)

    def _add(self, share: Share, tile: Size, panel: Size) -> None:
        """Adds the sums of all threads, in their order."""
        cut, v = self._depth_cut, self.vectors
        into, *places = (self._place(one, tile, panel) for one in (share, *map(cut.share, range(cut.threads))))

        def one(i: ir.Value) -> None:
            for j in range(0, COLUMNS, v.lanes):
                sums = [v.load(self.sums, plus(row, i), plus(column, j)) for row, column in places]
                v.store(joined(arith.addf, sums), self.sums, plus(into[0], i), plus(into[1], j))

        loop(0, ROWS, 1, one)
