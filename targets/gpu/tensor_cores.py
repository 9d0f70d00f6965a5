"""Schedules of products by the matrix instructions of NVIDIA's warps (mma.sync): of half floats, of floats of 8 bits, and of f32 where it
may be rounded, with sums in f32; of integers of 8 bits with sums in i32.

A block of threads computes a tile of the result, as in ``products``, and each warp of it a part: fragments of the operands' tiles come from
shared memory by ldmatrix, sums stay in registers, and what reads the result is computed where it is written.
"""
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import Protocol

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.products import ProductForm, multiplied_as
from legato.dialects.tir.matrix_factors import MATRIX_INTRINSICS
from legato.targets.gpu import matrix_tiles, product_steps, product_tiles, products
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.matrix_tiles import WORD, MatrixTiles
from legato.targets.gpu.quantized import dequantizing
from legato.targets.gpu.steps import Steps

LEAST = 8          # rows, columns and depth from which on a tile is not mostly empty
PAIR = 2           # neighbouring columns that a thread has
WARP = 32
WARPS = "threadIdx.z"     # the axis of a block's warps
MOST_SUMS = 64     # of a thread in products of bytes, whose fragments hold twice the depth, and which are exchanged in registers


class SlicedTile(product_tiles.DeepTile, Protocol):
    """The tile of a block of threads, in steps of depth, which slices may share."""

    @property
    def slices(self) -> int:
        """The parts of the depth that threads of the block share."""
        ...


def intrinsic_of(form: ProductForm, machine: Gpu) -> str | None:
    """The instruction that multiplies the operands of a product; None where the device has none for their types."""
    types = multiplied_types(form)
    found = next((name for name, one in MATRIX_INTRINSICS.items() if (one.left, one.right) == types), None)
    if found is None or not {*types} <= {*machine.matrix_types}:
        return None
    return found if str(form.store.buffer.type.element_type) == MATRIX_INTRINSICS[found].result else None


def layout(width: int) -> str:
    """The attributes of ``tile_product`` for operands of elements of so many bits."""
    return "unconverted = true, depth_last = true" if width == 8 else "unconverted = true"


def multiplied_types(form: ProductForm) -> tuple[str | None, str | None]:
    """The types as which matrix instructions would take the factors of a product; None for one that they do not take."""
    (left, of_left), (right, of_right) = map(multiplied_as, form.factors)
    loads = form.left.op.results[0], form.right.op.results[0]
    return of_left if left == loads[0] else None, of_right if right == loads[1] else None


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product whose operands the device multiplies by matrix instructions; None for any other kernel."""
    found = products.product_in(kernel) if machine.matrix_types else None
    if found is None:
        return None
    product, form = found
    intrinsic = intrinsic_of(form, machine)
    if intrinsic is None or not is_long(form):
        return None
    width = form.left.buffer.type.element_type.width // 8
    tiles, room = matrix_tiles.choose(form, machine, width, is_copied(kernel, machine, form, width))
    if width == 1 and tiles.rows * tiles.columns > MOST_SUMS * WARP * tiles.warps:
        tiles = replace(tiles, across=2 * tiles.across)
    if not products.fits(form, tiles.rows, tiles.columns, machine):
        return None
    steps = Steps("matrix_product")

    def compute(block: str, inlined: list[str], chunk: int, readers: Sequence[str] = ()) -> None:
        sizes = (tiles.rows, tiles.columns, tiles.depth)
        is_sliced, attributes = tiles.slices > 1, layout(8 * width)
        if is_sliced:
            attributes += f", slices = {tiles.slices} : i64"
        made = tile_around(steps, block, sizes, attributes, 6 if is_sliced else 5, inlined, readers)
        stages = matrix_tiles.stages_of(tiles, width, room)
        if machine.async_copies and stages > 1:
            steps.step("annotate", [steps.loops(made[1], 6 + is_sliced)[3 + is_sliced]], f'key = "pipeline_stages", value = {stages} : i64')
        wide = products.LANES if is_sliced else PAIR
        widths = operand_lanes(kernel, machine, form, tiles, chunk)
        together = products.word_steps(kernel, form, tiles, widths[1], WARP * tiles.warps)
        finish(steps, made, tiles, intrinsic, widths, together, result_lanes(kernel, product, form, wide, chunk))

    divided(steps, kernel, product, form, tiles, compute)
    return steps.text()


def is_copied(kernel: BlockKernel, machine: Gpu, form: ProductForm, width: int) -> bool:
    """Whether copies of the operands, of elements of ``width`` bytes, can be asynchronous: elements are not computed, and lie together in 4
    bytes or more."""
    lanes = operand_lanes(kernel, machine, form, matrix_tiles.ROOMY_SMALL, 0)
    return machine.async_copies and min(lanes) * width >= WORD and dequantizing(kernel, form.right.buffer) is None


def is_long(form: ProductForm) -> bool:
    """Whether a product's sizes, as far as they are known, fill a good part of matrices."""
    return not any((size := form.extent(axes)) is not None and size < LEAST for axes in (form.rows, form.columns, form.depth))


