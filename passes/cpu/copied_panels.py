"""The loops of a product by a matrix of the run: what ``tir-copy-panels`` makes of a kernel.

A panel is as many columns as a register tile has. It is copied row by row, or, from a matrix that is turned, in squares that are transposed
in registers: its rows would lie far apart, each in another page, and meet in few sets of a cache. The copy stays in the second cache while
all rows of the left factor are multiplied by it.
"""
from __future__ import annotations

from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, math
from legato.core.vector_loops import Size, Vectors, in_parts, least, loop, minus, plus, quotient, read, scratch, times
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.row_product import RowProduct

TILES = {16: (6, 2), 32: (8, 3)}    # rows and vectors of columns, by the registers; a set of the first cache has lines of eight rows
LOW = 4                     # those of a tile of the rows that are left of an unknown number


class CopiedPanels:
    """Builds the loops of one kernel at the insertion point. ``turned``: whether the rows of ``right`` are the columns of the product."""

    def __init__(self, product: RowProduct, right: ir.Value, turned: bool, machine: CpuMachine, buffers: Buffers):
        self.product, self.buffers, self.turned, self.vectors = product, buffers, turned, Vectors(machine.lanes(32))
        self.left, self.right = buffers.of(product.left), buffers.of(right)
        self.rows = product.rows_of(self.left)
        most, vectors = TILES[machine.registers]
        self.height = most if product.rows is None else -(-product.rows // -(-product.rows // most))
        self.width = vectors * self.vectors.lanes
        work = None if product.rows is None else product.rows * product.depth * product.columns
        self.threads = machine.threads if work is None or work >= WORTH_IT else 1

    def build(self) -> None:
        """Builds all loops, over panels, which threads share, and tiles of rows."""
        panels = -(-self.product.columns // self.width)
        in_parts(panels, self.threads, lambda panel, _: self._panel(times(panel, self.width)), self._allocate)

    def _allocate(self, _: Size) -> None:
        """Allocates the buffers of a thread: of a panel, and the sums of a tile."""
        self.copy = scratch(-(-self.product.depth // self.vectors.lanes) * self.vectors.lanes, self.width)
        self.sums = scratch(self.height, self.width)

    def _panel(self, column: Size) -> None:
        """The products of all rows with a panel from a column on."""
        if self.turned:
            loop(0, self.product.depth, self.vectors.lanes, lambda k: self._transpose(k, column))
        else:
            loop(0, self.product.depth, 1, lambda k: self._copy(k, column))
        first: Size = 0
        for height in (self.height, LOW, 1) if self.product.rows is None else (self.height, self.product.rows % self.height):
            if height:
                end = plus(first, times(quotient(minus(self.rows, first), height), height))
                loop(first, end, height, lambda row, height=height: self._tile(row, height, column))
                first = end

    def _copy(self, k: Size, column: Size) -> None:
        """Copies a row of a panel, with zeros behind the last column."""
        v, some = self.vectors, self.product.columns % self.width
        for j in range(0, self.width, v.lanes):
            mask = v.mask(minus(minus(self.product.columns, column), j)) if some else None
            v.store(v.load_if(mask, self.right, k, plus(column, j)), self.copy, k, j)

    def _transpose(self, k: Size, column: Size) -> None:
        """Copies as many rows of a panel as a vector has lanes, from columns of a matrix, of which the last is read again behind it."""
        v, depth = self.vectors, self.product.depth
        mask = v.mask(minus(depth, k)) if depth % v.lanes else None
        for j in range(0, self.width, v.lanes):
            at = [least(plus(plus(column, j), i), self.product.columns - 1) for i in range(v.lanes)]
            for i, value in enumerate(v.transposed([v.load_if(mask, self.right, one, k) for one in at])):
                v.store(value, self.copy, plus(k, i), j)

    def _tile(self, row: Size, height: int, column: Size) -> None:
        """The results of a tile."""
        v = self.vectors

        def step(k: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            columns = [v.load(self.copy, k, j) for j in range(0, self.width, v.lanes)]
            rows = [v.spread(read(self.left, plus(row, i), k)) for i in range(height)]
            places = [(x, y) for x in rows for y in columns]
            return [math.fma(x, y, sum_) for (x, y), sum_ in zip(places, sums, strict=True)]

        for number, value in enumerate(loop(0, self.product.depth, 1, step, [v.splat(0)] * (height * self.width // v.lanes))):
            i, j = divmod(number * v.lanes, self.width)
            v.store(value, self.sums, i, j)
        self.product.write(self.buffers, v, self.sums, (0, 0), row, height, column, self.width)
