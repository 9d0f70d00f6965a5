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
LEAST = 32              # rows: fewer wait for a weight that comes from memory, with sums as without; threads share that way
NEAR = 0.7              # of the second cache, that the sums of rows at hand take at most if they stay there
LAST = 12 << 20         # bytes, likewise of a cache behind it
HELD = 0.85             # of the second cache, that what a pair of tiles of columns is multiplied with takes at most if it stays there
MOST_BLOCKS = 16        # of the depth
BITS, BYTES = 32, 4     # of an element
PAYS, PAYS_LATER = 0.975, 0.95      # of the time of plain products, that products take at most that surely pay; of unknown numbers of rows

TURN = 6_000            # multiply-adds of a vector, until all threads have begun and ended a chunk that they share
LARGE = 4 << 20         # bytes of a weight, from which on each chunk waits for it
FAR = 3                 # multiply-adds of a vector, that it waits for a vector of each quarter
COLUMNS_LATER = 8.8     # a load of a vector of columns that do not stay in the second cache


@dataclass(frozen=True)
class Costs:
    """How many multiply-adds of a vector take as long, of one thread of a Zen 4.

    ``step``: of a tile, beside its multiply-adds; ``columns``: the sums of a vector of each quarter of a pair of tiles of columns;
    ``rows``: of a pair of tiles of rows, which stay in the second cache, in one behind it, or in memory; ``kept``: for each vector of sums
    of a tile, those that wait for others, and results; ``kept_on``: those of blocks that are added up."""

    step: float
    columns: float
    rows: tuple[float, float, float]
    kept: float
    kept_on: float


COSTS = {16: Costs(2, 20, (40, 90, 120), 20, 12), 32: Costs(0.75, 3, (24, 60, 100), 30, 40)}      # by the number of registers


def suits(machine: CpuMachine) -> bool:
    """Whether sums come from the second cache as fast as a CPU multiplies: not where it starts two multiply-adds of 512 bits in a cycle."""
    return machine.has("fma") and (machine.vector_bytes < 64 or machine.multiply_adds == 1)


