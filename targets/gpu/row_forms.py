"""Numbers of rows for which a product of rows in an unknown number gets a form of its own, besides the one for any number.

A language model that decodes has one row, and many when it reads a prompt. One row is a product like any other of known sizes
(``skinny``); many rows have the tiles that they would have if they were known.
"""
from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import ProductForm
from legato.analysis.structured import StructuredKernel
from legato.targets.gpu import cooperative, products, tensor_cores, warpgroups
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.products import ENOUGH, BlockTile, product_in

ONE = (1, 1)
MOST_WASTE = 4      # of the rows of the largest tiles, at most one part of so many may be empty


def row_forms(kernel: StructuredKernel, machine: Gpu) -> tuple[tuple[int, int | None], ...]:
    """The least and the most rows of each form, None for any number; none for kernels that are no matmul of unknown rows alone."""
    found = product_in(kernel) if isinstance(kernel, BlockKernel) and kernel.is_plain else None
    if found is None or not isinstance(kernel, BlockKernel):
        return ()
    _, form = found
    rows = [axis for axis in form.rows if form.block.extents[axis] != 1]
    others = (form.extent(axes) for axes in (form.batch, form.columns, form.depth))
    if len(rows) != 1 or form.extent(rows) is not None or None in (sizes := [*others]) or sizes[0] != 1 or sizes[1] == 1:
        return ()
    tile = largest_tile(kernel, form, machine)
    if tile is None:
        return (ONE,)
    down = -(-ENOUGH // -(-(sizes[1] or 1) // tile.columns))     # tiles along the rows that leave blocks enough
    return (ONE, (max(down - 1, MOST_WASTE - 1) * tile.rows + 1, None))


def largest_tile(kernel: BlockKernel, form: ProductForm, machine: Gpu) -> BlockTile | None:
    """The largest tiles of the schedule that a product has, if its columns fill them; None where one size is for any number of rows."""
    columns, matrices = form.extent(form.columns) or 0, tensor_cores.intrinsic_of(form, machine) is not None
    if not matrices and cooperative.schedule(kernel, machine) is not None:
        return None
    table = products.TILES if not matrices else tensor_cores.TILES if warpgroups.schedule(kernel, machine) is None else warpgroups.TILES
    filled = tensor_cores.FILLED if matrices else products.FILLED
    return table[0] if columns >= filled * (table[0].columns * -(-columns // table[0].columns)) else None