def divided(steps: Steps, kernel: BlockKernel, product: KernelBlock, form: ProductForm, tiles: SlicedTile,
            compute: Callable[..., None]) -> None:
    """Appends the steps of a product in one launch, or in parts of its depth that a second launch adds up; slices share the whole depth.
    ``compute``: as of ``in_launches``."""
    split = products.split_depth(form, tiles.rows, tiles.columns) if tiles.slices == 1 else (0, 1)
    in_launches(steps, kernel, product, form, split, compute)


def in_launches(steps: Steps, kernel: BlockKernel, product: KernelBlock, form: ProductForm, split: tuple[int, int],
                compute: Callable[..., None]) -> None:
    """Appends the steps of a product in one launch, or in parts of its depth that a second launch adds up. ``split``: the axis that is cut,
    and into how many parts. ``compute`` takes the block of the product, blocks to be inlined once it is tiled, the part of the axis that it
    has (0: all), and blocks that read the result."""
    axis, parts = split
    if parts > 1:
        products.in_parts(steps, kernel, product, form, axis, parts, compute)
        return
    block = steps.block(product.name)
    inlined, readers = ([steps.block(one.name) for one in some] for some in products.around(kernel, product))
    compute(block, inlined, 0, readers)


def tile_around(steps: Steps, block: str, sizes: Sequence[int], attributes: str, gives: int, inlined: Sequence[str],
                readers: Sequence[str]) -> list[str]:
    """The blocks of a product in tiles of so many rows, columns and steps of depth, with further ``attributes`` of tile_product, when
    blocks in front of it are inlined and those that read its result are computed where it is written."""
    made = steps.step("tile_product", [block], f"tiles = array<i64: {', '.join(map(str, sizes))}>, {attributes}", gives)
    for one in inlined:
        steps.inline(one)
    for one in readers:
        steps.step("reverse_compute_inline", [one])
    return made


def result_lanes(kernel: BlockKernel, product: KernelBlock, form: ProductForm, wide: int, chunk: int) -> int:
    """The neighbours of the result that a thread writes at once: ``wide``, or 1. ``chunk``: as in ``divided``."""
    after = products.around(kernel, product)[1] if not chunk else []
    return wide if form.run(form.store, form.columns) % wide == 0 and all(map(products.keeps_lanes, after)) else 1


def operand_lanes(kernel: BlockKernel, machine: Gpu, form: ProductForm, tiles: SlicedTile, chunk: int) -> list[int]:
    """The elements that one access of each operand moves, along the axis of which neighbours lie together in the operand. ``chunk``: the
    part of the depth's longest axis that a block takes, 0 for all."""
    found = []
    for access, side, size in ((form.left, form.rows, tiles.rows), (form.right, form.columns, tiles.columns)):
        deep, wide = form.run(access, form.depth), form.run(access, side)
        across = wide > 1 >= deep if side is form.rows else not deep > 1 >= wide     # as tile_product lays out the tile
        transposed = across and access.buffer.type.element_type.width == 8      # each byte goes to another row of the tile
        found.append(1 if transposed else products.lanes(kernel, machine, wide, access.buffer, size) if across
                     else products.lanes(kernel, machine, gcd(deep, chunk), access.buffer, tiles.depth))
    return found


