"""The loops of a product of two factors of bf16 that are computed at run time: what ``tir-pair-products`` makes of a kernel.

A panel of columns of the right factor, as wide as a register tile, is put into pairs of rows, which stay in the cache for all rows of the
left one. That is read in place: its pairs are neighbours. Of an odd depth, the last pair has a zero.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from legato.analysis.structured.elements import Term
from legato.analysis.structured.pair_product import PairProductForm, term
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir
from legato.core.register_costs import step_time
from legato.core.vector_loops import Size, Vectors, in_parts, loop, minus, plus, quotient, read, remainder, rounded_up, times
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.matrices.steps import add_products, load_pairs, scratch_rows, spread_pair
from legato.passes.cpu.outer_loops import OuterLoops, element_at

WIDTHS = (2, 4, 3, 1)   # vectors of columns in a tile: of equally fast ones, the first
WORTH_IT = 1 << 20      # multiply-adds from which on several threads pay


@dataclass(frozen=True)
class Panel:
    """A panel of columns, from ``column`` on. ``places``: the position in each loop around a product of matrices; ``counts``: for each
    vector, the columns from its first one on, None where it is whole; ``masks``: those of its lanes, likewise."""

    places: dict[Term, Size]
    column: Size
    counts: list[Size | None]
    masks: list[ir.Value | None]
    thread: Size


def tile_of(rows: int, columns: int | None, machine: CpuMachine) -> tuple[int, int]:
    """The rows and the vectors of a tile, of sums that registers hold beside the vectors of columns and an element: those that take the
    least time, with the tiles for the rest."""
    def time(height: int, vectors: int) -> float:
        rest = rows % height
        return rows // height * step_time(height, vectors) + (step_time(rest, vectors) if rest else 0)

    def total(size: tuple[int, int]) -> float:
        height, vectors = size
        if columns is None:
            return time(height, vectors) / vectors
        whole, rest = divmod(-(-columns // machine.lanes(32)), vectors)
        return whole * time(height, vectors) + (time(height, rest) if rest else 0)

    sizes = [(height, vectors) for vectors in WIDTHS for height in range(1, min(rows, (machine.registers - 1) // vectors - 1) + 1)]
    return min(sizes, key=total)


class PanelProducts:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: PairProductForm, machine: CpuMachine, buffers: Buffers):
        self.form, self.buffers, self.vectors = form, buffers, Vectors(machine.lanes(32))
        self.left, self.right = buffers.of(form.left), buffers.of(form.right)
        self.out = buffers.of(list(form.kernel.function.arguments)[-1])
        contraction = form.contraction
        self.row, self.column = term(contraction.rows[-1]), term(contraction.column)
        self.sum = term(contraction.reductions[0])
        self.rows, self.columns = contraction.extents[contraction.rows[-1]] or 0, contraction.extents[contraction.column]
        self.depth, self.pairs = form.depth, -(-form.depth // PAIR)
        self.height, self.width = tile_of(self.rows, self.columns, machine)
        extents = [contraction.extents[loop] for loop in (*form.outer, contraction.column)]
        work = self.rows * self.depth * prod(WORTH_IT if extent is None else extent for extent in extents)
        self.threads = machine.threads if work >= WORTH_IT else 1

    def build(self) -> None:
        """Builds all loops."""
        self.outer = OuterLoops(self.form, self.buffers)
        self.packed, _ = scratch_rows(self.threads * self.pairs, PAIR * self.width * self.vectors.lanes)
        columns, size = self.outer.extent(self.column), self.width * self.vectors.lanes
        if not isinstance(columns, int):
            self._panels(rounded_up(columns, size), 0, self.width, columns)
            return
        whole, rest = divmod(columns, size)
        if whole:
            self._panels(whole, 0, self.width, None)
        if rest:
            self._panels(1, whole * size, -(-rest // self.vectors.lanes), columns)

    def _panels(self, count: Size, first: int, width: int, end: Size | None) -> None:
        """The products of so many panels from column ``first`` on, for each of the outer loops. ``end``: the columns, where a panel may
        have fewer than its vectors."""
        def item(number: ir.Value, thread: Size) -> None:
            places, at = self.outer.places(quotient(number, count)), remainder(number, count)
            column = plus(times(at, width * self.vectors.lanes), first)
            counts = [None if end is None else minus(minus(end, column), j * self.vectors.lanes) for j in range(width)]
            if isinstance(end, int):    # all but the last vector are whole
                counts[:-1] = [None] * (width - 1)
            masks = [None if one is None else self.vectors.mask(one) for one in counts]
            panel = Panel(places, column, counts, masks, thread)
            self._pack(panel)
            whole = self.rows - self.rows % self.height
            loop(0, whole, self.height, lambda row: self._tile(row, self.height, panel))
            if whole < self.rows:
                self._tile(whole, self.rows - whole, panel)

        in_parts(times(count, self.outer.steps), self.threads, item)

    def _pack(self, panel: Panel) -> None:
        """Puts the rows of a panel into pairs."""
        v = self.vectors

        def pair(p: Size, sides: int = PAIR) -> None:
            for j, mask in enumerate(panel.masks):
                at = {**panel.places, self.column: plus(panel.column, j * v.lanes)}
                rows = [v.load_if(mask, self.right, *element_at(self.form.right_index, {**at, self.sum: plus(times(p, PAIR), side)}))
                        for side in range(sides)]
                rows += [v.zeros(ir.BF16Type.get())] * (PAIR - sides)
                v.store(v.interleaved(*rows), self.packed, plus(times(panel.thread, self.pairs), p), j * v.lanes * PAIR)

        loop(0, self.depth // PAIR, 1, lambda p: pair(p))
        if self.depth % PAIR:
            pair(self.pairs - 1, 1)

    def _tile(self, row: Size, height: int, panel: Panel) -> None:
        """The products of a tile of rows with a panel, and what writes their sums."""
        v, form, width = self.vectors, self.form, len(panel.masks)

        def step(load: Callable[..., ir.Value]) -> Callable[..., list[ir.Value]]:
            def add(p: Size, *sums: ir.Value) -> list[ir.Value]:
                pairs = plus(times(panel.thread, self.pairs), p)
                rights = [load_pairs(v, self.packed, pairs, PAIR * v.lanes * j) for j in range(width)]
                places: dict[Term, Size] = {**panel.places, self.sum: times(p, PAIR)}
                lefts = [load(*element_at(form.left_index, {**places, self.row: plus(row, i)})) for i in range(height)]
                return add_products(lefts, rights, sums)
            return add

        sums = loop(0, self.depth // PAIR, 1, step(lambda *at: spread_pair(v, self.left, *at)), [v.splat(0)] * (height * width))
        if self.depth % PAIR:
            sums = step(self._last)(self.pairs - 1, *sums)
        for i in range(height):
            for j, (count, mask) in enumerate(zip(panel.counts, panel.masks, strict=True)):
                at: dict[Term, Size] = {**panel.places, self.row: plus(row, i), self.column: plus(panel.column, j * v.lanes)}
                elements = Elements(form.kernel, self.buffers, v, at, self.column, count, {form.result: sums[i * width + j]})
                v.store_if(mask, elements.tensor(form.returned, form.out), self.out, *element_at(form.out, at))

    def _last(self, *at: Size) -> ir.Value:
        """The last element of an odd depth, and a zero, in all lanes."""
        i16, i32 = map(ir.IntegerType.get_signless, (16, 32))
        return self.vectors.spread(arith.extui(i32, arith.bitcast(i16, read(self.left, *at))))
