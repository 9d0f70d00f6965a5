"""How a product of f32 in parts of bf16 is cut into tiles and among threads."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.core.vector_loops import Size, in_turns, least, loop, minus, on_threads, plus, quotient, remainder, times
from legato.passes.cpu.matrices.packing import PartsPacking
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import OF_OTHERS, ROWS, SURELY, tiles_at_hand, tiles_in, time_in_f32, time_of

TURNS = 8   # of a thread that multiplies rows of its own


@dataclass(frozen=True)
class ProductCut:
    """How a product of ``rows`` by a packed weight is cut among threads: the rows into ``by_rows`` parts, the panels into ``by_panels``.
    Each thread splits the rows that it multiplies: to read parts from another core's cache takes as long. ``chunk``: the tiles whose
    parts are at hand at a time."""

    rows: int
    packing: PartsPacking
    by_rows: int
    by_panels: int
    chunk: int

    @property
    def tiles(self) -> int:
        """All tiles of rows."""
        return -(-self.rows // ROWS)

    @property
    def threads(self) -> int:
        """All threads."""
        return self.by_rows * self.by_panels

    @property
    def tiles_each(self) -> int:
        """The tiles of a thread."""
        return -(-self.tiles // self.by_rows)

    @property
    def panels_each(self) -> int:
        """The panels of a thread."""
        return -(-self.packing.panels // self.by_panels)

    @property
    def time(self) -> float:
        """Of a thread."""
        tiles = tiles_in(self.rows) if self.by_rows == 1 else self.tiles_each
        return time_of(tiles, self.panels_each, -(-self.tiles_each // self.chunk), self.packing)

    @property
    def time_of_others(self) -> float:
        """What it takes longer to read rows that another thread wrote, if threads shared the rows of the kernel before. Products that are
        not in parts have such, too."""
        return self.tiles_each * self.packing.steps * OF_OTHERS * (1 - 1 / self.by_panels)

    @property
    def pays(self) -> bool:
        """Whether it surely takes less time than in f32."""
        return self.time < SURELY * time_in_f32(self.rows, self.packing, self.threads)

    def each_share(self, body: Callable[[Share], None], begin: Callable[[], None]) -> None:
        """Loops over what threads multiply. Where they share the rows only, they take chunks of these as they come to them. ``begin``:
        builds what each thread does first."""
        if self.by_rows > 1 and self.by_panels == 1:
            chunks = -(-self.tiles // self.chunk)
            at_once = max(1, chunks // (TURNS * self.threads))

            def turn(number: ir.Value, thread: ir.Value) -> None:
                first = times(number, at_once)
                self._chunks(thread, times(first, self.chunk), least(times(plus(first, at_once), self.chunk), self.tiles), body)

            in_turns(-(-chunks // at_once), self.threads, turn, lambda _: begin())
        elif self.threads > 1:
            def part(thread: ir.Value) -> None:
                begin()
                self._chunks(thread, *self._tiles_of(thread), body)

            on_threads(self.threads, part)
        else:
            begin()
            self._chunks(0, 0, self.tiles, body)

    def _tiles_of(self, thread: Size) -> tuple[Size, Size]:
        """The first tile of a thread's, and the one behind the last."""
        begin = least(times(quotient(thread, self.by_panels), self.tiles_each), self.tiles)
        return begin, least(plus(begin, self.tiles_each), self.tiles)

    def _chunks(self, thread: Size, begin: Size, end: Size, body: Callable[[Share], None]) -> None:
        """Some tiles of rows of one thread, a chunk at a time."""
        loop(begin, end, self.chunk, lambda first: body(self._share(thread, first, end)))

    def _share(self, thread: Size, first: Size, end: Size) -> Share:
        """A chunk of a thread's tiles, of which ``end`` is behind the last one."""
        panels = self.packing.panels
        begin = least(times(remainder(thread, self.by_panels), self.panels_each), panels)
        count = self.chunk if self.tiles % (self.by_rows * self.chunk) == 0 else least(self.chunk, minus(end, first))
        return Share(first, count, begin, least(plus(begin, self.panels_each), panels), 0)

    @staticmethod
    def best(rows: int, packing: PartsPacking, machine: CpuMachine) -> ProductCut:
        """The cut that takes the least time."""
        threads = machine.threads if rows * packing.depth * packing.columns >= WORTH_IT else 1
        tiles, fit = -(-rows // ROWS), tiles_at_hand(packing, machine)

        def of(by_rows: int) -> ProductCut:
            each, by_panels = -(-tiles // by_rows), threads // by_rows
            # a weight that stays in the cache is multiplied by one tile after the other, whose parts stay in the first one
            chunks = -(-each // fit) if packing.at_run_time else each
            return ProductCut(rows, packing, by_rows, by_panels, -(-each // chunks))

        cuts = (of(by_rows) for by_rows in range(1, threads + 1) if threads % by_rows == 0)
        return min(cuts, key=lambda cut: cut.time + cut.time_of_others)
