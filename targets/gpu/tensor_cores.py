"""Schedules of products of half floats, of floats of 8 bits, and of f32 where it may be rounded, by the matrix instructions of NVIDIA's
warps (mma.sync), with sums in f32.

A block of threads computes a tile of the result, as in ``products``, and each warp of it a part: fragments of the operands' tiles come from
shared memory by ldmatrix, sums stay in registers, and what reads the result is computed where it is written.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import ProductForm
from legato.core.mlir import ir
from legato.dialects.tir.schedule_ops import MATRIX_INTRINSICS
from legato.targets.gpu import products
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.steps import Steps

LEAST = 8          # rows, columns and depth from which on a tile is not mostly empty
ROW_PADDING = 16   # bytes
PAIR = 2           # neighbouring columns that a thread has
WARP = 32
MOST_SUMS = 64     # of a thread in products of bytes, whose fragments hold twice the depth, and which are exchanged in registers
MOST_STAGES = 4    # steps of the depth that have buffers of their own


@dataclass(frozen=True)
class MatrixTiles:
    """``rows``, ``columns``, ``depth``: of the tile of a block of threads; ``down``, ``across``: its warps along rows and columns."""

    rows: int
    columns: int
    depth: int
    down: int
    across: int

    def size(self, width: int) -> int:
        """The bytes of the operands' tiles in shared memory, of elements of ``width`` bytes, with the most that is added to their rows."""
        return width * (self.rows + self.columns) * self.depth + ROW_PADDING * (max(self.rows, self.depth) + max(self.columns, self.depth))

    @property
    def warps(self) -> int:
        """The warps of a block."""
        return self.down * self.across


TILES = (MatrixTiles(128, 128, 32, 2, 2), MatrixTiles(64, 64, 32, 2, 2), MatrixTiles(32, 64, 32, 2, 2), MatrixTiles(32, 32, 32, 2, 2))
NARROW = (MatrixTiles(16, 64, 32, 1, 4), MatrixTiles(64, 16, 32, 4, 1))   # for few rows, and for few columns


def choose(form: ProductForm) -> MatrixTiles:
    """The largest tiles that leave enough blocks and are not mostly empty; sizes that are not known count as long."""
    rows, columns = (form.extent(axes) for axes in (form.rows, form.columns))
    if rows is not None and rows <= NARROW[0].rows:
        return NARROW[0]
    if columns is not None and columns <= NARROW[1].columns:
        return NARROW[1]
    return products.largest(form, TILES, Fraction(2, 3)) or TILES[-1]


def intrinsic_of(form: ProductForm, machine: Gpu) -> str | None:
    """The instruction that multiplies the operands of a product; None where the device has none for their types."""
    left, right = (multiplied_type(access.op.results[0], factor) for access, factor in zip((form.left, form.right), form.factors))
    if left != right or left not in machine.matrix_types or str(form.store.buffer.type.element_type) != "f32":
        return None
    return next((one for one, (type_, _) in MATRIX_INTRINSICS.items() if type_ == left), None)


def layout(width: int) -> str:
    """The attributes of ``tile_product`` for operands of elements of so many bits."""
    return "unconverted = true, depth_last = true" if width == 8 else "unconverted = true"


