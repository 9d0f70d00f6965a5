"""Schedules of products by Hopper's warpgroups (wgmma), whose operands the device's copy engine brings to shared memory (TMA).

A block of threads computes a tile of the result, as in ``tensor_cores``, each warpgroup of it 64 rows, and one warp more copies tiles
ahead (passes/gpu/specialize_warps.py). Sums stay in registers, and what reads the result is computed where it is written.
"""
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.indices.forms import linear
from legato.analysis.products import ProductForm, axes_of
from legato.core.mlir import ir
from legato.dialects.tir.matrix_factors import MATRIX_INTRINSICS, WARPGROUP_INTRINSICS
from legato.targets.gpu import products
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.quantized import dequantizing
from legato.targets.gpu.steps import Steps
from legato.targets.gpu.tensor_cores import PAIR, in_launches, intrinsic_of, layout, operand_lanes, result_lanes, share, tile_around
from legato.targets.gpu.transposes import skewed, through_tiles
from legato.targets.gpu.warpgroup_tiles import WarpgroupTiles, choose, for_windows

PANEL = 128        # bytes of a row of a tile that lie together
MOST_AXES = 5      # of a buffer that the copy engine knows
FILLING = (4, 8, 4)   # threads of a warpgroup, along z, y and x
MANY_ROWS = 512    # for which an operand is turned: the time that it takes is that of so many rows, about
WINDOW_AXES, WINDOW_WIDTH = 3, 16    # at least, of a buffer of a convolution's images; bits of its elements
STEP = 16          # bytes, of which a step along each axis but the last is a multiple


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product of operands that the copy engine can copy; None for any other kernel."""
    found = products.product_in(kernel) if machine.warpgroups else None
    if found is None:
        return None
    product, form = found
    step = PANEL * 8 // form.left.buffer.type.element_type.width
    windows = has_windows(kernel, form, step)
    instruction, tiles = intrinsic_of(form, machine), for_windows(form) if windows else choose(form)
    depth = form.extent(form.depth)
    if instruction is None or tiles is None or (depth is not None and depth <= step):
        return None
    axis, parts = (0, 1) if windows else products.split_depth(form, tiles.rows, tiles.columns)
    if not products.fits(form, tiles.rows, tiles.columns, machine) or (
            parts > 1 and (form.block.extents[axis] or 0) // parts % step):
        return None      # a step of the depth lies in one part
    filled = fill(kernel, machine, form, replace(tiles, depth=step))
    width = form.left.buffer.type.element_type.width
    across = width == 32 and filled is None and form.run(form.right, form.depth) == 1
    if not windows and not is_copied(kernel, form, form.left, form.rows, tiles.rows, step):
        return None
    if filled is None and not (is_turned if across else is_copied)(kernel, form, form.right, form.columns, tiles.columns, step):
        return None
    intrinsic = next(name for name, one in WARPGROUP_INTRINSICS.items() if one == MATRIX_INTRINSICS[instruction])
    if width != 16 and any(form.run(one, form.depth) == 1 for one in ([form.left] if across else [form.left, form.right])):
        return None      # products of f32 and of bytes take operands along whose rows the depth is
    steps = Steps("warpgroup_product")
    if across:
        turn(steps, steps.block(product.name), product, form)

    def compute(block: str, inlined: list[str], chunk: int, readers: Sequence[str] = ()) -> None:
        made = tile_around(steps, block, (tiles.rows, tiles.columns, step), layout(width), 5, inlined, readers)
        finish(steps, made, tiles, intrinsic, result_lanes(kernel, product, form, PAIR, chunk) == PAIR, filled)

    in_launches(steps, kernel, product, form, (axis, parts), compute)
    return steps.text()


def fill(kernel: BlockKernel, machine: Gpu, form: ProductForm, tiles: WarpgroupTiles) -> tuple[int, int] | None:
    """Of a columns' operand of few bits, which a warpgroup dequantizes into its tiles, the elements of a store, and the steps of the depth
    that a thread takes one after the other. None for others."""
    if dequantizing(kernel, form.right.buffer) is None:
        return None
    wide = operand_lanes(kernel, machine, form, tiles, 0)[1]
    return wide, products.word_steps(kernel, form, tiles, wide, prod(FILLING))


def turn(steps: Steps, block: str, product: KernelBlock, form: ProductForm) -> None:
    """Lets a product read a copy of its columns' operand along whose rows the depth is, which a launch before makes."""
    type_, (depth,) = form.right.buffer.type, (axis for axis in form.depth if form.block.extents[axis] != 1)
    place = next(n for n, one in enumerate(form.right.indices) if depth in axes_of(form.block, one))
    copied = steps.cache_read(block, product.read.index(form.right.buffer), "global")
    names = [f"d{n}" for n in range(type_.rank)]
    order = [*(name for n, name in enumerate(names) if n != place), names[place]]
    steps.step("transform_layout", [copied], f"at = 0 : i64, map = affine_map<({', '.join(names)}) -> ({', '.join(order)})>")
    through_tiles(steps, copied, type_.rank - 1, place, list(range(type_.rank)), skewed(type_, place))


