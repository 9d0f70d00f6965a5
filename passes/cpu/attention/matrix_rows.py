"""The rows of an attention in tiles whose products are those of matrices of bf16 (AMX).

Queries, keys, values and the exponentials of softmax are rounded to bf16; sums, scores and softmax are f32. Rows after the last query, and
columns after the last key, are computed with what lies in the buffers there, and not used.
"""
from __future__ import annotations

from legato.analysis.structured.elements import BodyScalar
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import Size, least, loop, minus, plus, quotient, rounded_up, times, value_of
from legato.passes.cpu.attention.softmax import RowSoftmax
from legato.passes.cpu.attention.state import AttentionState
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR
from legato.passes.cpu.matrices.steps import rounded, scratch_rows

STEP = DEPTH * PAIR     # elements that a matrix sums
TOGETHER = 4            # rows whose exponentials are computed at once


class MatrixRows:
    """Builds the loops over the rows of a block of queries, for one block of keys."""

    def __init__(self, state: AttentionState):
        self.state, self.operands, self.at, self.vectors = state, state.operands, state.at, state.vectors
        self.form, self.tiles, self.lanes = state.form, state.tiles, state.lanes
        self.depth = -(-state.depth // STEP)               # steps of the first product
        self.panels = -(-state.columns // COLUMNS)         # of columns of the second
        self.softmax = RowSoftmax(state, self._score, self._keep)

    def allocate(self) -> None:
        """Allocates the scratch buffers, which are a thread's own."""
        tiles, steps = self.tiles, self.tiles.keys // STEP
        self.queries, self.query_pairs = scratch_rows(tiles.queries, self.depth * STEP)
        self.keys, self.key_pairs = scratch_rows(steps * self.depth * DEPTH, COLUMNS * PAIR)
        self.values, self.value_pairs = scratch_rows(self.panels * steps * DEPTH, COLUMNS * PAIR)
        self.weights, self.weight_pairs = scratch_rows(tiles.rows, tiles.keys + STEP)

    # --- copies ---

    def pack_queries(self) -> None:
        """Copies the queries of a block."""
        def row(r: ir.Value) -> None:
            for d in range(0, self.depth * STEP, self.lanes):
                value = self._element(self.form.query, "d", d, self.state.depth, m=plus(r, self.at.first_row))
                self.vectors.store(value, self.queries, r, d)

        loop(0, self.at.rows, 1, row)

    def _pack_keys(self) -> None:
        """Copies the keys of a block: for each panel of them, in steps of depth, pairs along the depth."""
        def copied(panel: ir.Value) -> None:
            for lane in range(0, COLUMNS, self.lanes):
                (self._key_columns if self.form.keys_are_columns else self._key_rows)(panel, lane)

        loop(0, rounded_up(self.at.keys, COLUMNS), 1, copied)

    def _key_row(self, panel: ir.Value, pair: Size) -> Size:
        """The row of the copy with a pair of a panel's keys."""
        return plus(times(panel, self.depth * DEPTH), pair)

    def _key_columns(self, panel: ir.Value, lane: int) -> None:
        at = plus(times(panel, COLUMNS), lane)

        def part(d: Size) -> ir.Value:
            return self._element(self.form.key, "n", at, self.at.keys, d=d)

        def pair(p: ir.Value) -> None:
            self._put_pair(part(times(p, PAIR)), part(plus(times(p, PAIR), 1)), self.keys, self._key_row(panel, p), lane)

        pairs = self.state.depth // PAIR
        loop(0, pairs, 1, pair)
        if self.state.depth % PAIR:
            self._put_pair(part(self.state.depth - 1), self._zeros(), self.keys, self._key_row(panel, value_of(pairs)), lane)
        first = -(-self.state.depth // PAIR)
        loop(first, self.depth * DEPTH, 1, lambda p: self._put_pair(self._zeros(), self._zeros(), self.keys, self._key_row(panel, p), lane))

    def _key_rows(self, panel: ir.Value, lane: int) -> None:
        """Transposes squares of keys and pairs. After the last key, that is repeated."""
        v, i32 = self.vectors, ir.IntegerType.get_signless(32)
        pairs = ir.VectorType.get([self.lanes * PAIR], ir.BF16Type.get())
        for step in range(self.depth):
            rows = []
            for i in range(self.lanes):
                n = least(plus(times(panel, COLUMNS), lane + i), minus(self.at.keys, 1))
                low, high = (self._element(self.form.key, "d", d, self.state.depth, n=plus(n, self.at.first_key))
                             for d in (step * STEP, step * STEP + self.lanes))
                rows.append(vector.BitCastOp(v.of(i32), vector.ShuffleOp(low, high, list(range(2 * self.lanes))).result).result)
            for i, value in enumerate(v.transposed(rows)):
                v.store(vector.BitCastOp(pairs, value).result, self.keys, self._key_row(panel, step * DEPTH + i), lane * PAIR)

    def _pack_values(self) -> None:
        """Copies the values of a block of keys: for each panel of columns, pairs of keys. After the last key, that is repeated: the
        exponentials there are 0."""
        steps = self.tiles.keys // STEP * DEPTH

        def pair(p: ir.Value) -> None:
            keys = [plus(least(plus(times(p, PAIR), side), minus(self.at.keys, 1)), self.at.first_key) for side in range(PAIR)]
            for e in range(0, self.panels * COLUMNS, self.lanes):
                even, odd = (self._element(self.form.value, "e", e, self.state.columns, n=n) for n in keys)
                row = plus(e // COLUMNS * steps, p)
                self._put_pair(even, odd, self.values, row, e % COLUMNS)

        loop(0, times(rounded_up(self.at.keys, STEP), DEPTH), 1, pair)

    def _element(self, scalar: BodyScalar, lane: str, at: Size, extent: Size | None, **places: Size) -> ir.Value:
        """A vector of elements of a factor along one of its loops, as products read them, with zeros beyond its extent (None: none is
        beyond). Keys are counted from the block's first one."""
        count = None
        if extent is not None and not (isinstance(at, int) and isinstance(extent, int) and at + self.lanes <= extent):
            count = minus(extent, at)
            if isinstance(count, int) and count <= 0:
                return self._zeros()
        places[lane] = plus(at, self.at.first_key) if lane == "n" else at
        value = self._as_read(self.operands.elements(lane, count, **places).scalar(scalar))
        return value if count is None else arith.select(self.vectors.mask(count), value, self._zeros())

    def _as_read(self, value: ir.Value) -> ir.Value:
        """A vector of a factor as products read it."""
        return rounded(self.vectors, value)

    def _zeros(self) -> ir.Value:
        return self.vectors.zeros(ir.BF16Type.get())

    def _put_pair(self, even: ir.Value, odd: ir.Value, buffer: ir.Value, row: Size, lane: int) -> None:
        self.vectors.store(self.vectors.interleaved(even, odd), buffer, row, lane * PAIR)

    # --- tiles ---

    def build(self) -> None:
        """Builds the loops at the insertion point, after copies of keys and values."""
        self._pack_keys()
        self._pack_values()
        self._tiles()

    def _tiles(self) -> None:
        loop(0, self.at.rows, self.tiles.rows, self._tile)

    def _tile(self, row: ir.Value) -> None:
        steps = rounded_up(self.at.keys, STEP)
        loop(0, steps, 1, lambda panel: self._product_with_keys(row, panel))
        rows = least(minus(self.at.rows, row), self.tiles.rows)
        whole = times(quotient(rows, TOGETHER), TOGETHER)
        loop(0, whole, TOGETHER, lambda i: self._softmax(row, i, TOGETHER))
        if self.tiles.rows % TOGETHER or (self.form.extent("m") or 1) % TOGETHER:
            loop(whole, rows, 1, lambda i: self._softmax(row, i, 1))
        loop(0, self.panels, 1, lambda panel: self._product_with_values(panel, steps))
        loop(0, rows, 1, lambda i: self.state.take_sums(row, i))

    def _product_with_keys(self, row: ir.Value, panel: ir.Value) -> None:
        """The products of a tile of queries and a panel of keys, where their scores will lie."""
        rows = self.tiles.rows

        def step(d: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.query_pairs, [row, times(d, DEPTH), 0], [rows, DEPTH, PAIR])
            right = read_matrix(self.key_pairs, [self._key_row(panel, times(d, DEPTH)), 0, 0], [DEPTH, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        (sums,) = loop(0, self.depth, 1, step, [no_sums(rows, COLUMNS)])
        write_sums(sums, self.state.s, 0, times(panel, COLUMNS))

    def _softmax(self, row: ir.Value, i: Size, together: int) -> None:
        self.row = row
        self.softmax.build(row, i, together)

    def _score(self, line: Size, panel: ir.Value, j: int, rest: Size | None) -> ir.Value:
        product = self.vectors.load(self.state.s, line, plus(times(panel, COLUMNS), j * self.lanes))
        return self.state.score(product, self.row, line, panel, j, rest)

    def _keep(self, power: ir.Value, line: Size, panel: ir.Value, j: int) -> None:
        at = plus(times(panel, COLUMNS), j * self.lanes)
        self.vectors.store(rounded(self.vectors, power), self.weights, line, at)

    def _product_with_values(self, panel: ir.Value, steps: Size) -> None:
        """The sums over the values of a block of keys for a tile and a panel of columns."""
        rows, most = self.tiles.rows, self.tiles.keys // STEP

        def step(n: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.weight_pairs, [0, times(n, DEPTH), 0], [rows, DEPTH, PAIR])
            first = plus(times(panel, most), n)
            right = read_matrix(self.value_pairs, [times(first, DEPTH), 0, 0], [DEPTH, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        (sums,) = loop(0, steps, 1, step, [no_sums(rows, COLUMNS)])
        write_sums(sums, self.state.sums, 0, times(panel, COLUMNS))
