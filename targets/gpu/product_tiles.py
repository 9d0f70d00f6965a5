"""The tiles of a product that blocks of threads compute, and how large they are."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Protocol, TypeVar

from legato.analysis.products import ProductForm
from legato.targets.gpu.machine import Gpu

UNROLLED = 4       # steps of the depth that are copied
FILLED = Fraction(3, 4)   # of the tiles, the part at least that is work
MOST_SUMS = 32     # of a thread, with which the operands' elements of so many steps fit into registers
MOST_STAGES = 4    # steps of the depth that have memory
MOST_WASTE = 4     # of the rows of the largest tiles, at most one part of so many may be empty, where their number is unknown
ENOUGH = 128       # blocks that keep a large device busy
LONG = 1024        # depth from which on few blocks share it
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
    parts of the depth that threads of a block share."""

    rows: int
    columns: int
    depth: int
    own_rows: int
    own_columns: int
    slices: int = 1

    @property
    def threads(self) -> tuple[int, int]:
        """The threads of a slice along the columns and along the rows."""
        return self.columns // self.own_columns, self.rows // self.own_rows

    @property
    def unrolled(self) -> int:
        """The steps of the depth that are copied: of the largest tiles fewer, so that 128 registers suffice, with which a multiprocessor
        runs two blocks of 256 threads; ptxas prefers spills to one."""
        return UNROLLED if self.own_rows * self.own_columns <= MOST_SUMS else UNROLLED // 2


TILES = (ProductTiles(128, 128, 16, 8, 8), ProductTiles(64, 64, 16, 8, 4), ProductTiles(32, 64, 16, 4, 4))
SMALL = (ProductTiles(8, 32, 32, 1, 4), ProductTiles(16, 32, 32, 2, 4), ProductTiles(32, 32, 16, 4, 4))   # for few rows or blocks


def choose(form: ProductForm) -> ProductTiles:
    """The largest tiles that waste at most a quarter of the work and leave enough blocks; sizes that are not known count as long."""
    rows = form.extent(form.rows)
    found = largest(form, TILES, FILLED)
    if found is not None:
        return found
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


def fastest(form: ProductForm, machine: Gpu) -> ProductTiles | None:
    """The tiles of a product of known sizes that take the least time on a large device whose copies are asynchronous, as ``time_of`` has
    it. None for sizes that are not known, and for so few results and a depth so long that blocks have to share it."""
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not machine.async_copies or (known[-1] >= LONG and blocks_of(known, SMALL[0]) < ENOUGH // 4):
        return None
    width = max(form.store.buffer.type.element_type.width // 8, 1)
    found = [replace(one, slices=slices) for one in (*TILES, *reversed(SMALL)) for slices in (1, 2, 4)
             if slices == 1 or (slices * prod(one.threads) <= SHARED and known[-1] >= slices * (LONG // 8)
                                and stages_of(machine, replace(one, slices=slices), width) > 1)]
    return min(found, key=lambda one: time_of(known, one))


def time_of(sizes: Sequence[int], tiles: ProductTiles) -> Fraction:
    """A measure of the time that a large device takes for a product of known sizes: the results that a multiprocessor computes, which gets
    whole blocks, by what a step of the depth takes for each. That is a multiplication, what a thread reads of shared memory for it, and
    what its block reads of global memory; it is longer where a multiprocessor has fewer threads than hide these reads."""
    waves = -(-blocks_of(sizes, tiles) // ENOUGH)
    step = 1 + Fraction(tiles.own_rows + tiles.own_columns, 2 * tiles.own_rows * tiles.own_columns) + (
        Fraction(4 * (tiles.rows + tiles.columns), tiles.rows * tiles.columns))
    return waves * tiles.rows * tiles.columns * step / min(Fraction(waves * prod(tiles.threads) * tiles.slices, SHARED), 1)


def stages_of(machine: Gpu, tiles: ProductTiles, width: int) -> int:
    """The steps of the depth whose tiles, of elements of so many bytes, have room in shared memory, at most four."""
    shared = machine.shared_bytes - (tiles.slices * tiles.rows * tiles.columns * width if tiles.slices > 1 else 0)
    return min(MOST_STAGES, shared // (tiles.slices * (tiles.rows + tiles.columns) * tiles.depth * width))


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
