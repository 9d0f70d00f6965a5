"""The loops of a product of rows by the rows of another matrix: what ``tir-turned-products`` makes of a kernel.

A tile is a few rows by four columns, each a sum along vectors of both factors. At its end the lanes of the four sums of a row are added up
together. Rows of the right factor that make vectors of results are a panel, which stays in a cache for the rows at hand.
"""
from __future__ import annotations

from collections.abc import Sequence

from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, math, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    exceeds,
    in_parts,
    least,
    loop,
    minus,
    part,
    plus,
    quotient,
    scratch,
    times,
    when,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.row_product import RowProduct

COLUMNS = 4                 # of a tile
HEIGHTS = {16: 2, 32: 6}    # the rows of one, by the registers
BYTES = 4                   # of an element


class DotTiles:
    """Builds the loops of one kernel at the insertion point. ``right``: the factor whose rows are the columns of the product."""

    def __init__(self, product: RowProduct, right: ir.Value, machine: CpuMachine, buffers: Buffers):
        self.product, self.buffers, self.vectors = product, buffers, Vectors(machine.lanes(32))
        self.left, self.right = buffers.of(product.left), buffers.of(right)
        self.rows = product.rows_of(self.left)
        most = HEIGHTS[machine.registers]
        self.height = most if product.rows is None else -(-product.rows // -(-product.rows // most))
        self.width = self.vectors.lanes
        row_bytes = product.depth * BYTES
        self.block = max(1, machine.l2_bytes // 2 // row_bytes // self.height) * self.height
        work = None if product.rows is None else product.rows * product.depth * product.columns
        self.threads = machine.threads if work is None or work >= WORTH_IT else 1

    def build(self) -> None:
        """Builds all loops: blocks of rows that stay in the second cache, panels of columns, which threads share, and tiles."""
        panels = -(-self.product.columns // self.width)

        def block(first: ir.Value) -> None:
            rows = least(self.block, minus(self.rows, first))
            in_parts(panels, self.threads, lambda panel, _: self._panel(first, rows, times(panel, self.width)), self._allocate)

        if isinstance(self.rows, int) and self.rows <= self.block:
            in_parts(panels, self.threads, lambda panel, _: self._panel(0, self.rows, times(panel, self.width)), self._allocate)
        else:
            loop(0, self.rows, self.block, block)

    def _allocate(self, _: Size) -> None:
        """Allocates the buffer of a thread, of the sums of a tile of rows."""
        self.sums = scratch(self.height, self.width)

    def _panel(self, first: Size, rows: Size, column: Size) -> None:
        """The results of some rows from a column on: in tiles, of which the last is lower where that is known, or one row high."""
        full = times(quotient(rows, self.height), self.height)
        loop(0, full, self.height, lambda row: self._tiles(plus(first, row), self.height, column))
        if self.product.rows is None:
            loop(full, rows, 1, lambda row: self._tiles(plus(first, row), 1, column))
        elif rest := self.product.rows % self.height:
            when(exceeds(minus(rows, full), 0), lambda: self._tiles(plus(first, full), rest, column))

    def _tiles(self, row: Size, height: int, column: Size) -> None:
        """The results of ``height`` rows, a panel wide. Behind the last column of the product it is computed again."""
        def tile(first: ir.Value) -> None:
            at = [least(plus(plus(column, first), i), self.product.columns - 1) for i in range(COLUMNS)]
            sums = self._sums(row, height, at)
            for i in range(height):
                total = self._total(sums[i * COLUMNS:(i + 1) * COLUMNS])
                Vectors(COLUMNS).store(total, self.sums, i, first)

        loop(0, self.width, COLUMNS, tile)
        self.product.write(self.buffers, self.vectors, self.sums, (0, 0), row, height, column, self.width)

    def _sums(self, row: Size, height: int, columns: Sequence[Size]) -> list[ir.Value]:
        """Vectors whose lanes add up to the results of a tile, row by row."""
        v, depth = self.vectors, self.product.depth
        whole = depth // v.lanes * v.lanes

        def step(k: Size, sums: Sequence[ir.Value], mask: ir.Value | None = None) -> list[ir.Value]:
            right = [v.load_if(mask, self.right, column, k) for column in columns]
            left = [v.load_if(mask, self.left, plus(row, i), k) for i in range(height)]
            places = [(x, y) for x in left for y in right]
            return [math.fma(x, y, sum_) for (x, y), sum_ in zip(places, sums, strict=True)]

        sums = [v.splat(0)] * (height * COLUMNS)
        if whole:
            sums = loop(0, whole, v.lanes, lambda k, *sums: step(k, sums), sums)
        return step(whole, sums, v.mask(depth - whole)) if whole < depth else sums

    def _total(self, sums: Sequence[ir.Value]) -> ir.Value:
        """A vector of four sums over the lanes of a vector each. In each four lanes, pairs of vectors are added in turns, then pairs of
        pairs; then the fours."""
        pairs = [self._crossed(*sums[first:first + 2], ((0, 1), (2, 3)), 1) for first in (0, 2)]
        total = self._crossed(*pairs, ((0,), (2,)), 2)
        while (lanes := total.type.shape[0]) > COLUMNS:
            total = arith.addf(part(total, 0, lanes // 2), part(total, lanes // 2, lanes // 2))
        return total

    def _crossed(self, a: ir.Value, b: ir.Value, halves: Sequence[Sequence[int]], run: int) -> ir.Value:
        """In each four lanes: runs of the first half of ``a`` and ``b`` in turns, added to those of the second half."""
        lanes = self.vectors.lanes
        groups, sides = range(0, lanes, COLUMNS), (0, lanes)
        orders = [[group + start + i + side for group in groups for start in half for side in sides for i in range(run)]
                  for half in halves]
        return arith.addf(*(vector.ShuffleOp(a, b, order).result for order in orders))
