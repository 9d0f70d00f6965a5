"""The tiles of a product that blocks of threads compute, and how large they are."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Protocol, TypeVar

from legato.analysis.products import ProductForm

UNROLLED = 4       # steps of the depth that are copied
FILLED = Fraction(3, 4)   # of the tiles, the part at least that is work
MOST_SUMS = 32     # of a thread, with which the operands' elements of so many steps fit into registers
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


def blocks_of(sizes: Sequence[int], tiles: BlockTile) -> int:
    """The tiles of a product of known sizes: its batch, rows and columns, in that order."""
    return sizes[0] * -(-sizes[1] // tiles.rows) * -(-sizes[2] // tiles.columns)


def largest(form: ProductForm, table: Sequence[Tile], filled: Fraction) -> Tile | None:
    """The first tiles of a table, the largest first, of which this part at least is work, along rows and along columns, and that leave
    enough blocks; sizes that are not known count as long, but rows not as long as the first tiles, unless the kernel is for many rows, or
    what is known of them suffices. None where there are none."""
    rows, columns, batch = (form.extent(axes) for axes in (form.rows, form.columns, form.batch))
    for tiles in table:
        sides = ((rows, tiles.rows), (columns, tiles.columns))
        blocks = prod(ENOUGH if size is None else -(-size // tile) for size, tile in (*sides, (batch, 1)))
        full = all(size is None or size >= filled * (tile * -(-size // tile)) for size, tile in sides)
        if full and blocks >= ENOUGH and (rows is not None or form.has_many_rows or tiles is not table[0]
                                          or form.known_part(form.rows) >= rows_for(form, tiles)):
            return tiles
    return None


def rows_for(form: ProductForm, tiles: BlockTile) -> int:
    """The number of rows from which on tiles leave enough blocks, and are mostly full; a size that is not known counts as one."""
    others = (form.extent(form.batch) or 1) * -(-(form.extent(form.columns) or 1) // tiles.columns)
    return max(-(-ENOUGH // others) - 1, MOST_WASTE - 1) * tiles.rows + 1
