"""Rows of f32 in parts of bf16, for products of matrices, and whether all of their numbers are sums of these."""
from __future__ import annotations

from collections.abc import Callable

from legato.core.cpu_table import LINE
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, below, least, loop, minus, plus, read, times, value_of, when, write
from legato.passes.cpu.matrices.magnitudes import Magnitudes
from legato.passes.cpu.matrices.number_parts import pairs_of_parts
from legato.passes.cpu.matrices.packing import DEPTH, PAIR, STEP, PartsPacking
from legato.passes.cpu.matrices.product_times import ROWS
from legato.passes.cpu.matrices.steps import scratch_rows


class RowSplitting:
    """Splits rows of ``left`` [..., depth], a tile of them by a block of the depth at a time, into buffers of its own: ``pairs`` [tiles,
    steps, parts, rows of a tile, pairs, 2] is what products read. ``source``: where an element of a row is; ``greatest``: the buffer for
    the greatest magnitudes of tiles, as bits."""

    def __init__(self, left: ir.Value, source: Callable[[Size, Size], list[Size]], packing: PartsPacking, vectors: Vectors, tiles: int,
                 greatest: ir.Value):
        self.left, self.source, self.packing, self.vectors = left, source, packing, vectors
        self.magnitudes = Magnitudes(vectors)
        self.parts, self.pairs = scratch_rows(tiles, packing.in_block, packing.parts, ROWS, STEP)
        self.greatest = greatest

    def steps(self, block: Size) -> Size:
        """The steps of a block; the last one may have fewer."""
        in_block = self.packing.in_block
        if self.packing.steps % in_block == 0:
            return in_block
        return least(in_block, minus(self.packing.steps, times(block, in_block)))

    def split(self, row: Size, rows: Size, tile: Size, slot: Size, block: Size, first_block: Size, beside: Callable[[Size], None]) -> None:
        """Splits what a block reads of the rows of a tile, and keeps the greatest magnitude in these so far, from the first block on, in a
        slot. Fetches the same of the next tile, whose rows are streams too many for the hardware to follow. ``beside``: what else is done
        at a step."""
        v, start = self.vectors, times(block, self.packing.in_block)

        def steps(number: Size, greatest: ir.Value, count: int = STEP) -> list[ir.Value]:
            column = times(plus(start, number), STEP)
            beside(number)

            def one(i: ir.Value, greatest: ir.Value) -> list[ir.Value]:
                at = plus(row, i)
                for first in range(0, DEPTH, v.lanes):
                    numbers = [self._load(at, plus(column, begin), count - begin) for begin in (first, first + DEPTH)]
                    self._write(numbers, tile, number, i, PAIR * first)
                    greatest = self.magnitudes.greatest(greatest, numbers)
                for first in range(0, count, LINE // 4):
                    later = self.source(plus(at, ROWS), plus(column, first))
                    memref.PrefetchOp(self.left, [*map(value_of, later)], False, 2, True)
                return [greatest]

            return loop(0, rows, 1, one, [greatest])

        whole, rest = divmod(self.packing.depth, STEP)      # in a step that is not whole, zeros follow the last number of a row
        behind = minus(whole, start)
        greatest, = loop(0, least(self.packing.in_block, behind) if rest else self.steps(block), 1, steps, [self.magnitudes.none])
        most = self.magnitudes.of_all(greatest)
        write(most if block == 0 else arith.maxui(most, self._greatest(slot, block, first_block)), self.greatest, slot)
        if rest:
            def last() -> None:
                greatest, = steps(behind, self.magnitudes.none, rest)
                write(arith.maxui(self.magnitudes.of_all(greatest), read(self.greatest, slot)), self.greatest, slot)

            when(self.packing.blocks == 1 or below(self.packing.blocks - 2, block), last)

    def _greatest(self, slot: Size, block: Size, first_block: Size) -> ir.Value:
        """The greatest magnitude in the blocks before."""
        zero = arith.ConstantOp(self.magnitudes.bits, 0).result
        return arith.select(below(first_block, block), read(self.greatest, slot), zero)

    def _load(self, row: Size, column: Size, count: int) -> ir.Value:
        """A vector of a row, with zeros after so many numbers."""
        mask = None if count >= self.vectors.lanes else self.vectors.mask(max(count, 0))
        return self.vectors.load_if(mask, self.left, *self.source(row, column))

    def _write(self, numbers: list[ir.Value], tile: Size, step: Size, row: ir.Value, place: int) -> None:
        """Writes the parts of two vectors, in pairs."""
        for part, pairs in enumerate(pairs_of_parts(self.vectors, numbers, self.packing.parts)):
            vector.StoreOp(pairs, self.parts, [*map(value_of, (tile, step, part, row, place))])
