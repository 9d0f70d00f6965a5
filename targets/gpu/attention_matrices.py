"""Schedules of attention by the matrix instructions of NVIDIA's warps (mma.sync) and of Hopper's warpgroups (wgmma), on half floats with
sums in f32.

As in ``attention``, a block of threads takes a tile of rows of one head through the keys. Each warp has some of the rows: fragments of
queries, keys and values come from shared memory by ldmatrix; scores, weights and the sums over values stay in registers, since a thread
has the same elements of a result as of a left operand. Keys and values are copied some tiles ahead where shared memory has room.
Warpgroups, as in FlashAttention-3 (Shah and others, arXiv:2407.08608), multiply queries, keys and values where they are in shared memory.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import multiplied_as
from legato.analysis.structured import AttentionForm
from legato.dialects.tir.matrix_factors import MATRIX_INTRINSICS, WARPGROUP_INTRINSICS
from legato.targets.gpu.attention import SPARE, fuses_attention, padded, parts_of
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.products import keeps_lanes
from legato.targets.gpu.steps import Steps
from legato.targets.gpu.tensor_cores import PAIR, WARPS, MatrixTiles, bind_warps, give_to_warp, share

PANEL = 64         # elements of a row of the tiles that warpgroups multiply
FRAGMENT = 16      # rows, columns and depth of an instruction, or two of them
WIDTH = 2          # bytes of an element
BANKS = 16         # bytes that are added to each row of a tile, at most
INTRINSICS = {one.left: name for name, one in MATRIX_INTRINSICS.items() if one.left in ("f16", "bf16")}
BLOCKS = ("queries", "start", "clear", "keys", "values", "zero", "scores", "mask", "greatest", "powers", "sums", "rescale", "weights",
          "scale", "second", "result")


@dataclass(frozen=True)
class MatrixAttentionTiles:
    """``rows``, ``keys``: of the tile of a block of threads; ``depth``, ``columns``: all of them, as a tile has them; ``stages``: tiles of
    keys that have buffers; ``down``: the warps, which share the rows; ``by_warpgroups``: whether four of them multiply together."""

    rows: int
    keys: int
    depth: int
    columns: int
    stages: int
    down: int
    by_warpgroups: bool = False

    @property
    def size(self) -> int:
        """The bytes of the tiles in shared memory, that of keys as rows or as columns."""
        if self.by_warpgroups:
            return WIDTH * (self.rows * self.depth + self.stages * self.keys * (self.depth + self.columns))
        keys = WIDTH * self.depth * self.keys + BANKS * max(self.depth, self.keys)
        return self.rows * (WIDTH * self.depth + BANKS) + self.stages * (keys + self.keys * (WIDTH * self.columns + BANKS))

    @property
    def warps(self) -> MatrixTiles:
        """The tiles as those of a product."""
        return MatrixTiles(self.rows, self.keys, self.depth, self.down, 1)


ROWS = ((64, 4), (32, 2), (16, 1))      # of a block, and its warps
TALL = (128, 4)    # of which a warp multiplies each fragment of keys and values twice: it loads two thirds as much from shared memory
TALL_DEPTH = 64    # at most; otherwise there is shared memory for few keys at once, before each of which sums are scaled
TALL_BLOCKS = 2 * ENOUGH
GROUPS = ((128, 8), (64, 4))     # of warps that multiply together, four and four
GROUP_KEYS = ((64, 2),)
KEYS = ((64, 3), (64, 2), (32, 3), (32, 2), (32, 1), (16, 2), (16, 1))    # and stages, best first


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one attention of halves that the device multiplies by matrix instructions; None for another kernel."""
    form = kernel.attention
    intrinsic = None if form is None else intrinsic_of(form, machine)
    parts = parts_of(kernel) if intrinsic is not None and fuses_attention(kernel, machine) else None
    if form is None or intrinsic is None or parts is None:
        return None
    tiles = tiles_of(form, machine)
    if tiles is None:
        return None
    steps = Steps("matrix_attention")
    second = steps.block(parts.second.name)
    inlined, readers = [steps.block(one.name) for one in parts.inlined], [steps.block(one.name) for one in parts.after]
    for one in inlined:
        steps.inline(one)
    sizes = (tiles.rows, tiles.keys, tiles.depth, tiles.columns)
    made = steps.step("tile_attention", [second], f"tiles = array<i64: {', '.join(map(str, sizes))}>, unconverted = true", len(BLOCKS))
    for one in readers:
        steps.step("reverse_compute_inline", [one])
    blocks = dict(zip(BLOCKS, made))
    if machine.async_copies:
        steps.step("annotate", [steps.loops(blocks["keys"], 5)[2]], f'key = "pipeline_stages", value = {tiles.stages} : i64')
    pairs = {"clear", "zero", "weights", "scale"}
    if (form.extent("n") or 1) % tiles.keys == 0:      # without tests of keys
        pairs.add("mask")
    if columns_of(form) % PAIR == 0 and form.out[-1] == "e" and all(map(keeps_lanes, parts.after)):
        pairs.add("result")
    emit(steps, blocks, tiles, intrinsic, pairs)
    for name, operand, depth, letters in (("queries", "query", 1, "d"), ("keys", "key", 2, "dn"), ("values", "value", 2, "e")):
        last, lanes = run_of(form, operand, machine)
        share(steps, steps.loops(blocks[name], depth + 2)[depth:], (tiles.down, 8, 4), lanes if last in letters else 1)
    return steps.text()


