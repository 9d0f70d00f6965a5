"""Few rows of an attention, one after the other: keys and values are read once, where they lie."""
from __future__ import annotations

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import Size, exceeds, joined, least, loop, minus, plus, times, value_of, when
from legato.passes.cpu.attention.softmax import RowSoftmax
from legato.passes.cpu.attention.state import AttentionState
from legato.passes.cpu.attention.vector_rows import VectorRows

SUMS = 8  # vectors of columns whose sums over values are in registers: as many as hide the latency of fused multiply-adds


class RowByRow:
    """Builds the loops over the rows of a block of queries, for one block of keys.

    A product with keys is a sum along the depth for each of as many keys as a vector has lanes. These vectors are transposed, and added up.
    """

    def __init__(self, state: AttentionState):
        self.state, self.operands, self.at = state, state.operands, state.at

    def build(self) -> None:
        """Builds the loops at the insertion point."""
        copied = self.operands.copied
        self.operands.copied = tuple(name for name in copied if name == "query")
        loop(0, self.at.rows, 1, self._row)
        self.operands.copied = copied

    def _row(self, row: ir.Value) -> None:
        full, rest = self.operands.panels()
        loop(0, full, 1, lambda panel: self._scores(row, panel, None))
        when(exceeds(rest, 0), lambda: self._scores(row, value_of(full), rest))
        RowSoftmax(self.state).build(row, index(0), 1)
        for at in range(0, self.state.width, SUMS * self.operands.lanes):
            VectorRows(self.state).sum_values(1, at, SUMS)
        self.state.take_sums(row, index(0))

    def _scores(self, row: ir.Value, panel: ir.Value, rest: Size | None) -> None:
        v, lanes = self.operands.vectors, self.operands.lanes
        for j in range(self.operands.panel // lanes):
            first = plus(times(panel, self.operands.panel), j * lanes)
            places = [plus(first, i) for i in range(lanes)]
            if rest is not None:  # after the last key, that is repeated
                places = [least(place, minus(self.at.keys, 1)) for place in places]
            products = joined(arith.addf, v.transposed(self._products(row, places)))
            self.state.score(products, row, 0, panel, j, rest)

    def _products(self, row: ir.Value, keys: list[Size]) -> list[ir.Value]:
        """For each key a vector whose elements add up to its product with the query."""
        depth, lanes = self.state.depth, self.operands.lanes

        def step(d: Size, sums: list[ir.Value], count: int | None) -> list[ir.Value]:
            query = self.operands.query_part(row, d, count)
            return [vector.FMAOp(query, self.operands.key_part(key, d, count), total).result for key, total in zip(keys, sums)]

        sums, whole = [self.operands.vectors.splat(0)] * len(keys), depth // lanes * lanes
        if whole:
            sums = loop(0, whole, lanes, lambda d, *sums: step(d, list(sums), None), sums)
        return step(whole, sums, depth - whole) if whole < depth else sums
