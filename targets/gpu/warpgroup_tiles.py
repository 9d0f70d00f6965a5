"""The tiles of products by Hopper's warpgroups, and how large they are."""
from dataclasses import dataclass
from fractions import Fraction

from legato.analysis.products import ProductForm
from legato.targets.gpu.product_tiles import blocks_of, largest

FILLED = Fraction(2, 3)     # of a tile, the part at least that is work


@dataclass(frozen=True)
class WarpgroupTiles:
    """``rows``, ``columns``: of the tile of a block of threads; ``stages``: steps of the depth that have memory; ``depth``: of one."""

    rows: int
    columns: int
    stages: int
    depth: int = 0


TILES = (WarpgroupTiles(128, 256, 4), WarpgroupTiles(128, 128, 6), WarpgroupTiles(64, 128, 4), WarpgroupTiles(64, 64, 4))
# of windows, and how long a multiprocessor takes for a result of each, of 10 for one of the largest, as measured on an H200
WINDOW_TILES = ((TILES[0], 10), (TILES[1], 11), (TILES[2], 14), (WarpgroupTiles(128, 64, 8), 13), (TILES[3], 19))
MULTIPROCESSORS = 132       # of such a device
FEW = 52                    # of the smallest tiles, which take less time by the instructions of warps, as do
LITTLE = 460_000_000        # so many multiplications


def choose(form: ProductForm) -> WarpgroupTiles | None:
    """The largest tiles that leave enough blocks and are not mostly empty, sizes that are not known counting as long; None for few rows or
    columns."""
    rows, columns = (form.extent(axes) for axes in (form.rows, form.columns))
    if any(size is not None and size < TILES[-1].rows for size in (rows, columns)):
        return None
    return largest(form, TILES, FILLED) or TILES[-1]


def for_windows(form: ProductForm) -> WarpgroupTiles | None:
    """The tiles of a convolution that take the least time on a large device, of which each multiprocessor gets whole ones. Where the number
    of images is not known, tiles of 64 rows. None for few columns, and for few results, or little work, of known number."""
    rows, columns, depth = (form.extent(axes) for axes in (form.rows, form.columns, form.depth))
    if columns is None or depth is None or columns < TILES[-1].columns:
        return None
    if rows is None:
        return TILES[2] if columns >= FILLED * TILES[2].columns else TILES[3]
    if blocks_of((1, rows, columns), TILES[-1]) < FEW or rows * columns * depth < LITTLE:
        return None
    fitting = [one for one in WINDOW_TILES if one[0] in TILES or columns <= one[0].columns]
    return min(fitting, key=lambda one: time_of(rows, columns, *one))[0]


def time_of(rows: int, columns: int, tiles: WarpgroupTiles, each: int) -> int:
    """A measure of the time that products of so many rows and columns take in tiles, by that for a result of them."""
    return -(-blocks_of((1, rows, columns), tiles) // MULTIPROCESSORS) * tiles.rows * tiles.columns * each