def intrinsic_of(form: AttentionForm, machine: Gpu) -> str | None:
    """The instruction that multiplies an attention's operands; None where the device has none for their types."""
    types = {multiplied_as(one.value)[1] for one in (form.query, form.key, form.value)}
    return INTRINSICS.get(*types) if len(types) == 1 and types <= {*machine.matrix_types} else None


def warpgroup_intrinsic(intrinsic: str) -> str:
    """The instruction of a warpgroup that multiplies what one of a warp does."""
    return next(name for name, one in WARPGROUP_INTRINSICS.items() if one == MATRIX_INTRINSICS[intrinsic])


def columns_of(form: AttentionForm) -> int:
    """The columns of the values, which are known."""
    return form.extent("e") or 1


def tiles_of(form: AttentionForm, machine: Gpu) -> MatrixAttentionTiles | None:
    """The largest tiles that fit the shared memory, and whose rows and keys are filled; None where none fit."""
    depth, columns = padded(form.extent("d") or 1, FRAGMENT), padded(columns_of(form), FRAGMENT)
    if machine.warpgroups and depth % PANEL == columns % PANEL == 0:
        for high, down in GROUPS:
            for wide, stages in GROUP_KEYS:
                tiles = MatrixAttentionTiles(high, wide, depth, columns, stages, down, by_warpgroups=True)
                if is_filled(form, tiles) and tiles.size <= machine.dynamic_shared_bytes - SPARE:
                    return tiles
    for high, down in (TALL, *ROWS) if takes_tall(form, depth, columns) else ROWS:
        for wide, stages in KEYS:
            tiles = MatrixAttentionTiles(high, wide, depth, columns, stages if machine.async_copies else 1, down)
            if is_filled(form, tiles) and tiles.size <= room_of(machine):
                return tiles
    return None


def is_filled(form: AttentionForm, tiles: MatrixAttentionTiles) -> bool:
    """Whether the rows and the keys, as far as they are known, fill more than half of a tile."""
    return all(size is None or size > tile // 2 or tile == FRAGMENT
               for size, tile in ((form.extent("m"), tiles.rows), (form.extent("n"), tiles.keys)))