@dataclass(frozen=True)
class StrassenTiles:
    """A product of ``rows`` (None: known when it runs) by a weight [depth, columns], packed in panels of ``panel`` columns.

    A tile is ``height`` rows by ``vectors`` of ``lanes`` columns. Two tiles of rows one below the other, the halves of a block of the
    depth, and two tiles of columns side by side (a panel's halves, or two panels) are the quarters of a product. ``blocks``: of the depth,
    whose products are added up. ``chunk``: pairs of tiles of rows, whose sums are at hand at a time; ``cache``: in which they stay, a
    place in ``Costs.rows``. ``alone``: whether a thread multiplies chunks of its own, or all ``threads`` sum the rows of a chunk, and
    share the pairs of tiles of columns."""

    rows: int | None
    depth: int
    columns: int
    panel: int
    vectors: int
    height: int
    blocks: int
    chunk: int
    cache: int
    threads: int
    alone: bool
    machine: CpuMachine

    @property
    def lanes(self) -> int:
        """The elements of a vector."""
        return self.machine.lanes(BITS)

    @property
    def costs(self) -> Costs:
        """How long parts of it take."""
        return COSTS[self.machine.registers]

    @property
    def width(self) -> int:
        """The columns of a tile."""
        return self.vectors * self.lanes

    @property
    def half(self) -> int:
        """Half of a block of the depth."""
        return self.depth // (2 * self.blocks)

    @property
    def sums_on_the_way(self) -> bool:
        """Whether columns are summed beside the products of the first rows, for which 16 registers are too few."""
        return self.machine.registers > 16

    @property
    def fetches_columns(self) -> bool:
        """Whether steps fetch columns into the first cache. A Zen 3 takes 5 to 6 % longer without; it and others with 16 registers have
        time for it."""
        return self.machine.registers <= 16

    @property
    def holds_columns(self) -> bool:
        """Whether a pair of tiles of columns of a block and their sums, those that follow and the sums of a pair of tiles of rows stay in
        the second cache."""
        factors = PRODUCTS * (self.width + self.height) + SIDES * SIDES * self.width
        return factors * self.half * BYTES <= HELD * self.machine.l2_bytes

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
        turns, last = divmod(self.rows or MANY, self.each * self.chunk)
        of_chunk, of_last = self._time_of(self.each * self.chunk), self._time_of(last) if last else 0
        of_all = turns * of_chunk + of_last
        if self.threads == 1:
            return of_all + self._time_of_row_sums(self.rows or MANY)
        if not self.alone:      # all threads sum all rows
            rounds = -(-self.pairs_of_columns // self.threads) / self.pairs_of_columns
            waits = (turns + bool(last)) * TURN / self.pairs_of_columns
            return self.threads * (rounds * of_all + self._time_of_row_sums(self.rows or MANY) + waits)
        of_chunk += self._time_of_row_sums(self.each * self.chunk)
        of_last += self._time_of_row_sums(last)
        rounds, others = divmod(turns, self.threads)
        return self.threads * (rounds * of_chunk + (of_chunk if others else of_last))

    def _time_of(self, rows: int) -> float:
        """That of a chunk of rows, but of their sums."""
        pairs, rest = divmod(rows, self.each)
        loads = 0 if self.holds_columns else COLUMNS_LATER * self.vectors
        kept = (self.costs.kept + (self.costs.kept_on if self.blocks > 1 else 0)) * self.height * self.vectors
        products = self.blocks * (PRODUCTS * self.half * step_time(self.height, self.vectors, loads, self.costs.step) + kept)
        columns = self.costs.columns + (FAR if self.depth * self.columns * BYTES >= LARGE else 0)
        return pairs * products + self._plain_time(self.low, rest) + self.depth // 2 * self.vectors * columns

    def _time_of_row_sums(self, rows: int) -> float:
        """That of the sums of some rows, shared by all pairs of tiles of columns."""
        pairs = rows // self.each
        return pairs * self.height * (self.depth // 2) / self.lanes * self.costs.rows[self.cache] / self.pairs_of_columns

    @property
    def low(self) -> int:
        """The rows of a tile of plain products with a pair of tiles of columns: of no more sums than are in others, beside the columns'
        vectors, those that take the least time for the rows behind the last pair of tiles."""
        most = min(self.height // SIDES, (self.machine.registers - 1) // (SIDES * self.vectors) - 1)
        rest = (self.rows or 0) % self.each or self.each
        return min(range(max(1, most), 0, -1), key=lambda low: self._plain_time(low, rest))

    def _plain_time(self, low: int, rows: int) -> float:
        """That of rows in tiles of ``low``."""
        return -(-rows // low) * self.depth * step_time(low, SIDES * self.vectors, step=self.costs.step)

    def pays(self, most: float) -> bool:
        """Whether it takes at most so much of the time of plain products, which are of no more vectors of columns than there are."""
        plain = (self.rows or MANY) * self.depth * -(-self.columns // self.lanes) / self.pairs_of_columns
        return self.time < most * plain * min(map(self._plain_rate, range(1, self.panel // self.lanes + 1)))

    def _plain_rate(self, vectors: int) -> float:
        """The time of a multiply-add in the highest tiles of some vectors of columns."""
        height = (self.machine.registers - 1) // vectors - 1
        return step_time(height, vectors, step=self.costs.step) / (height * vectors)

    def least_rows(self) -> int | None:
        """The least number of whole pairs of tiles, in rows, from which on it pays; None: none."""
        numbers = (replace(self, rows=rows) for rows in range(-(-LEAST // self.each) * self.each, MANY + 1, self.each))
        return next((tiles.rows for tiles in numbers if tiles.pays(PAYS_LATER)), None)

    def in_blocks(self) -> StrassenTiles:
        """The same in the least number of blocks whose columns stay in the second cache; as it is where there are none of equal parts."""
        numbers = (number for number in range(1, MOST_BLOCKS + 1) if self.depth % (2 * number) == 0)
        made = (replace(self, blocks=number) for number in numbers)
        return next((tiles for tiles in made if tiles.holds_columns), self)

    @staticmethod
    def all(rows: int | None, depth: int, packing: PackingLike, machine: CpuMachine) -> Iterable[StrassenTiles]:
        """Tiles of all heights; none where the weight is not packed in panels of columns that pairs of tiles are made of."""
        lanes, panel, columns = machine.lanes(BITS), packing.tile, packing.shape[packing.order[-1]]
        in_order = len(packing.order) == 2 and packing.outer == (1, 0) and packing.depth == 1 and packing.trailing == 0
        vectors = VECTORS if panel == SIDES * VECTORS * lanes else panel // lanes
        in_pairs = panel == SIDES * vectors * lanes or -(-columns // panel) % SIDES == 0
        if not in_order or panel % lanes or depth % 2 or depth < 2 * lanes or not in_pairs:
            return
        threads = machine.threads if (rows or MANY) * depth * columns >= WORTH_IT else 1
        if (rows or MANY) < LEAST * (threads if depth * columns * BYTES > LAST else 1):
            return
        for height in range(2, (machine.registers - SPARE[machine.registers]) // vectors + 1):
            pairs = -(-(rows or MANY) // (SIDES * height))       # the last one may be rows for plain products
            size = PRODUCTS * height * depth // 2 * BYTES       # of the sums of a pair
            near = int(machine.l2_bytes * NEAR) // size
            for most, alone in product((near, -(-MANY // (SIDES * height)), -(-pairs // threads)), (True, False)):
                if most and (threads == 1 or rows is not None or not alone):
                    chunk = -(-pairs // -(-pairs // most))
                    if chunk * SIDES * height < LEAST:
                        continue
                    cache = 0 if chunk <= near else 1 if chunk * size <= LAST else 2
                    tiles = StrassenTiles(rows, depth, columns, panel, vectors, height, 1, chunk, cache, threads, alone, machine)
                    yield tiles.in_blocks()

    @staticmethod
    def best(rows: int | None, depth: int, packing: PackingLike, machine: CpuMachine) -> StrassenTiles | None:
        """The tiles that take the least time; None where none surely takes less than plain products."""
        found = min(StrassenTiles.all(rows, depth, packing, machine), key=lambda tiles: tiles.time, default=None)
        if found is None or (found.least_rows() is None if rows is None else not found.pays(PAYS)):
            return None
        return found
