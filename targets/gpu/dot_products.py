"""Schedules of products of integers of 8 bits, with sums in i32, by dot products of four bytes: NVIDIA's dp4a, Vulkan's integer dot
products.

Tiles and threads are those of ``products``; both operands' tiles are bytes, along whose rows the depth is, and a thread's columns are as
many apart as threads share them, so that neighbouring threads read neighbouring rows.
"""
from collections.abc import Sequence
from dataclasses import replace

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import ProductForm
from legato.dialects.tir.matrix_factors import DOT_INTRINSICS, DOT_STEPS
from legato.targets.gpu import product_steps, product_tiles, products, tensor_cores
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import ProductTiles
from legato.targets.gpu.steps import Steps

DEPTH, SHARED_DEPTH = 64, 32     # steps of depth of a tile, and of one of several slices


def intrinsic_of(form: ProductForm) -> str | None:
    """The dot product that multiplies the operands of a product; None for operands of other types."""
    types = tensor_cores.multiplied_types(form)
    if str(form.store.buffer.type.element_type) != "i32":
        return None
    return next((name for name, one in DOT_INTRINSICS.items() if (one.left, one.right) == types), None)


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product of bytes; None for any other kernel, and for a product without rows or columns."""
    found = products.product_in(kernel) if machine.dot_products else None
    if found is None:
        return None
    product, form = found
    intrinsic = intrinsic_of(form)
    if intrinsic is None or any(form.extent(axes) == 1 for axes in (form.rows, form.columns)):
        return None
    tiles = product_tiles.sliced(form) or product_tiles.choose(form)
    if tiles == product_tiles.TILES[0]:      # whose sums and words leave registers for one block only
        tiles = product_tiles.TILES[1]
    tiles = replace(tiles, depth=DEPTH if tiles.slices == 1 else SHARED_DEPTH)
    if not products.fits(form, tiles.rows, tiles.columns, machine):
        return None
    steps = Steps("dot_product")

    def compute(block: str, inlined: list[str], chunk: int, readers: Sequence[str] = ()) -> None:
        is_sliced = tiles.slices > 1
        attributes = tensor_cores.layout(8) + (f", slices = {tiles.slices} : i64" if is_sliced else "")
        made = tensor_cores.tile_around(steps, block, (tiles.rows, tiles.columns, tiles.depth), attributes, 6 if is_sliced else 5, inlined,
                                        readers)
        finish(steps, made, tiles, intrinsic, tensor_cores.operand_lanes(kernel, machine, form, tiles, chunk))

    tensor_cores.divided(steps, kernel, product, form, tiles, compute)
    return steps.text()


def finish(steps: Steps, blocks: list[str], tiles: ProductTiles, intrinsic: str, widths: list[int]) -> None:
    """Maps the loops of a product in tiles to threads. ``widths``: elements of an access of each operand."""
    init, left, right, multiply, *parts, result = blocks
    outside, inner = product_steps.bind_grid(steps, init, result, len(parts))
    spread(steps, inner, tiles, [])
    for own in (init, *parts):
        spread(steps, steps.loops(own, outside + 2)[outside:], tiles, [])
    for block, width in ((left, widths[0]), (right, widths[1])):
        product_steps.copies(steps, block, tiles, width)
    m, n, k = steps.loops(multiply, outside + 4)[outside + 1:]
    coarse, fine, four = steps.split(k, [-1, tiles.unrolled, DOT_STEPS])
    spread(steps, [m, n], tiles, [coarse, fine])
    steps.unroll(fine)
    steps.step("tensorize", [four], f'intrinsic = "{intrinsic}"', 1)


def spread(steps: Steps, loops: list[str], tiles: ProductTiles, deep: list[str]) -> None:
    """Gives each thread its part of a nest over the result's tile; ``deep``: loops that are to stand around its elements."""
    across, down = tiles.threads
    y, i = steps.split(loops[0], [down, tiles.own_rows])
    j, x = steps.split(loops[1], [-1, across])
    steps.reorder([y, x, *deep, i, j])
    steps.bind_threads(y, x)
    steps.unroll(i)
    steps.unroll(j)
