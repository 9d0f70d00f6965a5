"""Schedules of products by tiles: matmuls, batches of them, and convolutions as products of gathered rows (implicit GEMM).

A block of threads computes a tile of the result. It copies a tile of each operand to shared memory, by accesses of 16 bytes where the
operand allows them, and each thread multiplies from there into its own part of the result, which stays in registers until what reads the
result is computed.
"""
from collections.abc import Callable, Sequence
from math import gcd, prod

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.indices.forms import linear
from legato.analysis.products import NoProduct, ProductForm, product_of
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_steps import OperandCopies, copy_ahead, finish, tile
from legato.targets.gpu.product_tiles import ENOUGH, LANES, LONG, DeepTile, ProductTiles, choose, fastest, longest_depth, sliced
from legato.targets.gpu.quantized import dequantizing, packed_bits, steps_in_a_word
from legato.targets.gpu.steps import Steps
from legato.targets.gpu.unknown_sizes import TilesFrom, tiles_by_size

WORD = 32          # bits
MOST_GRID = 65535  # blocks on the axes y and z of a grid
POINTS = 128       # threads of a block that adds up parts


def product_in(kernel: BlockKernel) -> tuple[KernelBlock, ProductForm] | None:
    """The only block of a kernel that is a product, if all others are elementwise."""
    found: list[tuple[KernelBlock, ProductForm]] = []
    for one in kernel.blocks:
        try:
            found.append((one, product_of(one.block)))
        except NoProduct:
            if one.reduced or len(one.stores) != 1:
                return None
    return found[0] if len(found) == 1 else None


def around(kernel: BlockKernel, product: KernelBlock) -> tuple[list[KernelBlock], list[KernelBlock]]:
    """The other blocks of a kernel in order: those that the product does not feed, and those that it does."""
    after: list[KernelBlock] = []
    reached = {id(product)}
    for one in kernel.blocks:
        if id(one) not in reached and any(id(w) in reached for buffer in one.read for w in kernel.writers(buffer)):
            after.append(one)
            reached.add(id(one))
    return [one for one in kernel.blocks if id(one) not in reached], after


def lanes(kernel: BlockKernel, machine: Gpu, run: int, buffer: ir.Value, tile: int) -> int:
    """The elements that one access of an operand's tile moves; ``run``: those next to each other in the operand."""
    element = buffer.type.element_type
    wide = machine.lanes(element.width)
    if (packed := dequantizing(kernel, buffer)) is not None:
        return gcd(run, tile, machine.lanes(packed_bits(packed))) if keeps_lanes(packed) else 1
    while buffer is not None and kernel.is_own(buffer):   # a pad, which is computed where its element is read
        writers = kernel.writers(buffer)
        if len(writers) != 1 or not (together := plain_run(writers[0])):
            return 1
        run, buffer = gcd(run, together), writers[0].loads[0].buffer
    return gcd(run, tile, wide)


def plain_run(block: KernelBlock) -> int:
    """Of a block that reads one buffer, along the axis that it writes last, under conditions that this axis has no part in: a number of
    elements such that as many neighbours that begin at a multiple of it do so in what is read, too, as the channels of a group of a
    padded image. 0 for any other block."""
    if block.writes_axes is None or not block.writes_axes or len(block.loads) != 1:
        return 0
    last, load = block.writes_axes[-1], block.loads[0]
    tests = [op.operands[0] for op in block.ops if op.name == "scf.if"]
    if not load.indices or any(block.depends(value, [last]) for value in (*load.indices[:-1], *tests)):
        return 0
    apart, size = linear(load.indices[-1]) - linear(block.stores[0].indices[-1]), load.buffer.type.shape[-1]
    if size < 0 or not isinstance(apart.constant, int) or any(block.depends(term, [last]) for term in apart.terms):
        return 0
    return gcd(size, apart.constant, *apart.terms.values())


def keeps_lanes(block: KernelBlock) -> bool:
    """Whether a block reads neighbours, or one element, for neighbours that it writes."""
    if not block.writes_axes:
        return False
    last = block.writes_axes[-1]
    return all(not any(block.depends(index, [last]) for index in load.indices[:-1])
               and (block.axis_of(load.indices[-1]) == last or not block.depends(load.indices[-1], [last]))
               for load in block.loads if load.indices) and not any(op.name == "scf.if" for op in block.ops)