def finish(steps: Steps, blocks: list[str], tiles: MatrixTiles, intrinsic: str, widths: list[int], together: int, lanes: int) -> None:
    """Maps the loops of a product in tiles to warps and their threads. ``widths``: elements of an access of each operand; ``together``:
    steps of the depth that a thread takes of the columns' operand; ``lanes``: elements of an access of the result."""
    init, left, right, multiply, *parts, result = blocks
    inner = steps.bind_tiles(result)
    outside, warp = 3 + len(parts), (8, 4)
    if parts:
        steps.bind(steps.loops(init, outside + 2)[3], WARPS)
        share(steps, inner, (tiles.slices, *warp), lanes)
    else:
        spread(steps, inner, tiles, lanes > 1)
    for own in (init, *parts):
        spread(steps, steps.loops(own, outside + 2)[outside:], tiles, vectors=True)
    for block, width, rows in ((left, widths[0], 1), (right, widths[1], together)):
        share(steps, steps.loops(block, outside + 3)[outside + 1:], warp if parts else (tiles.warps, *warp), width, rows)
    m, n, k = steps.loops(multiply, outside + 4)[outside + 1:]
    down, i, row = steps.split(m, [tiles.down, -1, 16])
    across, j, column = steps.split(n, [tiles.across, -1, 16])
    outer, deep = steps.split(k, [-1, MATRIX_INTRINSICS[intrinsic].depth])
    steps.reorder([down, across, outer, i, j, row, column, deep])
    bind_warps(steps, down, across, tiles, WARPS)
    for loop in (outer, i, j):
        steps.unroll(loop)
    steps.step("tensorize", [row], f'intrinsic = "{intrinsic}"', 1)


def bind_warps(steps: Steps, down: str, across: str, tiles: MatrixTiles, axis: str) -> None:
    """Binds the loops over a block's warps, which stand around each other, to an axis; not those of a single one."""
    if tiles.warps == 1:
        return
    both = tiles.down > 1 and tiles.across > 1
    steps.bind(steps.fuse([down, across]) if both else across if tiles.across > 1 else down, axis)


def spread(steps: Steps, loops: list[str], tiles: MatrixTiles, vectors: bool) -> None:
    """Gives each thread the elements of the result's tile that the matrix instructions give it."""
    m, n = loops
    down, i, half, y = steps.split(m, [tiles.down, -1, 2, 8])
    across, j, x, pair = steps.split(n, [tiles.across, -1, 4, PAIR])
    steps.reorder([down, across, y, x, i, half, j, pair])
    bind_warps(steps, down, across, tiles, WARPS)
    give_to_warp(steps, y, x, (i, half, j), pair, vectors)


def give_to_warp(steps: Steps, y: str, x: str, repeated: Sequence[str], pair: str, vectors: bool) -> None:
    """Gives the threads of a warp the rows and columns of a matrix that they have; they go through the ``repeated`` loops themselves."""
    steps.bind_threads(y, x)
    for loop in repeated:
        steps.unroll(loop)
    if vectors:
        steps.vectorize(pair)
    else:
        steps.unroll(pair)


def share(steps: Steps, loops: Sequence[str], threads: Sequence[int], wide: int, together: int = 1) -> None:
    """Gives each thread of a block its part of a nest of two loops. ``threads``: of a block, along its axes, x the last; ``wide``: elements
    of one access; ``together``: steps of the outer loop that a thread takes one after the other."""
    outer, inner = loops
    if wide > 1:
        inner, lane = steps.split(inner, [-1, wide])
        steps.vectorize(lane)
        if together > 1:
            outer, inner = product_steps.neighbours(steps, outer, inner, lane, together)
    turn, *bound = steps.split(steps.fuse([outer, inner]), [-1, *threads])
    for loop, axis in zip(bound, "zyx"[-len(threads):]):
        steps.bind(loop, f"threadIdx.{axis}")
    if wide > 1:   # otherwise there are many turns, whose indices are computed for each element
        steps.unroll(turn)
