"""Transposes through tiles in shared memory: neighbours in memory are read together and written together."""
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

TILE, ROWS = 32, 8         # a tile is TILE x TILE elements, moved by ROWS x TILE threads
LEAST = 16                 # the least extent of both axes for a tile
MOST_BLOCKS = 65535        # on the axes y and z of a grid


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel that only moves elements, along another axis than they are written; None for another kernel."""
    block = kernel.blocks[0] if len(kernel.blocks) == 1 else None
    axes = None if block is None else crossing(block, machine)
    if block is None or axes is None:
        return None
    read, written = axes
    steps = Steps("transpose")
    order = [axis for axis in block.axes_of(block.loads[0]) if axis is not None]
    through_tiles(steps, steps.block(block.name), read, written, order, skewed(block.loads[0].buffer.type, order.index(written)))
    return steps.text()


def through_tiles(steps: Steps, handle: str, read: int, written: int, order: list[int], skew: str | None) -> None:
    """Maps a block that only moves elements to blocks and threads. ``read``, ``written``: the axes along which neighbours are read and
    written; ``order``: the axes in the order in which they are read; ``skew``: the layout of the tile in shared memory."""
    rank = len(order)
    tile = steps.cache_read(handle, 0, "shared")
    loops = steps.loops(handle, rank)
    read_tile, read_lane = steps.split(loops[read], [-1, TILE])
    written_tile, written_lane = steps.split(loops[written], [-1, TILE])
    outer = [loop for axis, loop in enumerate(loops) if axis not in (read, written)]
    steps.reorder([*outer, read_tile, written_tile, read_lane, written_lane])
    if outer:
        steps.bind(steps.fuse(outer), "blockIdx.z")
    steps.bind(read_tile, "blockIdx.y")
    steps.bind(written_tile, "blockIdx.x")
    _, row = steps.split(read_lane, [-1, ROWS])
    steps.bind(row, "threadIdx.y")
    steps.bind(written_lane, "threadIdx.x")
    steps.compute_at(tile, written_tile)
    moved = steps.loops(tile, 2 + bool(outer) + rank)[2 + bool(outer):]
    _, row = steps.split(moved[order.index(written)], [-1, ROWS])
    steps.bind(row, "threadIdx.y")
    steps.bind(moved[-1], "threadIdx.x")
    if skew is not None:
        steps.step("transform_layout", [tile], f"at = 0 : i64, map = affine_map<{skew}>")


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
