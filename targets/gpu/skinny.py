"""Schedules of products of few rows, as language models have them when they decode: their cost is to read the columns' operand once.

Threads share the depth of a column: each multiplies its part for all rows, in registers; the parts meet in shared memory. Where neighbours
in memory are columns (``wide``), a thread takes 16 bytes of them, and threads along y take steps of the depth; where they are steps of the
depth (``deep``), threads along x take 16 bytes of them each, and their parts are combined by shuffles.
"""
from dataclasses import dataclass, replace
from math import gcd

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.products import ProductForm
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.nests import divisor
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.products import around, lanes, product_in
from legato.targets.gpu.quantized import FEW_ROWS, steps_in_a_word
from legato.targets.gpu.steps import Steps

MOST_ROWS = FEW_ROWS     # results that share a thread's elements of the columns' operand
THREADS = 256      # of a block
WARP = 32          # threads that share a column along the depth
PIECE = 64         # bytes of a row that a block reads together, at least
LINE = 128         # and with a device half full of blocks of one row, which wait for memory only
UNROLLED = 4       # steps of the depth that a thread loads together
FEW_SUMS = 16 << 10   # of a block, whose threads have registers to load as many steps again together
MANY_STEPS = 32    # of the depth, that each of many threads takes
LEAST_PARTS = 4    # parts of the depth, below which tiles are better
SUM_BYTES = 4      # of the widest sum that many threads share
MOST_SUMS = 64     # of a thread


