"""What a thread multiplies at a time of a product of f32 in parts of bf16."""
from __future__ import annotations

from dataclasses import dataclass

from legato.core.vector_loops import Size, plus, times
from legato.passes.cpu.matrices.product_times import ROWS


@dataclass(frozen=True)
class Share:
    """What a thread multiplies at a time: ``count`` tiles of rows from the tile ``first`` on, by the panels from ``begin`` to ``end``.
    ``slot``: the place of the first tile among those whose sums are at hand."""

    first: Size
    count: Size
    begin: Size
    end: Size
    slot: Size

    def row(self, tile: Size) -> Size:
        """The first row of one of the tiles."""
        return times(plus(self.first, tile), ROWS)
