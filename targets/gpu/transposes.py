"""Transposes through tiles in shared memory: neighbours in memory are read together and written together."""
from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

WARP = 32
LEAST = 16                 # the least extent of both axes for a tile
MOST_BLOCKS = 65535        # on the axes y and z of a grid


@dataclass(frozen=True)
class TransposeTile:
    """The tile that a block of WARP x ``down`` threads moves: each loads ``loaded`` neighbours at once, and stores ``stored``. ``least``:
    tiles from which on these keep a device busy."""

    down: int = 8
    loaded: int = 1
    stored: int = 1
    least: int = 512

    @property
    def read(self) -> int:
        """Elements along the axis that neighbours are read along."""
        return WARP * self.loaded

    @property
    def written(self) -> int:
        """Elements along the axis that neighbours are written along."""
        return WARP * self.stored


# of large buffers, by the bytes of an element
TILES = {1: TransposeTile(8, 4, 2), 2: TransposeTile(8, 2, 2), 4: TransposeTile(16, 2, 2, least=2048)}


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel that only moves elements, along another axis than they are written; None for another kernel."""
    block = kernel.blocks[0] if len(kernel.blocks) == 1 else None
    axes = None if block is None else crossing(block, machine)
    if block is None or axes is None:
        return None
    read, written = axes
    steps = Steps("transpose")
    order = [axis for axis in block.axes_of(block.loads[0]) if axis is not None]
    skew = skewed(block.loads[0].buffer.type, order.index(written))
    through_tiles(steps, steps.block(block.name), read, written, order, skew, tile_for(block, read, written, machine), block.writes_axes)
    return steps.text()


def tile_for(block: KernelBlock, read: int, written: int, machine: Gpu) -> TransposeTile:
    """The tile for a block that moves elements."""
    element, plain = block.stores[0].buffer.type.element_type, TransposeTile()
    tile = None if isinstance(element, ir.IndexType) else TILES.get(element.width // 8)
    points = block.points(range(block.rank))
    if tile is None or not machine.merges or points is None or points < tile.least * tile.read * tile.written:
        return plain
    along = (block.extents[read] or 1, tile.loaded, tile.read), (block.extents[written] or 1, tile.stored, tile.written)
    return tile if all(extent % lanes == 0 and fills(extent, size) for extent, lanes, size in along) else plain


def fills(extent: int, size: int) -> bool:
    """Whether tiles of a size leave no more of their elements beyond an axis than plain ones, or few of all."""
    return -(-extent // size) * size <= max(-(-extent // WARP) * WARP, extent * 9 // 8)


def through_tiles(steps: Steps, handle: str, read: int, written: int, order: Sequence[int], skew: str | None,
                  shape: TransposeTile | None = None, places: Sequence[int] | None = None) -> None:
    """Maps a block that only moves elements to blocks and threads. ``read``, ``written``: the axes along which neighbours are read and
    written; ``order``, ``places``: the axes in the order in which they are read, and written; ``skew``: the layout of the tile in shared
    memory."""
    shape, rank = shape or TransposeTile(), len(order)
    tile = steps.cache_read(handle, 0, "shared")
    result, loops = handle, steps.loops(handle, rank)
    if shape.stored > 1:     # elements from several rows of the tile are put together in registers
        result = steps.cache_write(handle, 0, "local")
        copied = steps.loops(result, rank)
        loops = [copied[list(places or range(rank)).index(axis)] for axis in range(rank)]
    read_tile, read_lane = steps.split(loops[read], [-1, shape.read])
    written_tile, written_lane = steps.split(loops[written], [-1, shape.written])
    outer = [loop for axis, loop in enumerate(loops) if axis not in (read, written)]
    steps.reorder([*outer, read_tile, written_tile, read_lane, written_lane])
    if outer:
        steps.bind(steps.fuse(outer), "blockIdx.z")
    steps.bind(read_tile, "blockIdx.y")
    steps.bind(written_tile, "blockIdx.x")
    around = 2 + bool(outer)
    thread = spread(steps, read_lane, written_lane, shape.down, shape.stored)
    if result != handle:
        steps.compute_at(handle, thread)
        steps.unroll(steps.loops(handle, around + 3 + rank)[around + 3 + written])
    steps.compute_at(tile, written_tile)
    moved = steps.loops(tile, around + rank)[around:]
    spread(steps, moved[order.index(written)], moved[-1], shape.down, shape.loaded)
    if skew is not None:
        steps.step("transform_layout", [tile], f"at = 0 : i64, map = affine_map<{skew}>")


def spread(steps: Steps, rows: str, columns: str, down: int, lanes: int) -> str:
    """Binds the loops over a tile's rows, and over neighbours in memory, to threads. Returns the loop of those across."""
    step, row = steps.split(rows, [-1, down])
    steps.bind(row, "threadIdx.y")
    if lanes > 1:
        columns, lane = steps.split(columns, [-1, lanes])
        steps.vectorize(lane)
        steps.unroll(step)
    steps.bind(columns, "threadIdx.x")
    return columns


def crossing(block: KernelBlock, machine: Gpu) -> tuple[int, int] | None:
    """The axes along which neighbours are read and written, where these differ and are long enough for a tile."""
    places = block.writes_axes
    if places is None or block.reduced or len(block.loads) != 1 or len(block.ops) != 2 or len(places) != block.rank:
        return None
    found = [axis for axis in block.axes_of(block.loads[0]) if axis is not None]
    if sorted(found) != list(range(block.rank)) or len(block.loads[0].indices) != block.rank or block.rank < 2:
        return None
    read, written = found[-1], places[-1]
    others = block.points([axis for axis in range(block.rank) if axis not in (read, written)])
    if others is None or others > max(MOST_BLOCKS, machine.grid):     # the grid is folded where x may be longer
        return None
    long = all((block.extents[axis] or LEAST) >= LEAST for axis in (read, written))
    return (read, written) if read != written and long else None


def skewed(type_: ir.MemRefType, row: int) -> str | None:
    """The layout of the tile of a buffer in which columns are in different banks, as an affine map: each row, along the buffer's axis
    ``row``, begins one element before the last one's. None where the buffer's sizes are not known."""
    if not type_.has_static_shape:
        return None
    names = [f"d{n}" for n in range(type_.rank)]
    last = f"{names[-1]} - {names[row]} + {type_.shape[row] - 1}"
    return f"({', '.join(names)}) -> ({', '.join([*names[:-1], last])})"
