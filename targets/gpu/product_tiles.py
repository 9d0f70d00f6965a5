"""The tiles of a product that blocks of threads compute, and how large they are."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Protocol, TypeVar

from legato.analysis.products import ProductForm
from legato.targets.gpu.machine import Gpu

UNROLLED = 4       # steps of the depth that are copied
LANES = 4          # columns of a vector of the result
WARP_COLUMNS = 8   # threads of a warp along the columns
FILLED = Fraction(3, 4)   # of the tiles, the part at least that is work
MOST_STAGES = 4    # steps of the depth that have memory
MOST_WASTE = 4     # of the rows of the largest tiles, at most one part of so many may be empty, where their number is unknown
ENOUGH = 128       # blocks that keep a large device busy
LONG = 1024        # depth from which on few blocks share it
LEAST_PART = LONG // 8    # of the depth, that threads or blocks share
MOST_PARTS = 16
SHARED = 256       # threads of a block that share the depth


class BlockTile(Protocol):
    """The tile of a block of threads."""

    @property
    def rows(self) -> int:
        """Its rows."""
        ...

    @property
    def columns(self) -> int:
        """Its columns."""
        ...


class DeepTile(BlockTile, Protocol):
    """The tile of a block of threads, in steps of depth."""

    @property
    def depth(self) -> int:
        """The steps of depth that it has at once."""
        ...


Tile = TypeVar("Tile", bound=BlockTile)


@dataclass(frozen=True)
class ProductTiles:
    """``rows``, ``columns``, ``depth``: of the tile of a block of threads; ``own_rows``, ``own_columns``: of that of a thread; ``slices``:
    parts of the depth that threads of a block share; ``unrolled``: steps of the depth that are copied; ``parts``: of the depth, of which
    blocks take one each, and which a second launch adds up; ``turned``: whether the tile of the rows' operand lies along the rows, where
    the operand does not, so that a thread reads four of them at once for a step of the depth; ``warped``: whether a warp has 8 threads
    along the columns and 4 along the rows, each with rows far from each other; ``stages``: steps of the depth that have memory, at most."""

    rows: int
    columns: int
    depth: int
    own_rows: int
    own_columns: int
    slices: int = 1
    unrolled: int = UNROLLED
    parts: int = 1
    turned: bool = False
    warped: bool = False
    stages: int = MOST_STAGES

    @property
    def threads(self) -> tuple[int, int]:
        """The threads of a slice along the columns and along the rows."""
        return self.columns // self.own_columns, self.rows // self.own_rows

    @property
    def in_warps(self) -> tuple[int, int]:
        """The threads of a slice along x and y as they are launched."""
        across, down = self.threads
        beside = min(across, WARP_COLUMNS) if self.warped else across
        return beside, across // beside * down

    @property
    def space(self) -> int:
        """Elements after each step of the depth in a turned tile, so that what a warp copies goes to different banks."""
        return LANES if self.turned else 0

    def size(self, width: int) -> int:
        """The bytes of the operands' tiles of one step of the depth, of elements of so many bytes, in shared memory."""
        return self.slices * (self.rows + self.space + self.columns) * self.depth * width


TILES = (ProductTiles(128, 128, 16, 8, 8, unrolled=2), ProductTiles(64, 64, 16, 8, 4), ProductTiles(32, 64, 16, 4, 4))
SMALL = (ProductTiles(8, 32, 32, 1, 4), ProductTiles(16, 32, 32, 2, 4), ProductTiles(32, 32, 16, 4, 4))   # for few rows or blocks
# for devices whose copies are asynchronous; the more steps of the depth are copied, the less of a thread's time is between multiplications
FAST = (ProductTiles(128, 128, 8, 16, 8, unrolled=8, turned=True, warped=True), ProductTiles(128, 64, 8, 8, 8, unrolled=8, warped=True),
        ProductTiles(64, 64, 16, 8, 4, unrolled=16, warped=True, stages=3),
        ProductTiles(32, 32, 16, 4, 4, warped=True, stages=3), *reversed(SMALL[:2]))