@dataclass(frozen=True)
class SkinnyProduct:
    """A product of few rows. ``column``, ``depth``: the axes of more than one value; ``rows``: their number; ``lanes``: elements of the
    columns' operand that a thread loads at once; ``together``: steps of the depth that each of these holds."""

    kernel: BlockKernel
    block: KernelBlock
    form: ProductForm
    column: int
    depth: int
    rows: int
    lanes: int
    together: int

    @property
    def indices(self) -> list[int]:
        """The axis that each index of C is."""
        return self.block.writes_axes or []

    @property
    def outer(self) -> list[int]:
        """The axes of C over which blocks go besides the columns."""
        return [axis for axis in self.indices if axis in self.form.batch]

    @property
    def inner(self) -> list[int]:
        """The axes of C whose elements a thread has side by side: rows, and axes of one value."""
        return [axis for axis in self.indices if axis not in self.form.batch and axis != self.column]

    def size(self, axis: int) -> int:
        """The number of values of an axis."""
        return self.block.extents[axis] or 1

    @property
    def batch(self) -> int:
        """The number of products."""
        return self.form.extent(self.form.batch) or 1


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product of few rows and known sizes; None for any other kernel, and for a depth that threads cannot
    share evenly."""
    found = product_in(kernel)
    if found is None:
        return None
    block, form = found
    rows = form.extent(form.rows)
    columns, depths = ([axis for axis in axes if block.extents[axis] != 1] for axes in (form.columns, form.depth))
    if rows is None or rows > MOST_ROWS or len(columns) != 1 or len(depths) != 1 or None in block.extents or block.writes_axes is None:
        return None
    column, depth = columns[0], depths[0]
    last = block.axis_of(form.right.indices[-1]) if form.right.indices else None
    if last not in (column, depth) or (last == depth and rows == 1):   # one row along the depth is a reduction of rows
        return None
    run = form.run(form.right, [last])
    product = SkinnyProduct(kernel, block, form, column, depth, rows, lanes(kernel, machine, run, form.right.buffer, run), 1)
    if last == depth:
        return deep(product, machine)
    fewer = gcd(product.lanes, MOST_SUMS // (1 << (rows - 1).bit_length()))
    return wide(replace(product, lanes=fewer, together=steps_in_a_word(kernel, form)), machine)


def wide(product: SkinnyProduct, machine: Gpu) -> str | None:
    """The script for columns that are neighbours in memory."""
    element = max(product.form.right.buffer.type.element_type.width // 8, 1)
    width, depth, together = product.lanes, product.size(product.depth) // product.together, product.together
    fitting = [x for x in (32, 16, 8, 4, 2, 1) if x * width <= product.size(product.column)
               and (blocks_of(product, x * width) >= ENOUGH or x * width * element <= PIECE
                    or (product.rows == 1 and blocks_of(product, x * width) >= ENOUGH // 2 and x * width * element <= LINE))] or [1]
    across = next((x for x in fitting if product.size(product.column) % (x * width) == 0 and 2 * x > fitting[0]), fitting[0])
    threads = threads_of(product, machine, across, width, depth)
    most = min(threads // across, depth // 2,
               machine.shared_bytes // (SUM_BYTES * max(product.rows, 1) * across * width))
    down = divisor(depth, most)
    if down < LEAST_PARTS:
        return None
    steps = Steps("skinny")
    inlined, block = [steps.block(one.name) for one in around(product.kernel, product.block)[0]], steps.block(product.block.name)
    _, y, *_ = steps.split(steps.loops(block, product.block.rank)[product.depth], [-1, down, *([together] if together > 1 else [])])
    pieces, total = steps.rfactor(y, 0)
    shared, result = staged(steps, product, pieces, total, inlined)
    loops = dict(zip(product.indices, steps.loops(result, len(product.indices))))
    grid, place = blocks_along(steps, product, loops, across * width)
    turn, x = steps.split(place, [-1, across])
    sizes = {turn: width, **{loops[axis]: product.size(axis) for axis in product.inner}}
    tile = sorted(sizes, key=lambda loop: sizes[loop])    # threads share the longest
    steps.reorder([*tile, x])
    steps.bind(x, "threadIdx.x")
    shared_by = divisor(sizes[tile[-1]], down)
    if shared_by > 1:
        steps.bind(steps.split(tile[-1], [-1, shared_by])[1], "threadIdx.y")
    steps.compute_at(total, x)
    steps.decompose(total, steps.loops(total, 2 + len(tile) + (shared_by > 1) + len(product.indices) + 1)[-1])
    steps.compute_at(shared, grid)
    y, *own = steps.loops(shared, 2 + len(product.indices))[1:]
    loops = dict(zip(product.indices, own))
    x, lane = steps.split(loops[product.column], [-1, width])
    rest = [loops[axis] for axis in (*product.outer, *product.inner)]
    steps.reorder([y, x, *rest, lane])
    steps.bind_threads(y, x)
    unrolled(steps, rest, lane, width)
    sums = product.rows * width * across * down
    loads = 2 * UNROLLED if machine.async_copies and together == 1 and sums <= FEW_SUMS else UNROLLED
    accumulate(steps, product, pieces, x, depth // down, 1 + (together > 1), width, machine.async_copies, loads)
    return steps.text()


def threads_of(product: SkinnyProduct, machine: Gpu, across: int, width: int, depth: int) -> int:
    """The threads of a block: more where blocks are few; on a large device as many as together have loads enough on their way to keep
    memory busy, but each with many steps of the depth, or the sum of their parts takes longer than it saves."""
    blocks = blocks_of(product, across * width)
    threads = THREADS if blocks >= ENOUGH and width > 1 else 2 * THREADS
    while machine.async_copies and 2 * threads <= machine.most_threads and blocks * threads < ENOUGH * machine.most_threads // 2 and (
            depth >= MANY_STEPS * 2 * threads // across):
        threads *= 2
    return threads


def deep(product: SkinnyProduct, machine: Gpu) -> str | None:
    """The script for steps of the depth that are neighbours in memory."""
    width, depth = product.lanes, product.size(product.depth)
    across = gcd(depth // width // 2, WARP) if depth // width % 2 == 0 else 1
    down = max(next((y for y in (8, 4, 2, 1) if blocks_of(product, y) >= ENOUGH), 1), WARP // across)
    if across < LEAST_PARTS or SUM_BYTES * product.rows * across * down > machine.shared_bytes:
        return None
    steps = Steps("skinny")
    inlined, block = [steps.block(one.name) for one in around(product.kernel, product.block)[0]], steps.block(product.block.name)
    _, x, *_ = steps.split(steps.loops(block, product.block.rank)[product.depth], [-1, across, *([width] if width > 1 else [])])
    pieces, total = steps.rfactor(x, len(product.indices))
    shared, result = staged(steps, product, pieces, total, inlined)
    loops = dict(zip(product.indices, steps.loops(result, len(product.indices))))
    grid, y = blocks_along(steps, product, loops, down)
    rest = [loops[axis] for axis in product.inner]
    steps.reorder([y, *rest])
    steps.bind(y, "threadIdx.y")
    steps.compute_at(total, y)
    *own, x = steps.loops(total, 2 + len(product.indices) + 1)[2:]
    steps.bind(x, "threadIdx.x")
    for loop in (*rest, *own):
        steps.unroll(loop)
    steps.compute_at(shared, grid)
    *own, x = steps.loops(shared, 2 + len(product.indices))[1:]
    loops = dict(zip(product.indices, own))
    rest = [loops[axis] for axis in (*product.outer, *product.inner)]
    steps.reorder([loops[product.column], x, *rest])
    steps.bind_threads(loops[product.column], x)
    for loop in rest:
        steps.unroll(loop)
    accumulate(steps, product, pieces, x, depth // (across * width), 1 + (width > 1), 1, machine.async_copies)
    return steps.text()


def blocks_of(product: SkinnyProduct, columns: int) -> int:
    """The blocks of threads, with so many columns each."""
    return product.batch * -(-product.size(product.column) // columns)


def staged(steps: Steps, product: SkinnyProduct, pieces: str, total: str, inlined: list[str]) -> tuple[str, str]:
    """Puts the parts into registers, and from there into shared memory; and the sums into registers, and from there, with what reads them,
    into the result. Returns the blocks that copy."""
    shared, result = steps.cache_write(pieces, 0, "local"), steps.cache_write(total, 0, "local")
    steps.scope(shared, 0, "shared")
    for one in inlined:
        steps.inline(one)
    for one in around(product.kernel, product.block)[1]:
        steps.step("reverse_compute_inline", [steps.block(one.name)])
    return shared, result


def blocks_along(steps: Steps, product: SkinnyProduct, loops: dict[int, str], columns: int) -> tuple[str, str]:
    """Binds products, and so many columns together, to blocks of threads. Returns the loop over blocks, and that over a block's columns."""
    grid, place = steps.split(loops[product.column], [-1, columns])
    outer = [*(loops[axis] for axis in product.outer), grid]
    steps.reorder([*outer, *(loops[axis] for axis in product.inner), place])
    whole = steps.fuse(outer)
    steps.bind(whole, "blockIdx.x")
    return whole, place


