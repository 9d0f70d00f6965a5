"""The sizes of products by Strassen's algorithm, and whether they pay."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from legato.core.interfaces import CpuMachine, PackingLike
from legato.core.register_costs import step_time
from legato.passes.cpu.matrices.panel_products import WORTH_IT

PRODUCTS, SIDES = 7, 2
VECTORS = 2             # of columns in a tile, where a panel of the packed weight has twice as many
SPARE = {16: 4, 32: 11}     # registers for what is not a sum, of all: LLVM loads elements of several steps ahead
MANY = 512              # rows: the more one pair of tiles of columns is multiplied by, the less its sums cost; and those of unknown numbers
NEAR = 0.7              # of the second cache, that the sums of rows at hand take at most if they stay there
LAST = 12 << 20         # bytes, likewise of a cache behind it
BYTES = 4               # of an element
PAYS, PAYS_LATER = 0.985, 0.95      # of the time of plain products, that products take at most that surely pay; of unknown numbers of rows

# multiply-adds of a vector that take as long, of one thread of a Zen 4
SUM_OF_COLUMNS = 20     # the sums of a vector of each quarter of a pair of tiles of columns
SUM_OF_ROWS = 60, 90, 120   # of a pair of tiles of rows, which stay in the second cache, in one behind it, or in memory
KEPT = 20               # for each vector of sums of a tile: sums that wait for others, and results


def suits(machine: CpuMachine) -> bool:
    """Whether sums come from the second cache as fast as a CPU multiplies: not where it starts two multiply-adds of 512 bits in a cycle."""
    return machine.has("fma") and (machine.vector_bytes < 64 or machine.multiply_adds == 1)


@dataclass(frozen=True)
class StrassenTiles:
    """A product of ``rows`` (None: known when it runs) by a weight [depth, columns], packed in panels of ``panel`` columns.

    A tile is ``height`` rows by ``vectors`` of ``lanes`` columns. Two tiles of rows one below the other, the halves of the depth, and two
    tiles of columns side by side (a panel's halves, or two panels) are the quarters of a product. ``chunk``: pairs of tiles of rows, whose
    sums are at hand at a time; ``cache``: in which they stay, a place in ``SUM_OF_ROWS``. ``alone``: whether a thread multiplies chunks
    of its own, or all ``threads`` sum the rows of a chunk, and share the pairs of tiles of columns."""

    rows: int | None
    depth: int
    columns: int
    panel: int
    lanes: int
    vectors: int
    height: int
    chunk: int
    cache: int
    threads: int
    alone: bool
    registers: int

    @property
    def width(self) -> int:
        """The columns of a tile."""
        return self.vectors * self.lanes

    @property
    def half(self) -> int:
        """Half of the depth."""
        return self.depth // 2

    @property
    def in_halves(self) -> bool:
        """Whether the tiles of columns are the halves of a panel; else each is one."""
        return self.panel == SIDES * self.width

    @property
    def pairs_of_columns(self) -> int:
        """The pairs of tiles of columns."""
        return -(-self.columns // (SIDES * self.width))

    @property
    def each(self) -> int:
        """The rows of a pair of tiles."""
        return SIDES * self.height

    @cached_property
    def time(self) -> float:
        """For a pair of tiles of columns, in multiply-adds of a vector, of all threads together."""
        pairs, rest = divmod(self.rows or MANY, self.each)
        chunks, of_columns = -(-(self.rows or MANY) // (self.each * self.chunk)), self.pairs_of_columns
        products = PRODUCTS * self.half * step_time(self.height, self.vectors) + KEPT * self.height * self.vectors
        plain = self._plain_time(self.low) if rest else 0
        sums_of_columns = chunks * self.half * self.vectors * SUM_OF_COLUMNS
        sums_of_rows = pairs * self.height * self.half // self.lanes * SUM_OF_ROWS[self.cache] / of_columns
        if self.alone:      # the last chunk may have fewer pairs, and rows behind them
            busiest, turns = -(-chunks // self.threads) * self.chunk, pairs + bool(rest)
        else:
            busiest, turns = -(-of_columns // self.threads), of_columns
        rounds = busiest * self.threads / turns if self.threads > 1 else 1
        return rounds * (pairs * products + plain + sums_of_columns) + sums_of_rows * (rounds if self.alone else self.threads)

    @property
    def low(self) -> int:
        """The rows of a tile of plain products with a pair of tiles of columns: of no more sums than are in others, beside the columns'
        vectors, those that take the least time for the rows behind the last pair of tiles."""
        most = min(self.height // SIDES, (self.registers - 1) // (SIDES * self.vectors) - 1)
        return min(range(max(1, most), 0, -1), key=self._plain_time)

    def _plain_time(self, low: int) -> float:
        """That of the rows behind the last pair of tiles, or if there are none or their number is not known, of a pair."""
        rest = (self.rows or 0) % self.each or self.each
        return -(-rest // low) * self.depth * step_time(low, SIDES * self.vectors)

    def pays(self, most: float) -> bool:
        """Whether it takes at most so much of the time of plain products, in tiles as wide as a panel."""
        rows, vectors = self.rows or MANY, self.panel // self.lanes
        height = (self.registers - 1) // vectors - 1
        plain = rows / height * self.depth * step_time(height, vectors) * SIDES * self.vectors / vectors
        return self.time < most * plain

    def least_rows(self) -> int | None:
        """The least number of whole pairs of tiles, in rows, from which on it pays; None: none."""
        numbers = (replace(self, rows=rows) for rows in range(self.each, MANY + 1, self.each))
        return next((tiles.rows for tiles in numbers if tiles.pays(PAYS_LATER)), None)

    @staticmethod
    def all(rows: int | None, depth: int, packing: PackingLike, machine: CpuMachine) -> Iterable[StrassenTiles]:
        """Tiles of all heights; none where the weight is not packed in panels of columns that pairs of tiles are made of."""
        lanes, panel, columns = machine.lanes(32), packing.tile, packing.shape[packing.order[-1]]
        in_order = len(packing.order) == 2 and packing.outer == (1, 0) and packing.depth == 1 and packing.trailing == 0
        vectors = VECTORS if panel == SIDES * VECTORS * lanes else panel // lanes
        in_pairs = panel == SIDES * vectors * lanes or -(-columns // panel) % SIDES == 0
        if not in_order or panel % lanes or depth % (2 * lanes) or not in_pairs:
            return
        threads = machine.threads if (rows or MANY) * depth * columns >= WORTH_IT else 1
        for height in range(2, (machine.registers - SPARE[machine.registers]) // vectors + 1):
            pairs = -(-(rows or MANY) // (SIDES * height))       # the last one may be rows for plain products
            size = PRODUCTS * height * depth // 2 * BYTES       # of the sums of a pair
            near = int(machine.l2_bytes * NEAR) // size
            for most, alone in product((near, -(-MANY // (SIDES * height)), -(-pairs // threads)), (True, False)):
                if most and (threads == 1 or rows is not None or not alone):
                    chunk = -(-pairs // -(-pairs // most))
                    cache = 0 if chunk <= near else 1 if chunk * size <= LAST else 2
                    yield StrassenTiles(rows, depth, columns, panel, lanes, vectors, height, chunk, cache, threads, alone,
                                        machine.registers)

    @staticmethod
    def best(rows: int | None, depth: int, packing: PackingLike, machine: CpuMachine) -> StrassenTiles | None:
        """The tiles that take the least time; None where none surely takes less than plain products."""
        found = min(StrassenTiles.all(rows, depth, packing, machine), key=lambda tiles: tiles.time, default=None)
        if found is None or (found.least_rows() is None if rows is None else not found.pays(PAYS)):
            return None
        return found