def fits(form: ProductForm, rows: int, columns: int, machine: Gpu) -> bool:
    """Whether the tiles of a product, of so many rows and columns, are no more than a grid has, which is folded where only its first axis
    may be long (tir-fold-grids)."""
    counts = [(form.extent(axes), tile) for axes, tile in ((form.rows, rows), (form.columns, columns), (form.batch, 1))]
    blocks = [1 if size is None else -(-size // tile) for size, tile in counts]
    return prod(blocks) <= machine.grid if machine.grid > MOST_GRID else all(number <= MOST_GRID for number in blocks)


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product; None for any other kernel, and for a product without rows or columns."""
    return scheduled(kernel, machine, may_split=True)


def undivided(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a product whose depth cannot be cut: that of ``schedule``, with the whole depth in each block of threads."""
    return scheduled(kernel, machine, may_split=False)


def scheduled(kernel: BlockKernel, machine: Gpu, may_split: bool) -> str | None:
    """The script of a kernel with one product. ``may_split``: whether its depth may be cut into parts."""
    found = product_in(kernel)
    if found is None:
        return None
    product, form = found
    if any(form.extent(axes) == 1 for axes in (form.rows, form.columns)):
        return None
    best = by_time(kernel, form, machine, may_split)
    tiles = best or sliced(form) or choose(form)
    if not fits(form, tiles.rows, tiles.columns, machine):
        return None
    steps = Steps("product")
    axis, parts = longest_depth(form), tiles.parts
    if best is None and tiles.slices == 1:
        axis, parts = split_depth(form, tiles.rows, tiles.columns)
    if parts > 1 and may_split:
        split(steps, kernel, machine, product, form, tiles, axis, parts)
    else:
        whole(steps, kernel, machine, product, form, tiles)
    return steps.text()


def by_time(kernel: BlockKernel, form: ProductForm, machine: Gpu, may_split: bool) -> ProductTiles | None:
    """The tiles that take the least time, where a measure of it is known; of sizes that are not known, for as many as the kernel is for."""
    several = by_size(kernel, form, machine)
    if several:
        return [one.tiles for one in several if one.least <= form.least_rows][-1]
    return None if is_packed(kernel, form) else fastest(form, machine, may_split, may_turn(machine, form))


def by_size(kernel: BlockKernel, form: ProductForm, machine: Gpu) -> Sequence[TilesFrom]:
    """The tiles of a product of unknown sizes, where a measure of their time is known."""
    return () if is_packed(kernel, form) else tiles_by_size(form, machine, may_turn(machine, form))


def is_packed(kernel: BlockKernel, form: ProductForm) -> bool:
    """Whether each block of rows dequantizes the columns' operand again."""
    return dequantizing(kernel, form.right.buffer) is not None


def split_depth(form: ProductForm, rows: int, columns: int) -> tuple[int, int]:
    """The axis of the depth of which blocks of threads take a part each, and how many parts; 1 where there are blocks enough.

    ``rows``, ``columns``: of a block's tile.
    """
    sizes = [form.extent(axes) for axes in (form.batch, form.rows, form.columns, form.depth)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or known[-1] < LONG:
        return 0, 1
    axis = longest_depth(form)
    blocks, parts = known[0] * -(-known[1] // rows) * -(-known[2] // columns), 1
    while blocks * parts < ENOUGH // 2 and (form.block.extents[axis] or 1) % (2 * parts) == 0 and known[-1] // (2 * parts) >= LONG // 8:
        parts *= 2
    return axis, parts


def whole(steps: Steps, kernel: BlockKernel, machine: Gpu, product: KernelBlock, form: ProductForm, tiles: ProductTiles) -> None:
    """Appends the steps of a product in one launch, with what reads its result."""
    block = steps.block(product.name)
    before, after = around(kernel, product)
    inlined, readers = [steps.block(one.name) for one in before], [steps.block(one.name) for one in after]
    made = tile(steps, block, tiles)
    for one in inlined:
        steps.inline(one)
    for one in readers:
        steps.step("reverse_compute_inline", [one])
    copy_ahead(steps, machine, form, tiles, made[1])
    vectors = form.run(form.store, form.columns) % LANES == 0 and all(map(keeps_lanes, after))
    finish(steps, made, tiles, operand_copies(kernel, machine, form, tiles), vectors, lies_across(form))


def split(steps: Steps, kernel: BlockKernel, machine: Gpu, product: KernelBlock, form: ProductForm, tiles: ProductTiles, axis: int,
          parts: int) -> None:
    """Appends the steps of a product whose depth is cut into parts, and of a launch that adds these up for what reads the result."""

    def compute(pieces: str, inlined: list[str], chunk: int) -> None:
        made = tile(steps, pieces, tiles)
        for one in inlined:
            steps.inline(one)
        copy_ahead(steps, machine, form, tiles, made[1])
        finish(steps, made, tiles, operand_copies(kernel, machine, form, tiles, chunk), form.run(form.store, form.columns) % LANES == 0,
               lies_across(form))

    in_parts(steps, kernel, product, form, axis, parts, compute)


def in_parts(steps: Steps, kernel: BlockKernel, product: KernelBlock, form: ProductForm, axis: int, parts: int,
             compute: Callable[[str, list[str], int], None]) -> None:
    """Appends the steps of a product whose depth is cut into parts along an axis, which ``compute`` computes, and of a launch that adds
    these up. ``compute`` takes the block of the parts, blocks to be inlined once it is tiled, and the part of the axis that each has."""
    block = steps.block(product.name)
    before, after = around(kernel, product)
    inlined, readers = [steps.block(one.name) for one in before], [steps.block(one.name) for one in after]
    outer, _ = steps.split(steps.loops(block, product.rank)[axis], [parts, -1])
    pieces, total = steps.rfactor(outer, 0)
    compute(pieces, [*inlined, *readers[:-1]], (form.block.extents[axis] or 1) // parts)
    spatial = len(product.spatial)
    last = readers[-1] if readers else steps.cache_write(total, 0, "local")
    rank = after[-1].rank if after else len(product.stores[0].indices)
    if readers:
        steps.scope(total, 0, "local")
    thread = spread_points(steps, steps.loops(last, rank))
    steps.compute_at(total, thread)
    steps.decompose(total, steps.loops(total, 3 + spatial)[-1])


def spread_points(steps: Steps, loops: list[str]) -> str:
    """Gives each point of a nest a thread, those of a block along the last loop, whose sums then lie in one place each. Returns the loop
    over threads."""
    grid, thread = steps.split(loops[-1], [-1, POINTS])
    steps.bind(steps.fuse([*loops[:-1], grid]), "blockIdx.x")
    steps.bind(thread, "threadIdx.x")
    return thread


def operand_copies(kernel: BlockKernel, machine: Gpu, form: ProductForm, tiles: ProductTiles, chunk: int = 0) -> OperandCopies:
    """How threads copy the operands' tiles; ``chunk``: as of ``operand_lanes``."""
    widths = operand_lanes(kernel, machine, form, tiles, chunk)
    return OperandCopies(widths, word_steps(kernel, form, tiles, widths[1], prod(tiles.threads)), copies_words(machine, form))


def copies_words(machine: Gpu, form: ProductForm) -> bool:
    """Whether single elements of both operands can be copied asynchronously, 4 bytes each."""
    return machine.async_copies and all(one.buffer.type.element_type.width == WORD for one in (form.left, form.right))


def operand_lanes(kernel: BlockKernel, machine: Gpu, form: ProductForm, tiles: ProductTiles, chunk: int = 0) -> tuple[int, int]:
    """The elements that one access of each operand moves. ``chunk``: the part of the depth's longest axis that a block takes, 0 for all."""
    run, size = gcd(form.run(form.left, form.depth), chunk), tiles.depth
    if lies_across(form):
        run, size = form.run(form.left, form.rows), tiles.rows
    return (lanes(kernel, machine, run, form.left.buffer, size),
            lanes(kernel, machine, form.run(form.right, form.columns), form.right.buffer, tiles.columns))


def may_turn(machine: Gpu, form: ProductForm) -> bool:
    """Whether the rows' operand has a tile along the rows at no great cost: it lies so, or its elements are copied one by one, from places
    that take no arithmetic."""
    axes = [axis for axis in (*form.rows, *form.depth) if form.block.extents[axis] != 1]
    return lies_across(form) or (copies_words(machine, form) and len(axes) == 2)


def lies_across(form: ProductForm) -> bool:
    """Whether the rows' operand, and so its tile, is contiguous along the rows."""
    return form.run(form.left, form.rows) > 1 >= form.run(form.left, form.depth)


def word_steps(kernel: BlockKernel, form: ProductForm, tiles: DeepTile, wide: int, threads: int) -> int:
    """The steps of the depth that a thread takes of each packed element of the columns' operand: all, or as few as leave no thread without
    work. ``wide``: elements of one access; ``threads``: that share the tile."""
    together = gcd(steps_in_a_word(kernel, form), tiles.depth) if wide > 1 else 1
    while together % 2 == 0 and tiles.columns // wide * (tiles.depth // together) < threads:
        together //= 2
    return together
