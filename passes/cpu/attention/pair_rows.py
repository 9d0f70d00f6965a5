"""The rows of an attention in tiles of vectors, whose products are those of pairs of bf16 in lanes (AVX512-BF16)."""
from __future__ import annotations

from collections.abc import Callable

from legato.core.mlir import ir
from legato.core.vector_loops import Size, free_registers, loop, plus, rounded_up, times
from legato.passes.cpu.attention.matrix_rows import MatrixRows
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR
from legato.passes.cpu.matrices.steps import add_products, load_pairs, spread_pair


class PairRows(MatrixRows):
    """Builds the loops over the rows of a block of queries, for one block of keys: copies and softmax are as for matrices."""

    def _product_with_keys(self, row: ir.Value, panel: ir.Value) -> None:
        """The products of a tile of queries and a panel of keys, where their scores will lie."""
        v = self.vectors

        def step(pair: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            keys = [load_pairs(v, self.keys, self._key_row(panel, pair), PAIR * j) for j in range(0, COLUMNS, self.lanes)]
            queries = [spread_pair(v, self.queries, plus(row, i), times(pair, PAIR)) for i in range(self.tiles.rows)]
            return add_products(queries, keys, sums)

        self._summed(-(-self.state.depth // PAIR), step, self.state.s, times(panel, COLUMNS))

    def _product_with_values(self, panel: ir.Value, steps: Size) -> None:
        """The sums over the values of a block of keys for a tile and a panel of columns."""
        v, value = self.vectors, times(panel, self.tiles.keys // (PAIR * DEPTH) * DEPTH)

        def step(pair: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            values = [load_pairs(v, self.values, plus(value, pair), PAIR * j) for j in range(0, COLUMNS, self.lanes)]
            weights = [spread_pair(v, self.weights, i, times(pair, PAIR)) for i in range(self.tiles.rows)]
            return add_products(weights, values, sums)

        self._summed(rounded_up(self.at.keys, PAIR), step, self.state.sums, times(panel, COLUMNS))

    def _summed(self, pairs: Size, step: Callable[..., list[ir.Value]], buffer: ir.Value, column: Size) -> None:
        """Writes the sums of a tile over so many pairs to a buffer's columns."""
        rows, columns = self.tiles.rows, range(0, COLUMNS, self.lanes)
        crowded = 2 * rows * len(columns) > len(self.tiles.registers)
        if crowded:
            free_registers(self.tiles.registers)
        sums = loop(0, pairs, 1, step, [self.vectors.splat(0)] * (rows * len(columns)))
        for i in range(rows):
            for j, lane in enumerate(columns):
                self.vectors.store(sums[i * len(columns) + j], buffer, i, plus(column, lane))
        if crowded:
            free_registers(self.tiles.registers)
