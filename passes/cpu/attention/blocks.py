"""Loops over blocks of queries and keys of one attention: what ``tir-tile-attention`` makes of a kernel.

For each block of queries, blocks of keys and values are copied to scratch buffers in the order in which they are read. Tiles of a few
queries then go through a block of keys: their scores stay in the first-level cache, from the product with the keys through softmax to the
product with the values. Where there are several blocks of keys, softmax is that of the keys so far: with a greater maximum, the sums of
exponentials and the sums over values so far are scaled down ("online softmax": Milakov and Gimelshein, arXiv:1805.02867; Dao and others,
arXiv:2205.14135). Keys that a mask of -inf hides from a whole block of queries, at the begin and at the end, are left out.
"""
from __future__ import annotations

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import Term
from legato.core.interfaces import AttentionTilesLike
from legato.core.mlir import ir
from legato.core.vector_loops import (
    Size,
    below,
    if_else,
    in_turns,
    least,
    loop,
    minus,
    quotient,
    remainder,
    rounded_up,
    times,
)
from legato.passes.cpu.attention.matrix_rows import MatrixRows
from legato.passes.cpu.attention.pair_rows import PairRows
from legato.passes.cpu.attention.part_rows import PartRows
from legato.passes.cpu.attention.row_by_row import RowByRow
from legato.passes.cpu.attention.state import AttentionState
from legato.passes.cpu.attention.vector_rows import VectorRows
from legato.passes.cpu.attention.visible_keys import VisibleKeys, may_hide
from legato.passes.cpu.elements import Buffers


class AttentionBlocks:
    """Builds the loops of one kernel at the insertion point."""

    def __init__(self, form: AttentionForm, tiles: AttentionTilesLike, buffers: Buffers):
        self.form, self.tiles, self.buffers = form, tiles, buffers
        self.state = AttentionState(form, tiles, buffers)
        self.at, self.end = self.state.at, self.state.keys
        rows = PartRows if tiles.parts else MatrixRows if tiles.matrices else PairRows
        self.pairs = rows(self.state) if tiles.pairs else None
        self.tiled = self.pairs or VectorRows(self.state)
        self.state.operands.hides = not self.state.single and may_hide(form)
        self.visible = VisibleKeys(form, self.state.operands, self.state.keys) if self.state.operands.hides else None

    @property
    def out(self) -> ir.Value:
        """The buffer of the result."""
        return self.state.out

    # --- work and threads ---

    def build(self) -> None:
        """Builds all loops."""
        batch = [(term, self.state.size(term)) for term in self.form.batch]
        blocks = rounded_up(self.state.rows, self.tiles.queries)
        count: Size = blocks
        for _, size in batch:
            count = times(count, size)
        if self.tiles.threads == 1:
            self._allocate()
            loop(0, count, 1, lambda item: self._item(item, batch, blocks))
        else:
            in_turns(count, self.tiles.threads, lambda item, _: self._item(item, batch, blocks), lambda _: self._allocate())

    def _allocate(self) -> None:
        """Allocates the scratch buffers of a thread."""
        self.state.allocate()
        if self.pairs is not None:
            self.pairs.allocate()

    def _item(self, item: ir.Value, batch: list[tuple[Term, Size]], blocks: Size) -> None:
        """One block of queries of one head."""
        self.at.batch, rest = {}, quotient(item, blocks)
        for term, size in reversed(batch):
            self.at.batch[term] = remainder(rest, size) if size != 1 else 0
            rest = quotient(rest, size)
        self.at.first_row = times(remainder(item, blocks) if blocks != 1 else 0, self.tiles.queries)
        self.at.rows = least(minus(self.state.rows, self.at.first_row), self.tiles.queries)
        if "query" in self.tiles.copied:
            self.state.operands.pack_queries()
        if self.pairs is not None:
            self.pairs.pack_queries()
        if self.state.single:
            self._keys(0)
            return
        self.state.start()
        first, self.end = (0, self.state.keys) if self.visible is None else self.visible.bounds()
        loop(first, self.end, self.tiles.keys, self._keys)
        loop(0, self.at.rows, 1, self.state.finish)

    def _keys(self, first: Size) -> None:
        """One block of keys, for all rows of the block of queries."""
        self.at.first_key = first
        self.at.keys = least(minus(self.end, first), self.tiles.keys)
        few, whole = self.tiles.one_by_one, self.form.extent("m")
        if few and whole is None:
            if_else(below(self.at.rows, few + 1), RowByRow(self.state, all_fit=True).build, self.tiled.build)
        elif few:
            RowByRow(self.state, all_fit=True).build()
        else:
            self.tiled.build()
