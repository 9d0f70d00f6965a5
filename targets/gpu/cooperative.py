"""Schedules of products by the matrices of subgroups (Vulkan's cooperative matrices), of the shapes and types that the device has.

A block of threads computes a tile of the result, and each subgroup of it a part, as in ``tensor_cores``. Where a thread's elements of a
matrix are is the device's own affair: the sums go through shared memory to the threads that compute what reads the result.
"""
from collections.abc import Sequence
from dataclasses import replace

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import ProductForm
from legato.dialects.tir.matrices import FILL, MULTIPLY, STORE, MatrixShape, SubgroupIntrinsic
from legato.targets.gpu import product_tiles, products, tensor_cores
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.matrix_tiles import FILLED, ROW_PADDING, MatrixTiles
from legato.targets.gpu.steps import Steps

SUBGROUPS = "threadIdx.y"    # the axis of a block's subgroups; their threads are on threadIdx.x
TILES = (MatrixTiles(64, 64, 32, 2, 2), MatrixTiles(32, 64, 32, 2, 2), MatrixTiles(32, 32, 32, 2, 2))
NARROW = (MatrixTiles(16, 64, 32, 1, 4), MatrixTiles(64, 16, 32, 4, 1))   # for few rows, and for few columns
MOST_THREADS = 1024          # of a block


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product of types that the device has matrices of; None for any other kernel."""
    found = products.product_in(kernel) if machine.matrices else None
    if found is None:
        return None
    product, form = found
    if not tensor_cores.is_long(form):
        return None
    width = form.left.buffer.type.element_type.width
    for shape in shapes_of(form, machine):
        tiles = choose(form, shape, machine)
        if tiles is not None and products.fits(form, tiles.rows, tiles.columns, machine):
            break
    else:
        return None
    steps = Steps("cooperative_product")

    def compute(block: str, inlined: list[str], chunk: int, readers: Sequence[str] = ()) -> None:
        sizes = (tiles.rows, tiles.columns, tiles.depth)
        made = tensor_cores.tile_around(steps, block, sizes, f"{tensor_cores.layout(width)}, through_shared = true", 6, inlined, readers)
        widths = tensor_cores.operand_lanes(kernel, machine, form, tiles, chunk)
        together = products.word_steps(kernel, form, tiles, widths[1], machine.subgroup * tiles.warps)
        finish(steps, made, tiles, shape, machine.subgroup, widths, together,
               tensor_cores.result_lanes(kernel, product, form, products.LANES, chunk))

    tensor_cores.divided(steps, kernel, product, form, tiles, compute)
    return steps.text()


def shapes_of(form: ProductForm, machine: Gpu) -> list[MatrixShape]:
    """The matrices that a product's operands and sums can be, the largest first."""
    types = tensor_cores.multiplied_types(form)
    result = str(form.store.buffer.type.element_type)
    return sorted((shape for shape in machine.matrices if types == (shape.left, shape.right) and shape.result == result),
                  key=lambda shape: (shape.rows * shape.columns * shape.depth, shape.rows), reverse=True)


def choose(form: ProductForm, shape: MatrixShape, machine: Gpu) -> MatrixTiles | None:
    """The largest tiles that are made of matrices of a shape, fit into shared memory, leave enough blocks and are not mostly empty; sizes
    that are not known count as long. None where no tiles fit."""
    rows, columns = (form.extent(axes) for axes in (form.rows, form.columns))
    deep = 2 if shape.factors.are_bytes else 1
    tables = [[one for tiles in table if holds(one := replace(tiles, depth=deep * tiles.depth), form, shape, machine)]
              for table in (TILES, NARROW[:1], NARROW[1:])]
    wide = tables[0]
    few = [one for table, size, tile in zip(tables[1:], (rows, columns), (NARROW[0].rows, NARROW[1].columns)) for one in table
           if size is not None and size <= tile]
    return few[0] if few else product_tiles.largest(form, wide, FILLED) or (wide[-1] if wide else None)


def holds(tiles: MatrixTiles, form: ProductForm, shape: MatrixShape, machine: Gpu) -> bool:
    """Whether tiles are made of whole matrices for each subgroup, and a block has room for them, and threads."""
    operand, result = (access.buffer.type.element_type.width // 8 for access in (form.left, form.store))
    shared = tiles.size(operand) + tiles.rows * (tiles.columns * result + ROW_PADDING)
    whole = not any((tiles.rows % (tiles.down * shape.rows), tiles.columns % (tiles.across * shape.columns), tiles.depth % shape.depth))
    return whole and shared <= machine.shared_bytes and tiles.warps * machine.subgroup <= MOST_THREADS


def finish(steps: Steps, blocks: list[str], tiles: MatrixTiles, shape: MatrixShape, subgroup: int, widths: list[int], together: int,
           lanes: int) -> None:
    """Maps the loops of a product in tiles to subgroups and their threads. ``widths``: elements of an access of each operand; ``together``:
    steps of the depth that a thread takes of the columns' operand; ``lanes``: elements of an access of the result."""
    init, left, right, multiply, shared, result = blocks
    threads = (tiles.warps, subgroup)
    inner = steps.bind_tiles(result)
    tensor_cores.share(steps, inner, threads, lanes)
    for block, width, rows in ((left, widths[0], 1), (right, widths[1], together)):
        tensor_cores.share(steps, steps.loops(block, 6)[4:], threads, width, rows)
    for block, does, count in ((init, FILL, 5), (multiply, MULTIPLY, 7), (shared, STORE, 5)):
        m, n, *k = steps.loops(block, count)[4 if does == MULTIPLY else 3:]
        down, i, row = steps.split(m, [tiles.down, -1, shape.rows])
        across, j, column = steps.split(n, [tiles.across, -1, shape.columns])
        outer, deep = ([*handles] for handles in zip(*(steps.split(one, [-1, shape.depth]) for one in k))) if k else ([], [])
        steps.reorder([down, across, *outer, i, j, row, column, *deep])
        tensor_cores.bind_warps(steps, down, across, tiles, SUBGROUPS)
        for loop in (*outer, i, j):
            steps.unroll(loop)
        steps.step("tensorize", [row], f'intrinsic = "{SubgroupIntrinsic(does, shape, subgroup)}"', 1)
