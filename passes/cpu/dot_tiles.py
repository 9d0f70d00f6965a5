"""The loops of a product of rows by the rows of another matrix: what ``tir-turned-products`` makes of a kernel.

A tile is a few rows by four columns, each a sum along vectors of both factors. At its end the lanes of the four sums of a row are added up
together. Rows of the right factor that make vectors of results are a panel, which stays in a cache for the rows at hand.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from legato.analysis.structured.elements import Term
from legato.analysis.structured.pair_product import PairProductForm, term
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
    remainder,
    rounded_up,
    scratch,
    times,
    when,
)
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.outer_loops import OuterLoops, element_at
from legato.passes.cpu.row_product import ProductResult

COLUMNS = 4                 # of a tile
HEIGHTS = {16: 2, 32: 6}    # the rows of one, by the registers
BYTES = 4                   # of an element


class DotTiles:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: PairProductForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.buffers, self.vectors = form, buffers, Vectors(machine.lanes(32))
        self.left, self.right, self.outer = buffers.of(form.left), buffers.of(form.right), OuterLoops(form, buffers)
        contraction = form.contraction
        known = [contraction.extents[loop] for loop in (*form.outer, contraction.rows[-1], contraction.column)]
        self.row, self.column, self.sum = (term(i) for i in (contraction.rows[-1], contraction.column, contraction.reductions[0]))
        self.known_rows, self.rows, self.columns = known[-2], self.outer.extent(self.row), self.outer.extent(self.column)
        most = HEIGHTS[machine.registers]
        self.height = most if self.known_rows is None else -(-self.known_rows // -(-self.known_rows // most))
        self.width = self.vectors.lanes
        self.block = max(1, machine.l2_bytes // 2 // (form.depth * BYTES) // self.height) * self.height
        work = form.depth * prod(WORTH_IT if extent is None else extent for extent in known)
        self.threads = machine.threads if work >= WORTH_IT else 1

    def build(self) -> None:
        """Builds all loops: blocks of rows that stay in the second cache, panels of columns, which threads share, and tiles."""
        panels = rounded_up(self.columns, self.width)

        def block(first: Size, rows: Size) -> None:
            def panel(item: ir.Value, _: Size) -> None:
                self._panel(self.outer.places(quotient(item, panels)), first, rows, times(remainder(item, panels), self.width))

            in_parts(times(panels, self.outer.steps), self.threads, panel, self._allocate)

        if self.known_rows is not None and self.known_rows <= self.block:
            block(0, self.known_rows)
        else:
            loop(0, self.rows, self.block, lambda first: block(first, least(self.block, minus(self.rows, first))))

    def _allocate(self, _: Size) -> None:
        """Allocates the buffer of a thread, of the sums of a tile of rows."""
        self.sums = scratch(self.height, self.width)

    def _panel(self, places: dict[Term, Size], first: Size, rows: Size, column: Size) -> None:
        """The results of some rows from a column on: in tiles, of which the last is lower where that is known, or one row high.
        ``places``: the position in each of the outer loops."""
        full = times(quotient(rows, self.height), self.height)
        loop(0, full, self.height, lambda row: self._tiles(places, plus(first, row), self.height, column))
        if self.known_rows is None:
            loop(full, rows, 1, lambda row: self._tiles(places, plus(first, row), 1, column))
        elif rest := self.known_rows % self.height:
            when(exceeds(minus(rows, full), 0), lambda: self._tiles(places, plus(first, full), rest, column))

    def _tiles(self, places: dict[Term, Size], row: Size, height: int, column: Size) -> None:
        """The results of ``height`` rows, a panel wide. Behind the last column of the product it is computed again."""
        def tile(first: ir.Value) -> None:
            at = [least(plus(plus(column, first), i), minus(self.columns, 1)) for i in range(COLUMNS)]
            sums = self._sums(places, row, height, at)
            for i in range(height):
                total = self._total(sums[i * COLUMNS:(i + 1) * COLUMNS])
                Vectors(COLUMNS).store(total, self.sums, i, first)

        loop(0, self.width, COLUMNS, tile)
        result = ProductResult(self.form, self.columns, lambda at: {**places, self.row: at}, self.column)
        result.write(self.buffers, self.vectors, self.sums, (0, 0), row, height, column, self.width)

    def _sums(self, places: dict[Term, Size], row: Size, height: int, columns: Sequence[Size]) -> list[ir.Value]:
        """Vectors whose lanes add up to the results of a tile, row by row."""
        v, form = self.vectors, self.form
        whole = form.depth // v.lanes * v.lanes

        def step(k: Size, sums: Sequence[ir.Value], mask: ir.Value | None = None) -> list[ir.Value]:
            at = {**places, self.sum: k}
            right = [v.load_if(mask, self.right, *element_at(form.right_index, {**at, self.column: column})) for column in columns]
            left = [v.load_if(mask, self.left, *element_at(form.left_index, {**at, self.row: plus(row, i)})) for i in range(height)]
            pairs = [(x, y) for x in left for y in right]
            return [math.fma(x, y, sum_) for (x, y), sum_ in zip(pairs, sums, strict=True)]

        sums = [v.splat(0)] * (height * COLUMNS)
        if whole:
            sums = loop(0, whole, v.lanes, lambda k, *sums: step(k, sums), sums)
        return step(whole, sums, v.mask(form.depth - whole)) if whole < form.depth else sums

    def _total(self, sums: Sequence[ir.Value]) -> ir.Value:
        """A vector of four sums over the lanes of a vector each. In each four lanes, pairs of vectors are added in turns, then pairs of
        pairs; then the fours."""
        pairs = [self._crossed(sums[first], sums[first + 1], ((0, 1), (2, 3)), 1) for first in (0, 2)]
        total = self._crossed(pairs[0], pairs[1], ((0,), (2,)), 2)
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
