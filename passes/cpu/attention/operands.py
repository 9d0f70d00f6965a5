"""Queries, keys and values as the products of an attention read them: in place, or copied block by block to scratch buffers."""
from __future__ import annotations

from dataclasses import dataclass, field

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import Term
from legato.core.interfaces import AttentionTilesLike
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import (
    Size,
    Vectors,
    exceeds,
    least,
    loop,
    minus,
    plus,
    quotient,
    read,
    remainder,
    scratch,
    times,
    value_of,
    when,
)
from legato.passes.cpu.elements import Buffers, Elements


@dataclass
class BlockPosition:
    """Where code is built: the values of the loops around. ``batch``: positions by loop; ``first_row``, ``rows``: the block of queries;
    ``first_key``, ``keys``: that of keys."""

    batch: dict[Term, Size] = field(default_factory=dict)
    first_row: Size = 0
    rows: Size = 0
    first_key: Size = 0
    keys: Size = 0


class AttentionOperands:
    """The operands of one attention at ``at``. ``hides``: whether keys that a mask hides at the end are left out."""

    def __init__(self, form: AttentionForm, tiles: AttentionTilesLike, buffers: Buffers, depth: int, columns: int):
        self.form, self.tiles, self.buffers, self.depth, self.columns = form, tiles, buffers, depth, columns
        self.at = BlockPosition()
        self.copied, self.hides = tiles.copied, False
        self.vectors = Vectors(tiles.lanes)
        self.lanes, self.panel = tiles.lanes, tiles.vectors * tiles.lanes
        self.width = -(-columns // self.lanes) * self.lanes

    def allocate(self) -> None:
        """Allocates the scratch buffers, which are a thread's own."""
        tiles = self.tiles
        if "query" in tiles.copied:
            self.q = scratch(tiles.queries, self.depth)
        if "key" in tiles.copied:
            self.k = scratch(tiles.keys // self.panel, self.depth, self.panel)
        if "value" in tiles.copied:
            self.v = scratch(-(-self.width // self.panel), tiles.keys, self.panel)

    def elements(self, lane: Term, count: Size | None = None, known: dict[ir.Value, ir.Value] | None = None, **places: Size) -> Elements:
        """Vectors of elements along a loop at the blocks' position; ``places``: positions in the loops inside."""
        return Elements(self.form.kernel, self.buffers, self.vectors, {**self.at.batch, **places}, lane, count, known)

    def wide(self, value: ir.Value) -> ir.Value:
        """A vector of floats as f32."""
        if value.type == self.vectors.type:
            return value
        narrow = value.type.element_type.width < 32
        return (arith.extf if narrow else arith.truncf)(self.vectors.type, value)

    def pack_queries(self) -> None:
        """Copies the queries of a block, row by row."""
        def row(r: ir.Value) -> None:
            for d, count in self._vectors_of(self.depth):
                value = self.wide(self.elements("d", count, m=plus(r, self.at.first_row), d=d).scalar(self.form.query))
                self.put(value, self.q, count, r, d)

        loop(0, self.at.rows, 1, row)

    def pack_values(self) -> None:
        """Copies the values of a block of keys, in panels of as many columns as a register tile has."""
        def row(n: ir.Value) -> None:
            for e, count in self._vectors_of(self.columns):
                value = self.wide(self.elements("e", count, n=plus(n, self.at.first_key), e=e).scalar(self.form.value))
                self.vectors.store(value, self.v, e // self.panel, n, e % self.panel)

        loop(0, self.at.keys, 1, row)

    def _vectors_of(self, extent: int) -> list[tuple[int, int | None]]:
        """The vectors that cover a loop, with the number of lanes inside where not all are."""
        return [(at, extent - at if at + self.lanes > extent else None) for at in range(0, extent, self.lanes)]

    def put(self, value: ir.Value, buffer: ir.Value, count: int | None, *at: Size) -> None:
        """Stores a vector, or its first lanes."""
        if count is None:
            self.vectors.store(value, buffer, *at)
        else:
            vector.MaskedStoreOp(buffer, [*map(value_of, at)], self.vectors.mask(count), value)

    def pack_keys(self) -> None:
        """Copies keys in panels: for each step along the depth, some vectors of neighbouring keys.

        Lanes after the last key hold zeros, or copies of it.
        """
        along = self._panel_of_columns if self.form.keys_are_columns else self._panel_of_rows
        full, rest = self.panels()
        loop(0, full, 1, lambda panel: along(panel, None))
        when(exceeds(rest, 0), lambda: along(value_of(full), rest))

    def query(self, row: Size, d: Size) -> ir.Value:
        """One element of a query of the block, in all lanes."""
        if "query" in self.copied:
            return self.vectors.spread(read(self.q, row, d))
        return self.elements("n", m=plus(row, self.at.first_row), d=d).scalar(self.form.query)

    def key(self, panel: ir.Value, d: Size, lane: int, rest: Size | None) -> ir.Value:
        """A vector of neighbouring keys of a panel at one step along the depth. ``rest``: the keys of a panel that is not whole."""
        if "key" in self.copied:
            return self.vectors.load(self.k, panel, d, lane)
        n = plus(times(panel, self.panel), plus(self.at.first_key, lane))
        return self.elements("n", None if rest is None else minus(rest, lane), n=n, d=d).scalar(self.form.key)

    def query_part(self, row: Size, d: Size, count: int | None) -> ir.Value:
        """A vector along the depth of a query of the block; zeros after its first ``count`` lanes."""
        mask = None if count is None else self.vectors.mask(count)
        if "query" in self.copied:
            return self.vectors.load_if(mask, self.q, row, d)
        value = self.wide(self.elements("d", count, m=plus(row, self.at.first_row), d=d).scalar(self.form.query))
        return value if mask is None else arith.select(mask, value, self.vectors.splat(0))

    def key_part(self, n: Size, d: Size, count: int | None) -> ir.Value:
        """A vector along the depth of a key of the block of keys; zeros after its first ``count`` lanes."""
        value = self.wide(self.elements("d", count, n=plus(n, self.at.first_key), d=d).scalar(self.form.key))
        return value if count is None else arith.select(self.vectors.mask(count), value, self.vectors.splat(0))

    def value(self, n: Size, e: int) -> ir.Value:
        """A vector of neighbouring columns of the values of one key."""
        if "value" in self.copied:
            return self.vectors.load(self.v, e // self.panel, n, e % self.panel)
        count = self.columns - e if e + self.lanes > self.columns else None
        return self.elements("e", count, n=plus(n, self.at.first_key), e=e).scalar(self.form.value)

    def panels(self) -> tuple[Size, Size]:
        """The number of whole panels in a block of keys, and the number of keys after them."""
        whole = (extent := self.form.extent("n")) is not None and extent % self.panel == 0 and not self.hides
        return quotient(self.at.keys, self.panel), 0 if whole else remainder(self.at.keys, self.panel)

    def _panel_of_columns(self, panel: ir.Value, rest: Size | None) -> None:
        def step(d: ir.Value) -> None:
            for lane in range(0, self.panel, self.lanes):
                at = plus(times(panel, self.panel), lane)
                count = None if rest is None else minus(rest, lane)
                value = self.wide(self.elements("n", count, n=plus(at, self.at.first_key), d=d).scalar(self.form.key))
                self.vectors.store(value, self.k, panel, d, lane)

        loop(0, self.depth, 1, step)

    def _panel_of_rows(self, panel: ir.Value, rest: Size | None) -> None:
        """Transposes squares of keys and depth. After the last key, that is repeated."""
        def block(lane: int, d: Size, count: int | None) -> None:
            rows = []
            for i in range(self.lanes):
                n = plus(times(panel, self.panel), lane + i)
                if rest is not None:
                    n = least(n, minus(self.at.keys, 1))
                rows.append(self.wide(self.elements("d", count, n=plus(n, self.at.first_key), d=d).scalar(self.form.key)))
            for i, value in enumerate(self.vectors.transposed(rows)[:count]):
                self.vectors.store(value, self.k, panel, plus(d, i), lane)

        def square(lane: int) -> None:
            whole = self.depth // self.lanes * self.lanes
            if whole:
                loop(0, whole, self.lanes, lambda d: block(lane, d, None))
            if whole < self.depth:
                block(lane, whole, self.depth - whole)

        def clear(lane: int) -> None:
            loop(0, self.depth, 1, lambda d: self.vectors.store(self.vectors.splat(0), self.k, panel, d, lane))

        for lane in range(0, self.panel, self.lanes):
            if rest is None or lane == 0:
                square(lane)
            else:  # old contents may be denormal, which makes products slow
                clear(lane)
                when(exceeds(rest, lane), lambda lane=lane: square(lane))
