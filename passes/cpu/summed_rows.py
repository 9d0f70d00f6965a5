"""The loops of a product of one row by a matrix of the run: what ``tir-sum-rows`` makes of a kernel.

The result is the sum of the matrix's rows, each times an element of the row. Sums of a block of columns stay in the first cache while the
matrix is read as it lies in memory, several rows side by side: down a tile of columns each row would be on another page.
"""
from __future__ import annotations

from legato.analysis.structured.elements import Term
from legato.analysis.structured.pair_product import PairProductForm, term
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir, math
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    in_parts,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    rounded_up,
    scratch,
    times,
    when,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.outer_loops import element_at
from legato.passes.cpu.row_product import ProductResult

ROWS = 6            # that are added at a time: with the sums, fewer than a set of the first cache has lines
COLUMNS = 2048      # of a block, at most: half of a small first cache


class SummedRows:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: PairProductForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.buffers, self.vectors = form, buffers, Vectors(machine.lanes(32))
        self.left, self.right = buffers.of(form.left), buffers.of(form.right)
        contraction = form.contraction
        self.column, self.sum = term(contraction.column), term(contraction.reductions[0])
        self.row: dict[Term, Size] = {} if contraction.row is None else {term(contraction.row): 0}
        self.columns = contraction.extents[contraction.column] or 0
        self.threads = machine.threads if form.depth * self.columns >= WORTH_IT // 4 else 1
        lanes = self.vectors.lanes
        self.block = min(COLUMNS, rounded_up(rounded_up(self.columns, self.threads), lanes) * lanes)

    def build(self) -> None:
        """Builds all loops: blocks of columns, which threads share."""
        in_parts(rounded_up(self.columns, self.block), self.threads, lambda block, _: self._block(times(block, self.block)), self._allocate)

    def _allocate(self, _: Size) -> None:
        """Allocates the buffer of a thread, of the sums of a block."""
        self.sums = scratch(1, self.block)

    def _block(self, first: Size) -> None:
        """The results of a block of columns."""
        v, depth = self.vectors, self.form.depth
        count = least(self.block, minus(self.columns, first))
        loop(0, self.block, v.lanes, lambda j: v.store(v.splat(0), self.sums, 0, j))
        whole = depth // ROWS * ROWS
        if whole:
            loop(0, whole, ROWS, lambda k: self._add(first, count, k, ROWS))
        if whole < depth:
            self._add(first, count, whole, depth - whole)
        result = ProductResult(self.form, self.columns, lambda _: self.row, self.column)
        loop(0, count, v.lanes, lambda j: result.write(self.buffers, v, self.sums, (0, j), 0, 1, plus(first, j), v.lanes))

    def _add(self, first: Size, count: Size, k: Size, rows: int) -> None:
        """Adds some rows of the matrix, from row ``k`` on."""
        v = self.vectors
        factors = [v.spread(read(self.left, *element_at(self.form.left_index, {**self.row, self.sum: plus(k, i)}))) for i in range(rows)]

        def vector(j: Size, mask: ir.Value | None = None) -> None:
            total = v.load(self.sums, 0, j)
            for i, factor in enumerate(factors):
                place = element_at(self.form.right_index, {self.sum: plus(k, i), self.column: plus(first, j)})
                total = math.fma(v.load_if(mask, self.right, *place), factor, total)
            v.store(total, self.sums, 0, j)

        whole = times(quotient(count, v.lanes), v.lanes)
        loop(0, whole, v.lanes, vector)
        if self.columns % v.lanes:
            when(below(whole, count), lambda: vector(whole, v.mask(minus(count, whole))))
