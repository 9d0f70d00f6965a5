"""Sums of the rows of a factor, for products by Strassen's algorithm, and which rows may be summed."""
from __future__ import annotations

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, Vectors, loop, plus, quotient, read, scratch, times, value_of, write
from legato.passes.cpu.matrices.magnitudes import Magnitudes
from legato.passes.cpu.next_blocks import flattened
from legato.passes.cpu.strassen.balance import are_balanced
from legato.passes.cpu.strassen.tiles import PRODUCTS, StrassenTiles

A11, A12, S1, S2, S4, S3, A22 = range(PRODUCTS)     # in the order of the products

AHEAD = 1 << 10         # elements, at least, between a fetch of a row and its use


class RowSums:
    """The factors of the seven products of each pair of tiles of rows of ``left`` in a chunk: [blocks of the depth, pairs, 7, rows of a
    tile, half of a block]. Rows are an odd number of vectors apart: those that are a power of two apart would meet in one set of the first
    cache."""

    def __init__(self, left: ir.Value, rows: Size, tiles: StrassenTiles, vectors: Vectors):
        self.left, self.rows, self.tiles, self.vectors = left, rows, tiles, vectors
        self.magnitudes = Magnitudes(vectors)
        self.pitch = tiles.lanes * (-(-tiles.half // tiles.lanes) | 1)
        self.memory = scratch(tiles.blocks, tiles.chunk, PRODUCTS, tiles.height, self.pitch)
        self.flat = flattened(self.memory)
        self.balanced = scratch(tiles.chunk, element=ir.IntegerType.get_signless(32))

    def build(self, pair: Size, slot: Size) -> None:
        """Builds the sums of a pair of tiles, row by row, in a place among those at hand; none if the rows end before it does."""
        tiles = self.tiles
        first = times(pair, tiles.each)
        is_whole = arith.cmpi(arith.CmpIPredicate.sle, value_of(plus(first, tiles.each)), value_of(self.rows))

        def row(i: ir.Value, balanced: ir.Value) -> list[ir.Value]:
            return [arith.andi(balanced, are_balanced(*self._sum(plus(first, i), i, slot)))]

        count = arith.select(is_whole, index(tiles.height), index(0))
        balanced, = loop(0, count, 1, row, [is_whole])
        write(arith.extui(self.balanced.type.element_type, balanced), self.balanced, slot)

    def are_balanced(self, slot: Size) -> ir.Value:
        """Whether all rows of a pair of tiles may be summed."""
        return arith.trunci(ir.IntegerType.get_signless(1), read(self.balanced, slot))

    def read(self, block: Size, slot: Size, which: Size, row: int, k: Size) -> ir.Value:
        """An element of a factor."""
        return read(self.memory, block, slot, which, row, k)

    def fetch(self, block: Size, slot: Size, which: Size, k: Size) -> None:
        """Fetches a part of the factor that follows, at a step of a product. Behind the last one that does no harm."""
        size = self.tiles.height * self.pitch
        pairs = plus(times(block, self.tiles.chunk), slot)
        first = times(plus(plus(times(pairs, PRODUCTS), which), 1), size)
        memref.PrefetchOp(self.flat, [value_of(plus(first, times(k, -(-size // self.tiles.half))))], False, 2, True)

    def _sum(self, upper: Size, i: Size, slot: Size) -> list[ir.Value]:
        """Builds the sums of two rows, of which this is the upper one, and the greatest magnitude in each. Fetches what follows."""
        v, half, height = self.vectors, self.tiles.half, self.tiles.height
        lower = plus(upper, height)
        ahead = -(-AHEAD // self.tiles.depth)
        ahead = plus(times(quotient(plus(i, ahead), height), height), ahead)    # behind a tile's end, rows of the next pair's tile

        def block(number: ir.Value, *greatest: ir.Value) -> list[ir.Value]:
            start = times(number, 2 * half)

            def step(k: Size, of_upper: ir.Value, of_lower: ir.Value, mask: ir.Value | None = None) -> list[ir.Value]:
                places = [(row, plus(plus(start, k), first)) for row in (upper, lower) for first in (0, half)]
                for row, column in places:
                    memref.PrefetchOp(self.left, [value_of(plus(row, ahead)), value_of(column)], False, 2, True)
                a11, a12, a21, a22 = (v.load_if(mask, self.left, *at) for at in places)
                s1 = arith.addf(a21, a22)
                s2 = arith.subf(s1, a11)
                factors = {S1: s1, S2: s2, S3: arith.subf(a11, a21), S4: arith.subf(a12, s2), A11: a11, A12: a12, A22: a22}
                for which, value in factors.items():
                    v.store(value, self.memory, number, slot, which, i, k)
                return [self.magnitudes.greatest(of_upper, [a11, a12]), self.magnitudes.greatest(of_lower, [a21, a22])]

            whole = half // v.lanes * v.lanes
            last = loop(0, whole, v.lanes, step, greatest)
            return last if whole == half else step(whole, *last, mask=v.mask(half - whole))

        return [self.magnitudes.of_all(greatest) for greatest in loop(0, self.tiles.blocks, 1, block, [self.magnitudes.none] * 2)]
