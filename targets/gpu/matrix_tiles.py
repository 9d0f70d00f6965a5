"""The tiles of products by the matrix instructions of warps (mma.sync), and how large they are."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from legato.analysis.products import ProductForm
from legato.targets.gpu import product_tiles, products
from legato.targets.gpu.machine import Gpu

ROW_PADDING = 16   # bytes
SUM_BYTES = 4      # of a sum
FILLED = Fraction(2, 3)   # of the largest tiles, the part at least that is work
MOST_STAGES = 4    # steps of the depth that have buffers of their own
LEAST_SHARED = 512     # depth from which on warps share that of f32


@dataclass(frozen=True)
class MatrixTiles:
    """``rows``, ``columns``, ``depth``: of the tile of a block of threads; ``down``, ``across``: its warps along rows and columns;
    ``slices``: parts of the depth that warps of a block share, each with tiles of its own, instead."""

    rows: int
    columns: int
    depth: int
    down: int
    across: int
    slices: int = 1

    def size(self, width: int) -> int:
        """The bytes of the operands' tiles in shared memory, of elements of ``width`` bytes, with the most that is added to their rows."""
        return width * (self.rows + self.columns) * self.depth + ROW_PADDING * (max(self.rows, self.depth) + max(self.columns, self.depth))

    @property
    def warps(self) -> int:
        """The warps of a slice."""
        return self.down * self.across