# for few columns, as those of a group of filters; the narrowest first
NARROW = tuple(ProductTiles(128, columns, 16, 4, 4, stages=3) for columns in (4, 8, 16))
LARGE = FAST[:3]   # which blocks may have for parts of the depth
REGISTER = 4       # bytes
FILE = 64 << 10    # registers of a multiprocessor
ADDRESSES = 24     # registers of a thread besides those for elements
# of ``time_of``, in multiplications of a thread: for each element that it reads of shared memory; for each round of a loop over the depth;
# for each of its own, by slice more than one; the threads whose work takes as long as blocks take to begin; in multiplications of a
# multiprocessor: a second launch, and each part that it adds up
READ, ROUND, SHARES, BEGIN, LAUNCH, PART = 1, 18, 0.12, 70, 500_000, 0.6
WORTH_A_LAUNCH = 0.9   # of the time of one launch, what two have to be below: the measure is within 8 %, and the host launches, too


def choose(form: ProductForm) -> ProductTiles:
    """The largest tiles that waste at most a quarter of the work and leave enough blocks; sizes that are not known count as long."""
    rows = form.extent(form.rows)
    found = largest(form, TILES, FILLED)
    if found is not None:
        return found
    if (few := narrow(form.extent(form.columns))) and (rows is None or rows > SMALL[-1].rows):
        return few[0]
    return next((tiles for tiles in SMALL if rows is not None and rows <= tiles.rows), SMALL[-1])