def room_of(machine: Gpu) -> int:
    """The bytes of shared memory for a block's tiles, of which a multiprocessor has two blocks."""
    return max(machine.shared_bytes, machine.dynamic_shared_bytes // 2)


def takes_tall(form: AttentionForm, depth: int, columns: int) -> bool:
    """Whether an attention of this depth and columns has tall tiles in numbers that keep all multiprocessors busy."""
    sizes = [form.extent(term) for term in ("m", *form.batch)]
    rows, *batch = sizes
    if rows is None or None in batch or max(depth, columns) > TALL_DEPTH:
        return False
    return prod(one or 1 for one in batch) * -(-rows // TALL[0]) >= TALL_BLOCKS


def run_of(form: AttentionForm, name: str, machine: Gpu) -> tuple[str, int]:
    """The letter along which queries, keys or values, elements of one tensor, lie, and how many of them one access moves; "" and 1 for
    other ones."""
    reads = form.reads[name]
    tensor, index = reads[0]
    size, last = tensor.type.shape[-1], index[-1]
    plain = len(reads) == 1 and last in ("d", "n", "e") and index.count(last) == 1 and size > 0
    return (str(last), gcd(size, machine.lanes(8 * WIDTH))) if plain else ("", 1)


def emit(steps: Steps, blocks: dict[str, str], tiles: MatrixAttentionTiles, intrinsic: str, pairs: set[str]) -> None:
    """Maps the loops of an attention in tiles, but for copies of operands, to warps and their threads. ``pairs``: the blocks whose
    neighbouring columns are vectors."""
    batch, rows, *_ = steps.loops(blocks["result"], 4)
    steps.bind(steps.fuse([batch, rows]), "blockIdx.x")
    for name, depth in (("clear", 1), ("zero", 2), ("mask", 2), ("greatest", 2), ("powers", 2), ("sums", 2), ("weights", 2), ("scale", 2),
                        ("result", 1)):
        each_element(steps, steps.loops(blocks[name], depth + 2)[depth:], tiles, name in pairs)
    for name, depth in (("start", 1), ("rescale", 2)):
        each_row(steps, steps.loops(blocks[name], depth + 1)[depth], tiles)
    for name in ("scores", "second"):
        loops = steps.loops(blocks[name], 5)[2:]
        if tiles.by_warpgroups:
            steps.step("tensorize", [loops[0]], f'intrinsic = "{warpgroup_intrinsic(intrinsic)}"', 1)
        else:
            multiply(steps, loops, tiles, intrinsic)


def each_element(steps: Steps, loops: Sequence[str], tiles: MatrixAttentionTiles, vectors: bool) -> None:
    """Gives each thread the elements of a tile that the matrix instructions give it."""
    m, n = loops
    warp, i, half, y = steps.split(m, [tiles.down, -1, 2, 8])
    j, x, pair = steps.split(n, [-1, 4, PAIR])
    steps.reorder([warp, y, x, i, half, j, pair])
    bind_warps(steps, warp, "", tiles.warps, WARPS)
    give_to_warp(steps, y, x, (i, half, j), pair, vectors)


def each_row(steps: Steps, loop: str, tiles: MatrixAttentionTiles) -> None:
    """Gives each thread its rows."""
    warp, i, half, y = steps.split(loop, [tiles.down, -1, 2, 8])
    bind_warps(steps, warp, "", tiles.warps, WARPS)
    steps.reorder([warp, y, i, half])
    steps.bind(y, "threadIdx.y")
    steps.unroll(i)
    steps.unroll(half)


def multiply(steps: Steps, loops: Sequence[str], tiles: MatrixAttentionTiles, intrinsic: str) -> None:
    """Gives a product to the warps."""
    m, n, k = loops
    warp, i, row = steps.split(m, [tiles.down, -1, FRAGMENT])
    j, column = steps.split(n, [-1, FRAGMENT])
    outer, deep = steps.split(k, [-1, MATRIX_INTRINSICS[intrinsic].depth])
    steps.reorder([warp, outer, i, j, row, column, deep])
    bind_warps(steps, warp, "", tiles.warps, WARPS)
    for loop in (outer, i, j):
        steps.unroll(loop)
    steps.step("tensorize", [row], f'intrinsic = "{intrinsic}"', 1)