TILES = (MatrixTiles(128, 128, 32, 2, 2), MatrixTiles(64, 64, 32, 2, 2), MatrixTiles(32, 64, 32, 2, 2), MatrixTiles(32, 32, 32, 2, 2))
WORD = 4           # bytes of an f32
SMALL_WORDS = tuple(replace(one, depth=one.depth // 2) for one in TILES[2:])     # of which blocks copy little at once
LONG_STEPS = MatrixTiles(32, 32, 64, 2, 2)           # instead, for f32
SLICED = MatrixTiles(16, 32, 32, 1, 1, slices=4)     # for few results and a long depth
# for so few results that a multiprocessor has a block or two, whose memory may be dynamic: long steps, or warps that share a long depth
ROOMY = (MatrixTiles(128, 64, 64, 4, 2), MatrixTiles(64, 64, 32, 2, 2), MatrixTiles(32, 64, 64, 2, 2), MatrixTiles(64, 32, 64, 2, 2))
ROOMY_SMALL = MatrixTiles(32, 32, 64, 2, 2)
ROOMY_SLICED = (SLICED, MatrixTiles(16, 16, 64, 1, 1, slices=4))
ROOMY_WORDS = MatrixTiles(64, 32, 64, 2, 2)
WORD_SLICED = (MatrixTiles(32, 32, 32, 1, 1, slices=4), MatrixTiles(16, 32, 32, 1, 1, slices=4), MatrixTiles(16, 16, 32, 1, 1, slices=8))
NARROW = (MatrixTiles(16, 64, 32, 1, 4), MatrixTiles(64, 16, 32, 4, 1))   # for few rows, and for few columns
ROOMY_NARROW = MatrixTiles(16, 64, 64, 1, 1, slices=4)    # for few rows, which wait for the columns' operand


def choose(form: ProductForm, machine: Gpu, width: int, copied: bool) -> tuple[MatrixTiles, int]:
    """The tiles of a product of elements of ``width`` bytes, and the bytes of shared memory for them: a block's own, or for few results
    what a launch asks for. ``copied``: whether copies of the operands can be asynchronous."""
    if copied and (few := narrow(form, machine, width) or roomy(form, machine, width)) is not None:
        return few, machine.dynamic_shared_bytes if few.slices > 1 else max(machine.shared_bytes, (MOST_STAGES - 1) * few.size(width))
    tiles = usual(form)
    tiles = sliced(form, tiles) or tiles
    tiles = replace(tiles, depth=2 * tiles.depth // width)      # rows of 64 bytes
    return LONG_STEPS if width == WORD and takes_long_steps(form, tiles) else tiles, machine.shared_bytes


def stages_of(tiles: MatrixTiles, width: int, room: int) -> int:
    """The steps of the depth that have so many bytes of memory, beside the sums of slices: at most four."""
    sums = tiles.slices * tiles.rows * tiles.columns * SUM_BYTES if tiles.slices > 1 else 0
    return min(MOST_STAGES, (room - sums) // (tiles.slices * tiles.size(width)))


def usual(form: ProductForm) -> MatrixTiles:
    """The largest tiles that leave enough blocks and are not mostly empty; sizes that are not known count as long."""
    rows, columns = (form.extent(axes) for axes in (form.rows, form.columns))
    if rows is not None and rows <= NARROW[0].rows:
        return NARROW[0]
    if columns is not None and columns <= NARROW[1].columns:
        return NARROW[1]
    return product_tiles.largest(form, TILES, FILLED) or TILES[-1]


def sliced(form: ProductForm, tiles: MatrixTiles) -> MatrixTiles | None:
    """The tiles of a product whose depth warps of a block share; None where tiles as they are leave blocks enough, and where so few blocks
    are left that blocks have to share it."""
    if products.split_depth(form, tiles.rows, tiles.columns)[1] == 1:
        return None
    sizes = [form.extent(axes) or 1 for axes in (form.batch, form.rows, form.columns)]     # all are known
    return SLICED if product_tiles.blocks_of(sizes, SLICED) >= product_tiles.ENOUGH // 4 else None


def narrow(form: ProductForm, machine: Gpu, width: int) -> MatrixTiles | None:
    """The tiles of a product of halves with few rows and a long depth, which warps share, so that many bytes of the columns' operand are on
    their way; None for other products, for few columns, and where blocks do not get more memory than their own."""
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or width != 2 or machine.dynamic_shared_bytes <= machine.shared_bytes or known[1] > ROOMY_NARROW.rows:
        return None
    return ROOMY_NARROW if known[-1] >= product_tiles.LONG and (
        product_tiles.blocks_of(known, ROOMY_NARROW) >= product_tiles.ENOUGH // 2) else None


def roomy(form: ProductForm, machine: Gpu, width: int) -> MatrixTiles | None:
    """The tiles of a product of so few results that each multiprocessor has a block or two, which may take all of its shared memory: the
    largest that leave three quarters of the multiprocessors a block, or twice as many blocks as there are where the depth is one step,
    in which no block copies ahead. None for other products, and where blocks do not get more memory than their own."""
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known, enough = [size for size in sizes if size is not None], product_tiles.ENOUGH
    if len(known) < len(sizes) or width == 1 or machine.dynamic_shared_bytes <= machine.shared_bytes or any(
            size <= NARROW[0].rows for size in known[1:3]) or product_tiles.blocks_of(known, ROOMY[1]) >= 2 * enough:
        return None
    depth, most = known[-1], enough * 3 // 4
    if width == WORD:
        if depth < LEAST_SHARED:
            return None
        if product_tiles.blocks_of(known, WORD_SLICED[0]) <= enough:
            return shared_depth(known, WORD_SLICED, most)
        tall = product_tiles.largest(form, (ROOMY_WORDS,), FILLED, most)
        return tall if tall and product_tiles.blocks_of(known, tall) <= enough else None
    table = ROOMY if depth < product_tiles.LONG else ROOMY[:2]      # of a long depth, four warps of a multiprocessor are too few
    found = product_tiles.largest(form, table, FILLED, most if depth > ROOMY_SMALL.depth else 2 * enough)
    if found is None and depth >= product_tiles.LONG and product_tiles.blocks_of(known, ROOMY_SMALL) < most:
        found = shared_depth(known, ROOMY_SLICED, most)
    return found or ROOMY_SMALL


def shared_depth(sizes: Sequence[int], table: Sequence[MatrixTiles], least: int) -> MatrixTiles | None:
    """The first tiles of a table, the largest first, that leave so many blocks, or the last; None where these leave few, so that blocks
    have to share the depth."""
    tiles = next((one for one in table if product_tiles.blocks_of(sizes, one) >= least), table[-1])
    return tiles if product_tiles.blocks_of(sizes, tiles) >= product_tiles.ENOUGH // 4 else None


def takes_long_steps(form: ProductForm, tiles: MatrixTiles) -> bool:
    """Whether a product of f32 in small tiles is deep enough for several long steps: of 16 steps of depth there are so many that barriers
    and copies that are waited for take most of the time."""
    depth = form.extent(form.depth)
    return tiles in SMALL_WORDS and depth is not None and depth >= MOST_STAGES * LONG_STEPS.depth