def is_turned(kernel: BlockKernel, form: ProductForm, access: ElementAccess, side: tuple[int, ...], tile: int, step: int) -> bool:
    """Whether a launch before the product turns the columns' operand, whose last axis is the product's columns: rows enough share it, and
    the copy engine copies tiles of what it makes; the parameters are those of ``is_copied``."""
    rows, type_ = form.extent(form.rows), access.buffer.type
    many = form.has_many_rows if rows is None else rows >= MANY_ROWS
    deep = form.extent(form.depth)
    return many and deep is not None and deep * type_.element_type.width // 8 % STEP == 0 and access.buffer != form.left.buffer and (
        type_.has_static_shape and is_copied(kernel, form, access, side, tile, step))


def is_copied(kernel: BlockKernel, form: ProductForm, access: ElementAccess, side: tuple[int, ...], tile: int, step: int) -> bool:
    """Whether the copy engine copies tiles of an operand: it is a parameter of the kernel, its last axis is the depth or the product's rows
    or columns, another axis the other one of the two, and steps along its axes are multiples of 16 bytes. ``side``: the rows, or the
    columns, of which a tile has ``tile``; ``step``: its steps of depth."""
    block, type_ = form.block, access.buffer.type
    along = moving(form, side, tile), moving(form, form.depth, step)
    if kernel.is_own(access.buffer) or None in along or not 2 <= type_.rank <= MOST_AXES or not has_lines(type_):
        return False
    places = []
    for axis in along:
        uses = [number for number, one in enumerate(access.indices) if axis in axes_of(block, one)]
        if len(uses) != 1 or linear(access.indices[uses[0]]) != linear(block.block.arguments[axis]):
            return False
        places += uses
    return type_.rank - 1 in places and places[0] != places[1] and is_plain(type_)


def moving(form: ProductForm, axes: Sequence[int], tile: int) -> int | None:
    """The only one of some axes that moves in a tile, of so many of their values together; None where there is none."""
    extents = form.block.extents
    long = [axis for axis in axes if extents[axis] != 1]
    last = extents[long[-1]] if long else None
    return long[-1] if len(long) == 1 or (last is not None and last % tile == 0) else None


def has_windows(kernel: BlockKernel, form: ProductForm, step: int) -> bool:
    """Whether the rows' operand may be a convolution's: windows of an image that is a parameter of the kernel, beyond whose ends they are
    padded, with channels of which whole steps of depth lie together. ``tensorize`` says whether the copy engine takes them."""
    buffer, block = form.left.buffer, form.block
    if kernel.is_own(buffer):
        writers = kernel.writers(buffer)
        if len(writers) != 1 or len(writers[0].loads) != 1:
            return False
        buffer = writers[0].loads[0].buffer
    type_, channels = buffer.type, form.depth[-1] if form.depth else None
    if kernel.is_own(buffer) or form.batch or channels is None or moving(form, form.depth, step) != channels:
        return False
    if linear(form.left.indices[-1]) != linear(block.block.arguments[channels]) or type_.element_type.width != WINDOW_WIDTH:
        return False
    return WINDOW_AXES <= type_.rank <= MOST_AXES and min(type_.shape[1:]) > 0 and has_lines(type_) and is_plain(type_)


def has_lines(type_: ir.MemRefType) -> bool:
    """Whether steps along all axes of a buffer but the last are multiples of 16 bytes."""
    return type_.shape[-1] > 0 and type_.shape[-1] * type_.element_type.width // 8 % STEP == 0


def is_plain(type_: ir.MemRefType) -> bool:
    """Whether a buffer's elements follow each other."""
    return ir.MemRefType.get(type_.shape, type_.element_type) == type_


def finish(steps: Steps, blocks: list[str], tiles: WarpgroupTiles, intrinsic: str, vectors: bool,
           filled: tuple[int, int] | None) -> None:
    """Maps the loops of a product in tiles to blocks and threads. ``vectors``: whether the result is written in vectors; ``filled``: as
    ``fill`` says it of the columns' operand."""
    init, left, right, multiply, result = blocks
    inner = steps.bind_tiles(result)
    steps.step("annotate", [steps.loops(left, 6)[3]], f'key = "pipeline_stages", value = {tiles.stages} : i64')
    spread(steps, inner, vectors)
    spread(steps, steps.loops(init, 5)[3:], vectors=True)
    for operand in (left, right) if filled is None else (left,):
        steps.step("tensorize", [steps.loops(operand, 6)[4]], 'intrinsic = "tma_tile"', 1)
    if filled is not None:
        share(steps, steps.loops(right, 6)[4:], FILLING, *filled)
    steps.step("tensorize", [steps.loops(multiply, 7)[4]], f'intrinsic = "{intrinsic}"', 1)


def spread(steps: Steps, loops: list[str], vectors: bool) -> None:
    """Gives each thread the elements of the result's tile that the instruction gives it: warp z has 16 rows."""
    m, n = loops
    z, half, y = steps.split(m, [-1, 2, 8])
    j, x, pair = steps.split(n, [-1, 4, PAIR])
    steps.reorder([z, y, x, j, half, pair])
    for loop, axis in ((z, "z"), (y, "y"), (x, "x")):
        steps.bind(loop, f"threadIdx.{axis}")
    steps.unroll(j)
    steps.unroll(half)
    if vectors:
        steps.vectorize(pair)
    else:
        steps.unroll(pair)
