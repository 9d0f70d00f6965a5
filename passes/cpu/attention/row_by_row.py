"""Few rows of an attention, one after the other: keys and values are read once, where they lie."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import Size, exceeds, joined, least, loop, minus, plus, quotient, times, value_of, when
from legato.passes.cpu.attention.softmax import RowSoftmax
from legato.passes.cpu.attention.state import PAIR, AttentionState
from legato.passes.cpu.attention.vector_rows import VectorRows

SUMS = 8  # vectors of columns whose sums over values are in registers: as many as hide the latency of fused multiply-adds
IN_REGISTERS = 8  # vectors of a query
AT_ONCE = (4, 2, 1)  # rows whose sums over values are computed at once


class RowByRow:
    """Builds the loops over the rows of a block of queries, for one block of keys.

    A product with keys is a sum along the depth for each of as many keys as a vector has lanes. These vectors are transposed, and added up.
    All rows take the keys of one panel before the next one is read, and several at once the values.
    """

    def __init__(self, state: AttentionState, all_fit: bool = False):
        """``all_fit``: whether a block has at most as many rows as there are buffers for."""
        self.state, self.operands, self.at, self.all_fit = state, state.operands, state.at, all_fit
        self.first: Size = 0    # the row of the block that the first buffer is for
        self.rows: Size = 0     # those that buffers are for

    def build(self) -> None:
        """Builds the loops at the insertion point."""
        copied = self.operands.copied
        self.operands.copied = tuple(name for name in copied if name == "query")
        if self.all_fit:
            self._group(0, self.at.rows)
        else:
            most = self.state.held_rows
            loop(0, self.at.rows, most, lambda first: self._group(first, least(minus(self.at.rows, first), most)))
        self.operands.copied = copied

    def _group(self, first: Size, rows: Size) -> None:
        """Some rows from ``first`` on."""
        self.first, self.rows = first, rows
        full, rest = self.operands.panels()
        loop(0, full, 1, lambda panel: self._panel(panel, None))
        when(exceeds(rest, 0), lambda: self._panel(value_of(full), rest))
        softmax, line = RowSoftmax(self.state), value_of(first)
        loop(0, rows, 1, lambda row: softmax.build(line, row, 1))
        self._in_tiles(AT_ONCE, self._values)
        loop(0, rows, 1, lambda row: self.state.take_sums(line, row))

    def _panel(self, panel: ir.Value, rest: Size | None) -> None:
        """The scores of all rows for one panel of keys."""
        pair = PAIR if PAIR * min(self.state.depth // self.operands.lanes, IN_REGISTERS) <= len(self.state.tiles.registers) // 2 else 1
        self._in_tiles((pair, 1) if rest is None else (1,), lambda row, rows: self._scores(row, rows, panel, rest))

    def _in_tiles(self, sizes: Sequence[int], body: Callable[[ir.Value, int], None]) -> None:
        """All rows: ``body(first row, number of rows)`` for tiles of the first size, then for those of the next."""
        done: Size = 0
        for rows in dict.fromkeys(sizes):
            stop = plus(done, times(quotient(minus(self.rows, done), rows), rows))
            loop(done, stop, rows, lambda row, rows=rows: body(row, rows))
            done = stop

    def _values(self, row: ir.Value, rows: int) -> None:
        """The sums over values of some rows."""
        most = max(min(SUMS, len(self.state.tiles.registers) // 2 // rows), 1)
        for at in range(0, self.state.width, most * self.operands.lanes):
            VectorRows(self.state).sum_values(rows, at, most, row)

    def _scores(self, row: ir.Value, rows: int, panel: ir.Value, rest: Size | None) -> None:
        v, lanes = self.operands.vectors, self.operands.lanes
        for j in range(self.operands.panel // lanes):
            first = plus(times(panel, self.operands.panel), j * lanes)
            self._products(row, rows, first, rest)
            for r in range(rows):
                parts = [v.load(self.state.parts, r, i, 0) for i in range(lanes)]
                self.state.score(joined(arith.addf, v.transposed(parts)), value_of(self.first), plus(row, r), panel, j, rest)

    def _products(self, row: ir.Value, rows: int, first: Size, rest: Size | None) -> None:
        """Writes, for each row and each of some keys, a vector whose elements add up to their product. Keys are read as they lie in memory,
        one after the other: processors fetch what follows. After the last key, that is repeated."""
        depth, lanes, v = self.state.depth, self.operands.lanes, self.operands.vectors
        whole = depth // lanes * lanes
        held = min(whole, IN_REGISTERS * lanes)

        def queries(d: Size, count: int | None = None) -> list[ir.Value]:
            return [self.operands.query_part(plus(plus(row, r), self.first), d, count) for r in range(rows)]

        of_first = [queries(d) for d in range(0, held, lanes)]
        of_last = queries(whole, depth - whole) if whole < depth else []

        def key(i: ir.Value) -> None:
            at = plus(first, i)
            if rest is not None:
                at = least(at, minus(self.at.keys, 1))

            def added(parts: list[ir.Value], d: Size, totals: Sequence[ir.Value], count: int | None = None) -> list[ir.Value]:
                part = self.operands.key_part(at, d, count)
                return [vector.FMAOp(query, part, total).result for query, total in zip(parts, totals)]

            totals = [v.splat(0)] * rows
            for j, parts in enumerate(of_first):
                totals = added(parts, j * lanes, totals)
            if held < whole:
                totals = loop(held, whole, lanes, lambda d, *sums: added(queries(d), d, sums), totals)
            for r, total in enumerate(added(of_last, whole, totals, depth - whole) if of_last else totals):
                v.store(total, self.state.parts, r, i, 0)

        loop(0, lanes, 1, key)
