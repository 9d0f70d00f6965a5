"""The rows of an attention of f32 in tiles whose products are those of matrices of bf16 (AMX), with f32's precision.

Queries, keys, values and the exponentials of softmax are sums of parts of bf16, as in ``matrices.part_products``. A block of keys that has,
or whose values have, a number that is no sum of parts is multiplied in f32, row by row, and so is one for queries that have such a number.
"""
from __future__ import annotations

from collections.abc import Callable

from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import (
    Size,
    below,
    if_else,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    rounded_up,
    scratch,
    times,
    write,
)
from legato.passes.cpu.attention.matrix_rows import MatrixRows
from legato.passes.cpu.attention.row_by_row import RowByRow
from legato.passes.cpu.attention.state import AttentionState
from legato.passes.cpu.matrices.magnitudes import Magnitudes
from legato.passes.cpu.matrices.number_parts import pairs_of_parts
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, STEP
from legato.passes.cpu.matrices.steps import scratch_rows


class PartRows(MatrixRows):
    """Builds the loops over the rows of a block of queries, for one block of keys. The first element of a step and its middle one are a
    pair, and so on: those of queries and keys along the depth, those of exponentials and values along the keys."""

    def __init__(self, state: AttentionState):
        super().__init__(state)
        self.parts, self.magnitudes = state.tiles.parts, Magnitudes(state.vectors)
        self.most = self.tiles.keys // STEP         # steps of a block of keys
        self.in_turn: list[ir.Value] = []

    def allocate(self) -> None:
        """Allocates the scratch buffers, which are a thread's own."""
        tiles, parts = self.tiles, self.parts
        self.query_tiles = -(-tiles.queries // tiles.rows)
        self.queries, self.query_pairs = scratch_rows(self.query_tiles, self.depth, parts, tiles.rows, STEP)
        self.keys, self.key_pairs = scratch_rows(self.most, self.depth, parts, DEPTH, COLUMNS * PAIR)
        self.values, self.value_pairs = scratch_rows(self.panels * self.most, parts, DEPTH, COLUMNS * PAIR)
        self.weights, self.weight_pairs = scratch_rows(self.most, parts, tiles.rows, STEP)
        self.greatest = scratch(1, element=self.magnitudes.bits)

    # --- copies ---

    def pack_queries(self) -> None:
        """Copies the queries of a block, and keeps their greatest magnitude."""
        def row(r: ir.Value, greatest: ir.Value) -> list[ir.Value]:
            tile, line = quotient(r, self.tiles.rows), remainder(r, self.tiles.rows)
            for step in range(self.depth):
                numbers = [self._element(self.form.query, "d", step * STEP + side * DEPTH, self.state.depth, m=plus(r, self.at.first_row))
                           for side in range(PAIR)]
                self._put(numbers, self.queries, tile, step, line, 0)
                greatest = self.magnitudes.greatest(greatest, numbers)
            return [greatest]

        greatest, = loop(0, self.at.rows, 1, row, [self.magnitudes.none])
        write(self.magnitudes.of_all(greatest), self.greatest, 0)

    def _copied_keys(self) -> ir.Value:
        """Copies the keys of a block: for each panel of them, in steps of depth. The greatest magnitudes."""
        by_columns, halves = self.form.keys_are_columns, COLUMNS // self.lanes

        def half(number: ir.Value, greatest: ir.Value) -> list[ir.Value]:
            panel, lane = quotient(number, halves), times(remainder(number, halves), self.lanes)
            return [(self._columns_of_keys if by_columns else self._rows_of_keys)(panel, lane, greatest)]

        return loop(0, times(rounded_up(self.at.keys, COLUMNS), halves), 1, half, [self.magnitudes.none])[0]

    def _columns_of_keys(self, panel: Size, lane: Size, greatest: ir.Value) -> ir.Value:
        v, depth, first = self.vectors, self.state.depth, plus(times(panel, COLUMNS), lane)

        def numbers(d: Size) -> ir.Value:
            if depth % STEP == 0:
                return self._element(self.form.key, "n", first, self.at.keys, d=d)
            inside = v.spread(below(d, depth))
            return arith.select(inside, self._element(self.form.key, "n", first, self.at.keys, d=least(d, depth - 1)), v.splat(0))

        def pair(number: ir.Value, greatest: ir.Value) -> list[ir.Value]:
            step, row = quotient(number, DEPTH), remainder(number, DEPTH)
            both = [numbers(plus(times(step, STEP), plus(row, side * DEPTH))) for side in range(PAIR)]
            self._put(both, self.keys, panel, step, row, times(lane, PAIR))
            return [self.magnitudes.greatest(greatest, both)]

        return loop(0, self.depth * DEPTH, 1, pair, [greatest])[0]

    def _rows_of_keys(self, panel: Size, lane: Size, greatest: ir.Value) -> ir.Value:
        """Transposes squares of keys and pairs. After the last key, that is repeated."""
        v, words = self.vectors, self.vectors.of(self.magnitudes.bits)
        halves = ir.VectorType.get([PAIR * self.lanes], ir.BF16Type.get())

        def square(step: Size, greatest: ir.Value, extent: int | None = None) -> list[ir.Value]:
            rows: list[list[ir.Value]] = [[] for _ in range(self.parts)]
            for i in range(self.lanes):
                n = least(plus(times(panel, COLUMNS), plus(lane, i)), minus(self.at.keys, 1))
                at = [plus(times(step, STEP), side * DEPTH) for side in range(PAIR)]
                numbers = [self._element(self.form.key, "d", d, extent, n=plus(n, self.at.first_key)) for d in at]
                greatest = self.magnitudes.greatest(greatest, numbers)
                for part, pairs in zip(rows, pairs_of_parts(v, numbers, self.parts)):
                    part.append(vector.BitCastOp(words, pairs).result)
            for number, part in enumerate(rows):
                for row, value in enumerate(v.transposed(part)):
                    v.store(vector.BitCastOp(halves, value).result, self.keys, panel, step, number, row, times(lane, PAIR))
            return [greatest]

        whole, rest = divmod(self.state.depth, STEP)
        if whole:
            greatest, = loop(0, whole, 1, square, [greatest])
        return square(whole, greatest, self.state.depth)[0] if rest else greatest

    def _copied_values(self, greatest: ir.Value) -> ir.Value:
        """Copies the values of a block of keys, for each panel of columns. After the last key, that is repeated: the exponentials there
        are 0. The greatest magnitudes so far."""
        def pair(number: ir.Value, greatest: ir.Value) -> list[ir.Value]:
            step, row = quotient(number, DEPTH), remainder(number, DEPTH)
            keys = [least(plus(times(step, STEP), plus(row, side * DEPTH)), minus(self.at.keys, 1)) for side in range(PAIR)]
            for e in range(0, self.panels * COLUMNS, self.lanes):
                numbers = [self._element(self.form.value, "e", e, self.state.columns, n=plus(n, self.at.first_key)) for n in keys]
                self._put(numbers, self.values, self._values_at(e // COLUMNS, step), row, e % COLUMNS * PAIR)
                greatest = self.magnitudes.greatest(greatest, numbers)
            return [greatest]

        return loop(0, times(rounded_up(self.at.keys, STEP), DEPTH), 1, pair, [greatest])[0]

    def _values_at(self, panel: Size, step: Size) -> Size:
        """The number of the copy of a panel of columns at a step of keys."""
        return plus(times(panel, self.most), step)

    def _as_read(self, value: ir.Value) -> ir.Value:
        return value

    def _zeros(self) -> ir.Value:
        return self.vectors.splat(0)

    def _put(self, numbers: list[ir.Value], buffer: ir.Value, *at: Size) -> None:
        """Writes the parts of two vectors, in pairs, to a row of each from a column on."""
        *outer, row, column = at
        for part, pairs in enumerate(pairs_of_parts(self.vectors, numbers, self.parts)):
            self.vectors.store(pairs, buffer, *outer, part, row, column)

    # --- tiles ---

    def build(self) -> None:
        """Builds the loops at the insertion point, after copies of keys and values."""
        greatest = self._copied_values(self._copied_keys())
        of_both = arith.maxui(self.magnitudes.of_all(greatest), read(self.greatest, 0))
        if_else(self.magnitudes.need_f32(of_both), RowByRow(self.state).build, self._tiles)

    def _product_with_keys(self, row: ir.Value, panel: ir.Value) -> None:
        def step(d: ir.Value, sums: ir.Value) -> list[ir.Value]:
            tile = quotient(row, self.tiles.rows)
            left = read_matrix(self.query_pairs, [tile, d, 0, 0, 0, 0], [self.parts, self.tiles.rows, DEPTH, PAIR])
            right = read_matrix(self.key_pairs, [panel, d, 0, 0, 0, 0], [self.parts, DEPTH, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        self._summed(self.depth, step, self.state.s, panel)

    def _keep(self, power: ir.Value, line: Size, panel: ir.Value, j: int) -> None:
        self.in_turn.append(power)
        if len(self.in_turn) == PAIR:
            numbers, self.in_turn = self.in_turn, []
            self._put(numbers, self.weights, panel, line, 0)

    def _product_with_values(self, panel: ir.Value, steps: Size) -> None:
        def step(n: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.weight_pairs, [n, 0, 0, 0, 0], [self.parts, self.tiles.rows, DEPTH, PAIR])
            right = read_matrix(self.value_pairs, [self._values_at(panel, n), 0, 0, 0, 0], [self.parts, DEPTH, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        self._summed(steps, step, self.state.sums, panel)

    def _summed(self, steps: Size, step: Callable[..., list[ir.Value]], buffer: ir.Value, panel: Size) -> None:
        sums, = loop(0, steps, 1, step, [no_sums(self.tiles.rows, COLUMNS)])
        write_sums(sums, buffer, 0, times(panel, COLUMNS))
