"""How the depth of a product of f32 in parts of bf16 is cut among threads."""
from __future__ import annotations

from dataclasses import dataclass, replace

from legato.core.interfaces import CpuMachine
from legato.core.vector_loops import Size, times
from legato.passes.cpu.matrices.packing import PartsPacking
from legato.passes.cpu.matrices.product_share import Share
from legato.passes.cpu.matrices.product_times import OF_OTHERS, ROWS, SUMS_OF_OTHERS, SURELY, tiles_at_hand, tiles_in, time_in_f32, time_of

LEAST_STEPS = 12    # of a thread


@dataclass(frozen=True)
class DepthCut:
    """Cuts the blocks of the depth of a product of ``rows`` by a packed weight among the threads, equally many for each. A thread splits
    its part of all rows only, and adds to its sums those of the others in the end: of a deep product these are far fewer numbers than the
    rows' are."""

    rows: int
    packing: PartsPacking
    threads: int

    @property
    def chunk(self) -> int:
        """The tiles whose parts are at hand at a time: all."""
        return -(-self.rows // ROWS)

    @property
    def panels_each(self) -> int:
        """The panels of a thread: all."""
        return self.packing.panels

    @property
    def blocks_each(self) -> int:
        """The blocks of the depth of a thread."""
        return self.packing.blocks // self.threads

    @property
    def time(self) -> float:
        """Of a thread."""
        tiles, panels, steps = self.chunk, self.packing.panels, self.blocks_each * self.packing.in_block
        return time_of(tiles_in(self.rows), panels, 1, self.packing, steps) + self._shared * tiles * panels * SUMS_OF_OTHERS

    @property
    def time_of_others(self) -> float:
        """What it takes longer to read rows that another thread wrote, if threads shared the rows of the kernel before."""
        return self._shared * self.chunk * self.packing.steps * OF_OTHERS

    @property
    def pays(self) -> bool:
        """Whether it surely takes less time than in f32, where threads share the columns, so that each reads all rows."""
        others = (1 - 1 / self.threads) * self.chunk * self.packing.steps * OF_OTHERS
        return self.time + self.time_of_others < SURELY * time_in_f32(self.rows, self.packing, self.threads) + others

    @property
    def _shared(self) -> float:
        """What a thread reads of the others, of all that there is."""
        return (1 - 1 / self.threads) / self.threads

    def share(self, thread: Size) -> Share:
        """What a thread multiplies."""
        return Share(0, self.chunk, 0, self.packing.panels, times(thread, self.chunk))

    @staticmethod
    def of(rows: int, packing: PartsPacking, threads: int, machine: CpuMachine) -> DepthCut | None:
        """The cut of a deep product whose parts of rows stay in the caches, in blocks that can be shared equally."""
        if threads == 1 or packing.steps < threads * LEAST_STEPS:
            return None
        packing = replace(packing, least_blocks=-(-packing.blocks // threads) * threads)
        if (packing.blocks - 1) * packing.in_block >= packing.steps:    # the last one would have nothing
            return None
        cut = DepthCut(rows, packing, threads)
        return cut if cut.chunk <= tiles_at_hand(packing, machine) else None