def unrolled(steps: Steps, loops: list[str], lane: str, width: int) -> None:
    """Copies the body for each iteration of some loops, and makes vectors of the last."""
    for loop in loops:
        steps.unroll(loop)
    if width > 1:
        steps.vectorize(lane)


def accumulate(steps: Steps, product: SkinnyProduct, pieces: str, place: str, turns: int, near: int, width: int,
               ahead: bool, most: int = UNROLLED) -> None:
    """Puts the sums of a thread's part into the loop over threads ``place``. ``turns``: the steps of the depth that a thread takes, of
    ``near`` neighbours each, up to ``most`` of them together; ``width``: the columns that it has; ``ahead``: whether loads that are
    together are worth registers."""
    outside = 3     # loops up to the thread's
    steps.compute_at(pieces, place)
    kept = [axis for axis in range(product.block.rank) if axis != product.depth]
    own = steps.loops(pieces, outside + len(kept) + (2 if near == 1 else 3))[outside:]
    loops, (step, *lanes_of_depth), part = dict(zip(kept, own)), own[len(kept):-1], own[-1]
    results = [*(loops[axis] for axis in kept if axis in product.inner), loops[product.column]]
    others = [loops[axis] for axis in kept if axis not in product.inner and axis != product.column]
    step, *together = steps.split(step, [-1, copies]) if (copies := divisor(turns, most)) > 1 else [step]
    steps.reorder([*others, part, step, *together, *lanes_of_depth, *results])
    init = steps.decompose(pieces, step)
    if ahead:
        steps.step("annotate", [step], 'key = "loads_together", value = true')
    for row in (steps.loops(init, outside + len(others) + 1 + len(results))[-len(results):], results):
        unrolled(steps, row[:-1] if width > 1 else row, row[-1], width)
    for loop in (*together, *lanes_of_depth):
        steps.unroll(loop)
