"""How a product of f32 in parts of bf16, whose number of rows is known when it runs, is cut into tiles and among threads."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir
from legato.core.vector_loops import Size, below, in_turns, least, loop, minus, most, plus, quotient, remainder, rounded_up, times, value_of
from legato.passes.cpu.matrices.packing import PartsPacking
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import ROWS, SURELY, tiles_at_hand, time_in_f32, time_of

MANY = 1 << 10      # rows, of which the time of a product tells that of more
AT_MOST = 1.1       # of the time in f32, that some more rows may take than the least that are multiplied in parts
BY_ROWS = 4         # chunks for each thread, from which on threads share the rows only


@dataclass(frozen=True)
class OpenCut:
    """Cuts rows into chunks of equally many tiles, and where there are few of them, the panels among the threads, which take what there is
    to be multiplied as they come to it. ``chunk``: the most tiles whose parts are at hand at a time."""

    packing: PartsPacking
    threads: int
    chunk: int
    rows: Size = 0

    @staticmethod
    def of(packing: PartsPacking, machine: CpuMachine) -> OpenCut:
        """The cut of a product by a packed weight. One that stays in the cache is multiplied by one tile after the other."""
        return OpenCut(packing, machine.threads, tiles_at_hand(packing, machine) if packing.at_run_time else 1)

    @property
    def panels_each(self) -> int:
        """The most panels that a thread multiplies at a time."""
        return self.packing.panels

    def each_share(self, body: Callable[[Share], None], begin: Callable[[], None]) -> None:
        """Loops over what threads multiply. ``begin``: builds what each thread does first."""
        chunks, tiles, by_panels = self._parts(self.rows)
        all_tiles, panels = rounded_up(self.rows, ROWS), rounded_up(self.packing.panels, by_panels)

        def share(number: ir.Value, _: Size) -> None:
            first, begin = times(quotient(number, by_panels), tiles), times(remainder(number, by_panels), panels)
            count = most(0, least(tiles, minus(all_tiles, first)))
            body(Share(first, count, begin, least(plus(begin, panels), self.packing.panels), 0))

        if self.threads == 1:
            begin()
            loop(0, times(chunks, by_panels), 1, lambda number: share(number, 0))
        else:
            in_turns(times(chunks, by_panels), self.threads, share, lambda _: begin())

    def time(self, rows: int) -> float:
        """Of a thread."""
        chunks, tiles, by_panels = cast("tuple[int, int, int]", self._parts(rows))
        turns = -(-chunks * by_panels // self.threads)
        return time_of(turns * tiles, -(-self.packing.panels // by_panels), turns, self.packing)

    def compared(self, rows: int) -> float:
        """The time of so many rows, of what they take in f32."""
        return self.time(rows) / time_in_f32(rows, self.packing, self.threads)

    def least_rows(self, step: int = 1) -> int | None:
        """The least multiple of ``step`` that surely takes less time than in f32, and no greater one takes much more, as those just above
        whole tiles may; None: none."""
        compared = [self.compared(rows) for rows in range(step, MANY + step, step)]
        first = max((number + 1 for number, ratio in enumerate(compared) if ratio >= AT_MOST), default=0)
        return next((number * step for number, ratio in enumerate(compared[first:], first + 1) if ratio < SURELY), None)

    def _parts(self, rows: Size) -> tuple[Size, Size, Size]:
        """The chunks of some rows, the tiles of each, and the parts of all panels."""
        tiles, panels = rounded_up(rows, ROWS), min(self.threads, self.packing.panels)
        chunks = most(rounded_up(tiles, self.chunk), most(1, least(tiles, self.threads // panels)))
        if self.threads > 1:
            many = rounded_up(chunks, self.threads)
            few = below(many, BY_ROWS) if isinstance(many, ir.Value) else many < BY_ROWS
            chunks, panels = chosen(few, chunks, times(many, self.threads)), chosen(few, panels, 1)
        return chunks, rounded_up(tiles, chunks), panels


def chosen(condition: bool | ir.Value, size: Size, other: Size) -> Size:
    """One of two sizes."""
    if isinstance(condition, bool):
        return size if condition else other
    return arith.select(condition, value_of(size), value_of(other))