def multiplied_type(load: ir.Value, factor: ir.Value) -> str | None:
    """The type of a factor before it is widened to f32: that of the load, or, of bytes, the float that these are; None for another cast."""
    if factor == load:
        return "f32" if str(load.type) == "f32" else None
    cast = factor.owner.operation
    if cast.name != "arith.extf" or str(factor.type) != "f32":
        return None
    narrow = cast.operands[0]
    is_byte = narrow != load and narrow.owner.operation.name == "arith.bitcast" and narrow.owner.operation.operands[0] == load
    return str(narrow.type) if narrow == load or is_byte else None


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one product whose operands the device multiplies by matrix instructions; None for any other kernel."""
    found = products.product_in(kernel) if machine.matrix_types else None
    if found is None:
        return None
    product, form = found
    intrinsic = intrinsic_of(form, machine)
    if intrinsic is None or any(
            (size := form.extent(axes)) is not None and size < LEAST for axes in (form.rows, form.columns, form.depth)):
        return None
    tiles, width = choose(form), form.left.buffer.type.element_type.width // 8
    tiles = replace(tiles, depth=2 * tiles.depth // width)      # rows of 64 bytes
    if width == 1 and tiles.rows * tiles.columns > MOST_SUMS * WARP * tiles.warps:
        tiles = replace(tiles, across=2 * tiles.across)
    if not products.fits(form, tiles.rows, tiles.columns, machine):
        return None
    steps = Steps("matrix_product")
    before, after = products.around(kernel, product)
    axis, parts = products.split_depth(form, tiles.rows, tiles.columns)
    vectors = form.run(form.store, form.columns) % PAIR == 0

    def compute(block: str, inlined: list[str], chunk: int, readers: Sequence[str] = ()) -> None:
        sizes = f"array<i64: {tiles.rows}, {tiles.columns}, {tiles.depth}>"
        made = steps.step("tile_product", [block], f"tiles = {sizes}, {layout(8 * width)}", 5)
        for one in inlined:
            steps.inline(one)
        for one in readers:
            steps.step("reverse_compute_inline", [one])
        stages = min(MOST_STAGES, machine.shared_bytes // tiles.size(width))
        if machine.async_copies and stages > 1:
            steps.step("annotate", [steps.loops(made[1], 6)[3]], f'key = "pipeline_stages", value = {stages} : i64')
        finish(steps, made, tiles, intrinsic, operand_lanes(kernel, machine, form, tiles, chunk), vectors)

    if parts > 1:
        products.in_parts(steps, kernel, product, form, axis, parts, compute)
        return steps.text()
    block = steps.block(product.name)
    inlined, readers = ([steps.block(one.name) for one in some] for some in (before, after))
    vectors = vectors and all(map(products.keeps_lanes, after))
    compute(block, inlined, 0, readers)
    return steps.text()


def operand_lanes(kernel: BlockKernel, machine: Gpu, form: ProductForm, tiles: MatrixTiles, chunk: int) -> list[int]:
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


def finish(steps: Steps, blocks: list[str], tiles: MatrixTiles, intrinsic: str, widths: list[int], vectors: bool) -> None:
    """Maps the loops of a product in tiles to warps and their threads. ``widths``: elements of an access of each operand; ``vectors``:
    whether the result is written in vectors."""
    init, left, right, multiply, result = blocks
    batch, rows, columns, *inner = steps.loops(result, 5)
    for loop, axis in ((rows, "x"), (columns, "y"), (batch, "z")):
        steps.bind(loop, f"blockIdx.{axis}")
    spread(steps, inner, tiles, vectors)
    spread(steps, steps.loops(init, 5)[3:], tiles, vectors=True)
    copies(steps, left, tiles, widths[0])
    copies(steps, right, tiles, widths[1])
    m, n, k = steps.loops(multiply, 7)[4:]
    down, i, row = steps.split(m, [tiles.down, -1, 16])
    across, j, column = steps.split(n, [tiles.across, -1, 16])
    outer, deep = steps.split(k, [-1, MATRIX_INTRINSICS[intrinsic][1]])
    steps.reorder([down, across, outer, i, j, row, column, deep])
    bind_warps(steps, down, across, tiles)
    for loop in (outer, i, j):
        steps.unroll(loop)
    steps.step("tensorize", [row], f'intrinsic = "{intrinsic}"', 1)


def bind_warps(steps: Steps, down: str, across: str, tiles: MatrixTiles) -> None:
    """Binds the loops over a block's warps, which stand around each other."""
    both = tiles.down > 1 and tiles.across > 1
    steps.bind(steps.fuse([down, across]) if both else across if tiles.across > 1 else down, "threadIdx.z")


def spread(steps: Steps, loops: list[str], tiles: MatrixTiles, vectors: bool) -> None:
    """Gives each thread the elements of the result's tile that the matrix instructions give it."""
    m, n = loops
    down, i, half, y = steps.split(m, [tiles.down, -1, 2, 8])
    across, j, x, pair = steps.split(n, [tiles.across, -1, 4, PAIR])
    steps.reorder([down, across, y, x, i, half, j, pair])
    bind_warps(steps, down, across, tiles)
    steps.bind(y, "threadIdx.y")
    steps.bind(x, "threadIdx.x")
    for loop in (i, half, j):
        steps.unroll(loop)
    if vectors:
        steps.vectorize(pair)
    else:
        steps.unroll(pair)


def copies(steps: Steps, block: str, tiles: MatrixTiles, wide: int) -> None:
    """Gives each thread its part of the copy of an operand's tile. ``wide``: elements of one access."""
    outer, inner = steps.loops(block, 6)[4:]
    if wide > 1:
        inner, lane = steps.split(inner, [-1, wide])
        steps.vectorize(lane)
    turn, z, y, x = steps.split(steps.fuse([outer, inner]), [-1, tiles.warps, 8, 4])
    for loop, axis in ((z, "z"), (y, "y"), (x, "x")):
        steps.bind(loop, f"threadIdx.{axis}")
    if wide > 1:   # otherwise there are many turns, whose indices are computed for each element
        steps.unroll(turn)
