"""The tiles of attentions that matrix instructions multiply: of warps (mma.sync), and of Hopper's warpgroups (wgmma)."""
from dataclasses import dataclass, replace
from math import prod

from legato.analysis.structured import AttentionForm
from legato.core.mlir import ir
from legato.targets.gpu.attention import SPARE, padded
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.matrix_tiles import MatrixTiles
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.warpgroups import MOST_AXES, STEP

PANEL = 64         # elements of a row of the tiles that warpgroups multiply
FRAGMENT = 16      # rows, columns and depth of an instruction of a warp, or two of them
WIDTH = 2          # bytes of an element
BANKS = 16         # bytes that are added to each row of a tile, at most


@dataclass(frozen=True)
class MatrixAttentionTiles:
    """``rows``, ``keys``: of the tile of a block of threads; ``depth``, ``columns``: all of them, as a tile has them; ``stages``: tiles of
    keys that have buffers; ``down``: the warps, which share the rows; ``by_warpgroups``: whether four of them multiply together, and
    ``by_engine``: tiles that the copy engine brings; ``blocks``: those that a multiprocessor is to run at a time, 0 for any number."""

    rows: int
    keys: int
    depth: int
    columns: int
    stages: int
    down: int
    by_warpgroups: bool = False
    by_engine: bool = False
    blocks: int = 0

    @property
    def size(self) -> int:
        """The bytes of the tiles in shared memory, that of keys as rows or as columns."""
        if self.by_warpgroups:
            return WIDTH * (self.rows * self.depth + self.stages * self.keys * (self.depth + self.columns))
        keys = WIDTH * self.depth * self.keys + BANKS * max(self.depth, self.keys)
        return self.rows * (WIDTH * self.depth + BANKS) + self.stages * (keys + self.keys * (WIDTH * self.columns + BANKS))

    @property
    def warps(self) -> MatrixTiles:
        """The tiles as those of a product."""
        return MatrixTiles(self.rows, self.keys, self.depth, self.down, 1)


ROWS = ((64, 4), (32, 2), (16, 1))      # of a block, and its warps
TALL = (128, 4)    # of which a warp multiplies each fragment of keys and values twice: it loads two thirds as much from shared memory
TALL_DEPTH = 64    # at most; otherwise there is shared memory for few keys at once, before each of which sums are scaled
TALL_BLOCKS = 2 * ENOUGH
KEYS = ((64, 3), (64, 2), (32, 3), (32, 2), (32, 1), (16, 2), (16, 1))    # and stages, best first


def columns_of(form: AttentionForm) -> int:
    """The columns of the values, which are known."""
    return form.extent("e") or 1


def tiles_of(form: AttentionForm, machine: Gpu) -> MatrixAttentionTiles | None:
    """The tiles of warpgroups, or the largest of warps that fit the shared memory, and whose rows and keys are filled; None where none
    fit."""
    if (tiles := group_tiles(form, machine)) is not None:
        return tiles
    depth, columns = padded(form.extent("d") or 1, FRAGMENT), padded(columns_of(form), FRAGMENT)
    for high, down in (TALL, *ROWS) if takes_tall(form, depth, columns) else ROWS:
        for wide, stages in KEYS:
            tiles = MatrixAttentionTiles(high, wide, depth, columns, stages if machine.async_copies else 1, down)
            if is_filled(form, tiles) and tiles.size <= room_of(machine):
                return tiles
    return None


def tiles_with_engine(form: AttentionForm, machine: Gpu) -> MatrixAttentionTiles | None:
    """The tiles of warpgroups whose operands the copy engine brings: these are elements of tensors along whose last axes the depth, the
    values' columns, or the keys are. None for others, for a single tile of keys, whose copy nothing waits beside, and for small heads, of
    which a multiprocessor has more blocks without a warpgroup that copies."""
    tiles, keys = group_tiles(form, machine), form.extent("n")
    if tiles is None or max(tiles.depth, tiles.columns) <= PANEL or (keys is not None and keys <= tiles.keys):
        return None
    operands = (("query", "m", "d", "d"), ("key", "n", "d", "dn"), ("value", "n", "e", "e"))
    return replace(tiles, by_engine=True) if all(is_brought(form, *one) for one in operands) else None


def group_tiles(form: AttentionForm, machine: Gpu) -> MatrixAttentionTiles | None:
    """The tiles of warpgroups; None on other devices, for small heads, of which most would be zeros, and for few rows or keys."""
    depth, columns = (padded(size, PANEL) for size in (form.extent("d") or 1, columns_of(form)))
    rows, keys = form.extent("m"), form.extent("n")
    if not machine.warpgroups or min(form.extent("d") or 1, columns_of(form)) <= PANEL // 2:
        return None
    high, wide, blocks = (PANEL if rows is not None and rows <= PANEL else 2 * PANEL), 2 * PANEL, 0
    if max(depth, columns) <= PANEL and high > PANEL:
        blocks = 2
    plain = not form.reads["scores"] and keys is not None and keys % wide == 0      # nothing but products takes registers
    if max(depth, columns) > 2 * PANEL or high == PANEL or (blocks > 1 and not plain) or (keys is not None and keys <= PANEL):
        wide = PANEL
    tiles = MatrixAttentionTiles(high, wide, depth, columns, 2, high // FRAGMENT, by_warpgroups=True, blocks=blocks)
    return tiles if is_filled(form, tiles) and fits(tiles, machine) else None


def fits(tiles: MatrixAttentionTiles, machine: Gpu) -> bool:
    """Whether the tiles of warpgroups, which begin at multiples of 1024 bytes, fit the shared memory."""
    return tiles.size <= machine.dynamic_shared_bytes - SPARE


def is_brought(form: AttentionForm, name: str, row: str, column: str, ends: str) -> bool:
    """Whether the copy engine copies tiles of queries, keys or values. ``ends``: the letters that may be the tensor's last axis."""
    if len(form.reads[name]) != 1:
        return False
    (tensor, index), = form.reads[name]
    type_, last = tensor.type, index[-1]
    plain = isinstance(tensor.owner, ir.Block) and 2 <= type_.rank <= MOST_AXES and isinstance(last, str) and last in ends
    return plain and index.count(row) == index.count(column) == 1 and type_.shape[-1] > 0 and type_.shape[-1] * WIDTH % STEP == 0


def is_filled(form: AttentionForm, tiles: MatrixAttentionTiles) -> bool:
    """Whether the rows and the keys, as far as they are known, fill more than half of a tile."""
    return all(size is None or size > tile // 2 or tile == FRAGMENT
               for size, tile in ((form.extent("m"), tiles.rows), (form.extent("n"), tiles.keys)))


def room_of(machine: Gpu) -> int:
    """The bytes of shared memory for a block's tiles, of which a multiprocessor has two blocks."""
    return max(machine.shared_bytes, machine.dynamic_shared_bytes // 2)


def takes_tall(form: AttentionForm, depth: int, columns: int) -> bool:
    """Whether an attention of this depth and columns has tall tiles in numbers that keep all multiprocessors busy."""
    sizes = [form.extent(term) for term in ("m", *form.batch)]
    rows, *batch = sizes
    if rows is None or None in batch or max(depth, columns) > TALL_DEPTH:
        return False
    return prod(one or 1 for one in batch) * -(-rows // TALL[0]) >= TALL_BLOCKS