def sliced(form: ProductForm) -> ProductTiles | None:
    """The tiles of a product of few results and a long depth, which threads of a block share: the largest that leave nearly enough blocks,
    or the smallest. None for other products, and for those of so few blocks that blocks have to share the depth."""
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or known[-1] < LONG or blocks_of(known, choose(form)) >= ENOUGH // 2:
        return None
    tiles = next((one for one in reversed(SMALL) if blocks_of(known, one) >= ENOUGH * 3 // 4), SMALL[0])
    if blocks_of(known, tiles) < ENOUGH // 4:
        return None
    return replace(tiles, slices=min(SHARED // prod(tiles.threads), known[-1] // (LONG // 8)))


def fastest(form: ProductForm, machine: Gpu, may_split: bool, may_turn: bool) -> ProductTiles | None:
    """The tiles of a product of known sizes that take the least time on a large device whose copies are asynchronous, as ``time_of`` has
    it, and the parts of its depth that threads of a block share or, if they may, blocks. ``may_turn``: whether the rows' operand can have
    a tile along the rows. None for sizes that are not known, and for so few results and a depth so long that blocks have to share it."""
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not machine.async_copies or (known[-1] >= LONG and blocks_of(known, SMALL[0]) < ENOUGH // 4):
        return None
    width = element_bytes(form)
    found = in_one_launch(machine, width, known[-1], known[2], may_turn)
    best, shortest = least_time(known, found, machine, width)
    if may_split and known[-1] >= LONG:
        longest = form.block.extents[longest_depth(form)] or 1
        cut = [replace(one, parts=parts) for one in found if one in LARGE for parts in range(2, MOST_PARTS + 1)
               if longest % parts == 0 and known[-1] >= parts * LEAST_PART]
        if cut and (shorter := least_time(known, cut, machine, width))[1] < WORTH_A_LAUNCH * shortest:
            return shorter[0]
    return best


def least_time(sizes: Sequence[int], tiles: Sequence[ProductTiles], machine: Gpu, width: int) -> tuple[ProductTiles, float]:
    """The tiles that take the least time for a product of known sizes, and that time, as ``time_of`` has both."""
    times = [time_of(sizes, one, machine, width) for one in tiles]
    return tiles[times.index(min(times))], min(times)


def in_one_launch(machine: Gpu, width: int, depth: int, columns: int | None, may_turn: bool) -> list[ProductTiles]:
    """The tiles for devices whose copies are asynchronous of products of elements of so many bytes, so many steps of depth, which threads
    of a block may share, and so many columns, or of an unknown number, where there are registers for them, and memory for two steps.
    ``may_turn``: as of ``fastest``."""
    table = [one for one in (*FAST, *narrow(columns)) if (may_turn or not one.turned) and registers_of(one, width) <= machine.registers]
    found = [replace(one, slices=slices) for one in table for slices in (1, 2, 4)
             if slices == 1 or (slices * prod(one.threads) <= SHARED and depth >= slices * LEAST_PART)]
    return [one for one in found if stages_of(machine, one, width) > 1]


def narrow(columns: int | None) -> Sequence[ProductTiles]:
    """The narrowest tiles that have so many columns; none where they are many, or their number is not known."""
    return [one for one in NARROW if columns is not None and columns <= one.columns][:1]


def element_bytes(form: ProductForm) -> int:
    """The bytes of an element of a product, as its tiles have them."""
    return max(form.store.buffer.type.element_type.width // 8, 1)


def longest_depth(form: ProductForm) -> int:
    """The longest axis of the depth."""
    return max(form.depth, key=lambda n: form.block.extents[n] or 0)


def time_of(sizes: Sequence[int], tiles: ProductTiles, machine: Gpu, width: int) -> float:
    """A measure of the time that a large device takes for a product of known sizes: the multiplications of a multiprocessor, which gets
    whole blocks, each with what a thread does besides it. A multiprocessor begins as many blocks together as have room, which takes a
    while each time, longer for few threads; and parts of the depth are written, read, and added up. Constants are fitted to what an H200
    takes for 158 pairs of sizes and tiles, within 8 %."""
    blocks = -(-blocks_of(sizes, tiles) * tiles.parts // ENOUGH)
    own, threads = tiles.own_rows * tiles.own_columns, prod(tiles.threads) * tiles.slices
    step = 1 + (READ * (tiles.own_rows + tiles.own_columns) + ROUND / tiles.unrolled) / own + SHARES * (tiles.slices - 1)
    turns = -(-blocks // together(tiles, machine, width))
    multiplied = tiles.rows * tiles.columns * sizes[-1] / tiles.parts * step * (blocks + turns * BEGIN / threads)
    return multiplied + (LAUNCH + PART * tiles.parts * prod(sizes[:-1]) if tiles.parts > 1 else 0)


def together(tiles: ProductTiles, machine: Gpu, width: int) -> int:
    """The blocks that a multiprocessor has registers and shared memory for."""
    room = max(machine.dynamic_shared_bytes, 2 * machine.shared_bytes) // (stages_of(machine, tiles, width) * tiles.size(width))
    return max(min(FILE // (prod(tiles.threads) * tiles.slices * registers_of(tiles, width)), room), 1)


def registers_of(tiles: ProductTiles, width: int) -> int:
    """About the registers of a thread: its sums, and its elements of both operands for some steps of the depth, of so many bytes."""
    elements = tiles.own_rows * tiles.own_columns + UNROLLED * (tiles.own_rows + tiles.own_columns)
    return max(width // REGISTER, 1) * elements + ADDRESSES


def stages_of(machine: Gpu, tiles: ProductTiles, width: int) -> int:
    """The steps of the depth whose tiles, of elements of so many bytes, have room in shared memory, at most four."""
    shared = machine.shared_bytes - (tiles.slices * tiles.rows * tiles.columns * width if tiles.slices > 1 else 0)
    return min(tiles.stages, shared // tiles.size(width))


def blocks_of(sizes: Sequence[int], tiles: BlockTile) -> int:
    """The tiles of a product of known sizes: its batch, rows and columns, in that order."""
    return sizes[0] * -(-sizes[1] // tiles.rows) * -(-sizes[2] // tiles.columns)


def largest(form: ProductForm, table: Sequence[Tile], filled: Fraction, least: int = ENOUGH) -> Tile | None:
    """The first tiles of a table, the largest first, of which this part at least is work, along rows and along columns, and that leave
    ``least`` blocks; sizes that are not known count as long, but rows not as long as the first tiles, unless the kernel is for many rows,
    or what is known of them suffices. None where there are none."""
    rows, columns, batch = (form.extent(axes) for axes in (form.rows, form.columns, form.batch))
    for tiles in table:
        sides = ((rows, tiles.rows), (columns, tiles.columns))
        blocks = prod(ENOUGH if size is None else -(-size // tile) for size, tile in (*sides, (batch, 1)))
        full = all(size is None or size >= filled * (tile * -(-size // tile)) for size, tile in sides)
        if full and blocks >= least and (rows is not None or form.has_many_rows or tiles is not table[0]
                                          or form.known_part(form.rows) >= rows_for(form, tiles)):
            return tiles
    return None


def rows_for(form: ProductForm, tiles: BlockTile) -> int:
    """The number of rows from which on tiles leave enough blocks, and are mostly full; a size that is not known counts as one."""
    others = (form.extent(form.batch) or 1) * -(-(form.extent(form.columns) or 1) // tiles.columns)
    return max(-(-ENOUGH // others) - 1, MOST_WASTE - 1) * tiles.rows + 1
