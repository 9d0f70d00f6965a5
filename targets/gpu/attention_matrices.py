"""Schedules of attention by the matrix instructions of NVIDIA's warps (mma.sync) and of Hopper's warpgroups (wgmma), on half floats with
sums in f32.

As in ``attention``, a block of threads takes a tile of rows of one head through the keys. Each warp has some of the rows: fragments of
queries, keys and values come from shared memory by ldmatrix; scores, weights and the sums over values stay in registers, since a thread
has the same elements of a result as of a left operand. Keys and values are copied some tiles ahead where shared memory has room.
Warpgroups, as in FlashAttention-3 (Shah and others, arXiv:2407.08608), multiply queries, keys and values where they are in shared memory.
"""
from collections.abc import Callable, Sequence
from math import gcd

from legato.analysis.block_kernel import BlockKernel
from legato.analysis.products import multiplied_as
from legato.analysis.structured import AttentionForm
from legato.dialects.tir.matrix_factors import MATRIX_INTRINSICS, WARPGROUP_INTRINSICS
from legato.targets.gpu.attention import fuses_attention, parts_of
from legato.targets.gpu.attention_tiles import FRAGMENT, WIDTH, MatrixAttentionTiles, columns_of, tiles_of, tiles_with_engine
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.products import keeps_lanes
from legato.targets.gpu.steps import Steps
from legato.targets.gpu.tensor_cores import PAIR, WARPS, bind_warps, give_to_warp, share

INTRINSICS = {one.left: name for name, one in MATRIX_INTRINSICS.items() if one.left in ("f16", "bf16")}
BLOCKS = ("queries", "start", "clear", "keys", "values", "zero", "scores", "mask", "greatest", "powers", "sums", "rescale", "weights",
          "scale", "second", "result")


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one attention of halves that the device multiplies by matrix instructions; None for another kernel."""
    return script(kernel, machine, tiles_of)


def schedule_with_engine(kernel: BlockKernel, machine: Gpu) -> str | None:
    """As ``schedule``, by warpgroups, of queries, keys and values that the copy engine brings."""
    return script(kernel, machine, tiles_with_engine)


def script(kernel: BlockKernel, machine: Gpu, choose: Callable[[AttentionForm, Gpu], MatrixAttentionTiles | None]) -> str | None:
    """The script of a kernel with one attention in the tiles that are chosen; None for another kernel, or where no tiles are."""
    form = kernel.attention
    intrinsic = None if form is None else intrinsic_of(form, machine)
    parts = parts_of(kernel) if intrinsic is not None and fuses_attention(kernel, machine) else None
    if form is None or intrinsic is None or parts is None:
        return None
    tiles = choose(form, machine)
    if tiles is None:
        return None
    steps = Steps("warpgroup_attention" if tiles.by_warpgroups else "matrix_attention")
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
    if tiles.blocks:
        steps.step("annotate", [steps.loops(blocks["keys"], 5)[2]], f'key = "resident_blocks", value = {tiles.blocks} : i64')
    pairs = {"clear", "zero", "weights", "scale"}
    if (form.extent("n") or 1) % tiles.keys == 0:      # without tests of keys
        pairs.add("mask")
    if columns_of(form) % PAIR == 0 and form.out[-1] == "e" and all(map(keeps_lanes, parts.after)):
        pairs.add("result")
    emit(steps, blocks, tiles, intrinsic, pairs)
    for name, operand, depth, letters in (("queries", "query", 1, "d"), ("keys", "key", 2, "dn"), ("values", "value", 2, "e")):
        if tiles.by_engine:
            steps.step("tensorize", [steps.loops(blocks[name], depth + 2)[depth]], 'intrinsic = "tma_tile"', 1)
            continue
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
