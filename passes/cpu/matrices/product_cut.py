"""How a product of f32 in parts of bf16 is cut into tiles and among threads, and what time it takes."""
from __future__ import annotations

from dataclasses import dataclass

from legato.core.interfaces import CpuMachine
from legato.core.vector_loops import Size, least, minus, plus, quotient, remainder, times
from legato.passes.cpu.matrices.packing import BYTES, STEP, PartsPacking
from legato.passes.cpu.matrices.panel_products import WORTH_IT
from legato.passes.cpu.matrices.products import SIDE

ROWS = 2 * SIDE         # of a tile: two matrices
OF_ROWS, OF_WEIGHT = 0.7, 0.5   # of the second cache, that parts of the rows at hand take, or of a weight that stays there

# nanoseconds of a Xeon with AMX, whose ratios matter
PRODUCT = 150           # of a step of a tile and a panel, whose parts are packed
FAR_PRODUCT = 175       # where they are made when the kernel runs
READ_NEAR = 150         # to read a step of a panel that is packed in parts
SPLIT_FAR = 370         # to read and split one that is packed in f32
SPLIT_ROWS = 170        # of a step of a tile's rows
SUMS = 200              # of a tile and a panel, to write and read their sums
IN_F32 = 0.01           # of a multiply-add, where numbers are not split


def is_near(packing: PartsPacking, machine: CpuMachine) -> bool:
    """Whether a weight in parts stays in a core's second cache."""
    return packing.split_bytes <= machine.l2_bytes * OF_WEIGHT


@dataclass(frozen=True)
class Share:
    """What a thread multiplies at a time: ``count`` tiles of rows from the tile ``first`` on, by the panels from ``begin`` to ``end``.
    ``slot``, ``totals``: the places of the first tile among the parts of rows, and among what blocks of the depth have summed."""

    thread: Size
    first: Size
    count: Size
    begin: Size
    end: Size
    slot: Size
    totals: Size

    def row(self, tile: Size) -> Size:
        """The first row of one of the tiles."""
        return times(plus(self.first, tile), ROWS)


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
    def in_turns(self) -> bool:
        """Whether threads take chunks of rows as they come to them."""
        return self.by_rows > 1 and self.by_panels == 1

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
        tiles, panels, steps = self.tiles_each, self.panels_each, self.packing.steps
        if self.packing.at_run_time:
            of_step = tiles * FAR_PRODUCT + -(-tiles // self.chunk) * SPLIT_FAR
        else:
            of_step = tiles * PRODUCT + READ_NEAR
        return panels * (steps * of_step + tiles * SUMS) + tiles * steps * SPLIT_ROWS

    @property
    def time_in_f32(self) -> float:
        """Of a thread, where numbers are not split."""
        return self.rows * self.packing.depth * self.packing.columns * IN_F32 / self.threads

    def tiles_of(self, thread: Size) -> tuple[Size, Size]:
        """The first tile of a thread's, and the one behind the last."""
        begin = least(times(quotient(thread, self.by_panels), self.tiles_each), self.tiles)
        return begin, least(plus(begin, self.tiles_each), self.tiles)

    def share(self, thread: Size, first: Size, end: Size) -> Share:
        """A chunk of a thread's tiles, of which ``end`` is behind the last one."""
        panels = self.packing.panels
        begin = least(times(remainder(thread, self.by_panels), self.panels_each), panels)
        count = self.chunk if self.tiles % (self.by_rows * self.chunk) == 0 else least(self.chunk, minus(end, first))
        return Share(thread, first, count, begin, least(plus(begin, self.panels_each), panels),
                     times(thread, self.chunk), times(quotient(thread, self.by_panels), self.chunk))

    @staticmethod
    def best(rows: int, packing: PartsPacking, machine: CpuMachine) -> ProductCut:
        """The cut that takes the least time."""
        threads = machine.threads if rows * packing.depth * packing.columns >= WORTH_IT else 1
        tiles, of_tile = -(-rows // ROWS), ROWS * packing.in_block * STEP * packing.parts * BYTES
        fit = max(1, int(machine.l2_bytes * OF_ROWS) // of_tile)

        def of(by_rows: int) -> ProductCut:
            each, by_panels = -(-tiles // by_rows), threads // by_rows
            # a weight that stays in the cache is multiplied by one tile after the other, whose parts stay in the first one
            chunks = each if by_panels == 1 and not packing.at_run_time else -(-each // fit)
            return ProductCut(rows, packing, by_rows, by_panels, -(-each // chunks))

        return min((of(by_rows) for by_rows in range(1, threads + 1) if threads % by_rows == 0), key=lambda cut: cut.time)
