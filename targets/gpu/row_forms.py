"""Numbers of rows for which a product of rows in an unknown number gets a form of its own, besides the one for any number.

A language model that decodes has one row, and many when it reads a prompt; a model of images has one image, or a batch of them. One is a
product like any other of known sizes; many rows of a matmul have the tiles that they would have if they were known. Products whose tiles
are measured in time (``unknown_sizes``) have those of few, of some, and of many results. Many images of other products have no form: a
network has many convolutions, and ResNet-18 of f16 would have 2.5 MB of PTX for 1.0, and take three times as long to compile. Attentions
have the largest tiles where these are blocks enough.
"""
from legato.analysis.block_kernel import BlockKernel
from legato.analysis.indices.forms import linear
from legato.analysis.products import ProductForm
from legato.analysis.structured import StructuredKernel
from legato.targets.gpu import attention, cooperative, dot_products, matrix_tiles, product_tiles, tensor_cores, warpgroup_tiles, warpgroups
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import BlockTile, rows_for
from legato.targets.gpu.products import by_size, product_in

ONE = (1, 1)


def row_forms(kernel: StructuredKernel, machine: Gpu) -> tuple[tuple[int, int | None], ...]:
    """The least and the most of each form, None for any number, of what is not known of the rows: the rows themselves, images, or
    places of an image; or of the result. None for kernels that are no product, or attention, of unknown rows."""
    if not isinstance(kernel, BlockKernel) or not kernel.is_plain:
        return ()
    if (least := attention.many_rows(kernel, machine)) > 1:
        return ((least, None),)
    found = product_in(kernel)
    if found is None:
        return ()
    _, form = found
    unknown = [axis for axis in form.rows if form.block.extents[axis] is None]
    others = (form.extent(form.batch), form.extent(form.columns), form.extent(form.depth))
    if 1 in (form.extent(form.rows), others[1]):
        return ()
    several = by_size(kernel, form, machine) if is_plain(form, machine) else ()
    forms = [(one.least, None) for one in several if one.least]
    if not unknown or None in others:
        return tuple(forms)
    if not several and (tile := largest_tile(kernel, form, machine)) is not None and (
            sum(form.block.extents[axis] != 1 for axis in form.rows) == 1):
        least = -(-rows_for(form, tile) // form.known_part(form.rows))
        forms = [(least, None)] if least > 1 else []
    one = [ONE] if len(unknown) == 1 and is_copied(form, unknown[0]) else []
    return (*one, *forms)


def is_plain(form: ProductForm, machine: Gpu) -> bool:
    """Whether no instruction multiplies several elements of a product at once."""
    matrices = tensor_cores.intrinsic_of(form, machine) is not None and tensor_cores.is_long(form)
    return not matrices and not (machine.dot_products and dot_products.intrinsic_of(form))


def is_copied(form: ProductForm, axis: int) -> bool:
    """Whether an axis is one of the rows' operand, as it is, and not places to which a filter is moved."""
    return any(linear(index) == linear(form.block.block.arguments[axis]) for index in form.left.indices)


def largest_tile(kernel: BlockKernel, form: ProductForm, machine: Gpu) -> BlockTile | None:
    """The largest tiles of the schedule that a product has, if its columns fill them; None where one size is for any number of rows."""
    columns, matrices = form.extent(form.columns) or 0, tensor_cores.intrinsic_of(form, machine) is not None
    if not matrices and cooperative.schedule(kernel, machine) is not None:
        return None
    table, filled = product_tiles.TILES, product_tiles.FILLED
    if matrices:
        table = matrix_tiles.TILES if warpgroups.schedule(kernel, machine) is None else warpgroup_tiles.TILES
        filled = matrix_tiles.FILLED
    return table[0] if columns >= filled * (table[0].columns * -(-columns // table[0].columns)) else None
