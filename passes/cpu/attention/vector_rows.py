"""The rows of an attention in tiles of vectors of f32, whose sums of products are in registers."""
from __future__ import annotations

from collections.abc import Callable

from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, exceeds, free_registers, loop, minus, plus, quotient, read, times, value_of, when
from legato.passes.cpu.attention.softmax import RowSoftmax
from legato.passes.cpu.attention.state import AttentionState

FEW_ROWS = (4, 1)  # tiles of the rows that are left of a dynamic number


class VectorRows:
    """Builds the loops over the rows of a block of queries, for one block of keys."""

    def __init__(self, state: AttentionState):
        self.state, self.operands, self.at = state, state.operands, state.at
        self.form, self.tiles, self.vectors, self.lanes = state.form, state.tiles, state.vectors, state.lanes
        self.softmax = RowSoftmax(state)

    def build(self) -> None:
        """Builds the loops at the insertion point, after copies of keys and values."""
        if "key" in self.tiles.copied:
            self.operands.pack_keys()
        if "value" in self.tiles.copied:
            self.operands.pack_values()
        self._each_tile(self._tile)

    def _each_tile(self, body: Callable[[ir.Value, int], None]) -> None:
        """The rows of a block in tiles: ``body(first row, number of rows)``."""
        tile, whole = self.tiles.rows, self.form.extent("m")
        full = times(quotient(self.at.rows, tile), tile)
        if whole is None or whole >= tile:
            loop(0, full, tile, lambda row: body(row, tile))
        if whole is not None:
            if whole % tile:
                when(exceeds(minus(self.at.rows, full), 0), lambda: body(value_of(full), whole % tile))
            return
        for few in FEW_ROWS:
            if few < tile:
                end = plus(full, times(quotient(minus(self.at.rows, full), few), few))
                loop(full, end, few, lambda row, few=few: body(row, few))
                full = end

    # --- one tile of rows ---

    def _tile(self, row: ir.Value, rows: int) -> None:
        full, rest = self.operands.panels()
        loop(0, full, 1, lambda panel: self._scores(row, rows, panel, None))
        when(exceeds(rest, 0), lambda: self._scores(row, rows, value_of(full), rest))
        together = next(size for size in (4, 3, 2, 1) if rows % size == 0)
        loop(0, rows, together, lambda i: self.softmax.build(row, i, together))
        for at in range(0, self.state.width, self.state.panel):
            self.sum_values(rows, at, self.tiles.vectors)
        loop(0, rows, 1, lambda i: self.state.take_sums(row, i))

    def _scores(self, row: ir.Value, rows: int, panel: ir.Value, rest: Size | None) -> None:
        """The scores of a tile for one panel of keys; -inf after the last key."""
        v, tiles = self.vectors, range(self.tiles.vectors)

        def step(d: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            keys = [self.operands.key(panel, d, j * self.lanes, rest) for j in tiles]
            found = []
            for i in range(rows):
                query = self.operands.query(plus(row, i), d)
                found += [vector.FMAOp(query, key, sums[i * len(keys) + j]).result for j, key in enumerate(keys)]
            return found

        sums = loop(0, self.state.depth, 1, step, [v.splat(0)] * (rows * len(tiles)))
        for i in range(rows):
            for j in tiles:
                self.state.score(sums[i * len(tiles) + j], row, i, panel, j, rest)

    def sum_values(self, rows: int, at: int, most: int, first: Size = 0) -> None:
        """The sums over values of some rows of a tile from ``first`` on, for at most so many vectors of columns from ``at`` on. They are
        taken row by row afterwards: what scales the rows would be in registers meanwhile."""
        v, state = self.vectors, self.state
        columns = [at + j * self.lanes for j in range(min(most, (state.width - at) // self.lanes))]

        def step(n: ir.Value, *sums: ir.Value) -> list[ir.Value]:
            values = [self.operands.value(n, e) for e in columns]
            found = []
            for i in range(rows):
                power = v.spread(read(state.s, plus(first, i), n))
                found += [vector.FMAOp(power, value, sums[i * len(values) + j]).result for j, value in enumerate(values)]
            return found

        crowded = 2 * rows * len(columns) > len(self.tiles.registers)
        if crowded:
            free_registers(self.tiles.registers)
        sums = loop(0, self.at.keys, 1, step, [v.splat(0)] * (rows * len(columns)))
        for i in range(rows):
            for value, e in zip(sums[i * len(columns): (i + 1) * len(columns)], columns, strict=True):
                v.store(value, state.sums, plus(first, i), e)
        if crowded:
            free_registers(self.tiles.registers)
