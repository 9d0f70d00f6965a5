"""Schedules of attention: one launch from the product of queries and keys to that with values ("online softmax").

A block of threads takes a tile of rows of one head through the keys, tile by tile. Queries, keys, values and the weights of a tile are in
shared memory; scores, the sums over values, and each row's maximum and sum stay in registers.
"""
from dataclasses import dataclass
from math import prod

from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.products import least_rows
from legato.analysis.structured import AttentionForm, StructuredKernel
from legato.core.mlir import ir
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import ENOUGH
from legato.targets.gpu.products import keeps_lanes
from legato.targets.gpu.steps import Steps

LANES = 4         # neighbours in an access of shared memory
UNROLLED = 4      # steps of the depth, and keys, that are copied
FEWEST = 8        # rows from which on a tile is worth it
LARGEST = 256     # depth and columns
TURNS = 8         # of a thread in a copy that are unrolled: what it loads in them is in registers at once
SPARE = 2 << 10   # bytes of shared memory for what threads exchange
FLOATS = (ir.F32Type, ir.F16Type, ir.BF16Type)


@dataclass(frozen=True)
class AttentionShape:
    """``rows``, ``keys``: of the tile of a block of threads; ``down``, ``across``: its threads along rows, and along keys and columns."""

    rows: int
    keys: int
    down: int
    across: int


SHAPES = (AttentionShape(64, 32, 16, 8), AttentionShape(32, 32, 8, 8), AttentionShape(32, 16, 16, 8), AttentionShape(16, 16, 16, 8),
          AttentionShape(8, 16, 8, 8), AttentionShape(8, 8, 8, 8))
FLAT = (AttentionShape(32, 32, 16, 8), AttentionShape(16, 32, 16, 8))    # with fewer rows of a thread than the first, and more blocks


def fuses_attention(kernel: StructuredKernel, machine: Gpu) -> bool:
    """Whether a kernel is an attention that one launch computes."""
    form = kernel.attention
    if form is None or not machine.schedules:
        return False
    rows, keys, depth, columns = (form.extent(term) for term in "mnde")
    if depth is None or columns is None or not (0 < depth <= LARGEST and 0 < columns <= LARGEST):
        return False
    if 0 in (rows, keys) or (rows is not None and rows < FEWEST):
        return False
    read = [tensor.type for name in ("query", "key", "value") for tensor, _ in form.reads[name]]
    types = [*read, *(op.op.results[0].type for op in form.products), form.kernel.ops[-1].operands[0].type]
    floats = all(isinstance(t.element_type, FLOATS) for t in types if isinstance(t, ir.RankedTensorType))
    return floats and shape_for(machine, rows, depth, columns) is not None


def shape_for(machine: Gpu, rows: int | None, depth: int, columns: int) -> AttentionShape | None:
    """The largest tiles that fit the shared memory and are filled; None where none fit."""
    return next((shape for shape in SHAPES if fits(shape, machine, depth, columns)
                 and (rows is None or rows > shape.rows // 2 or shape is SHAPES[-1])), None)


def flattened(largest: AttentionShape, kernel: BlockKernel, form: AttentionForm) -> AttentionShape:
    """The largest tiles, or flatter ones that leave the device enough blocks, or the flattest where none does: what a block takes is what
    its threads do. Of unknown numbers of rows and heads the largest are in the form for many of them."""
    rows, heads = form.extent("m"), heads_of(form)
    if largest not in SHAPES[:2]:
        return largest
    if rows is None or heads is None:
        return largest if least_rows(kernel.function.operation) or not many_from(largest, kernel, form) else FLAT[-1]
    return next((shape for shape in (largest, *FLAT) if heads * -(-rows // shape.rows) >= ENOUGH), FLAT[-1])


def many_rows(kernel: BlockKernel, machine: Gpu) -> int:
    """What the unknown sizes of an attention's result are together, at least, where its largest tiles are blocks enough; 0 where there are
    none of which that is asked."""
    form = kernel.attention
    if form is None or not fuses_attention(kernel, machine):
        return 0
    largest = shape_for(machine, form.extent("m"), form.extent("d") or 1, form.extent("e") or 1)
    return 0 if largest not in SHAPES[:2] else many_from(largest, kernel, form)


def many_from(largest: AttentionShape, kernel: BlockKernel, form: AttentionForm) -> int:
    """The same, of tiles; 0 where all sizes are known, or the kernel has other arguments than tensors."""
    sizes = [form.extent(term) for term in ("m", *form.batch)]
    if None not in sizes or not all(isinstance(argument.type, ir.RankedTensorType) for argument in kernel.function.arguments):
        return 0
    return -(-ENOUGH * largest.rows // prod(size for size in sizes if size))


def fits(shape: AttentionShape, machine: Gpu, depth: int, columns: int) -> bool:
    """Whether tiles fit the shared memory."""
    wide, deep = padded(columns, shape.across * lanes_of(columns, shape.across)), padded(depth, UNROLLED)
    elements = (shape.rows + shape.keys) * deep + shape.keys * wide + shape.rows * shape.keys
    return 4 * elements <= machine.shared_bytes - SPARE


def heads_of(form: AttentionForm) -> int | None:
    """The number of an attention's heads, in all its batches; None where it is not known."""
    sizes = [form.extent(term) for term in form.batch]
    return None if None in sizes else prod(size or 1 for size in sizes)


def padded(size: int, step: int) -> int:
    """A size as a multiple of a step."""
    return -(-size // step) * step


def lanes_of(size: int, across: int) -> int:
    """The neighbours for each thread at once: as many as leave at most a quarter of the threads without work."""
    return next((lanes for lanes in (LANES, 2) if 4 * padded(size, across * lanes) <= 5 * size), 1)


@dataclass(frozen=True)
class AttentionParts:
    """The blocks of a kernel with one attention, by what the schedule does with them: ``second`` is the product with values."""

    second: KernelBlock
    inlined: list[KernelBlock]
    after: list[KernelBlock]


def parts_of(kernel: BlockKernel) -> AttentionParts | None:
    """The parts of a kernel that has two sums of products, with a maximum and a sum between them, and elementwise blocks; else None."""
    reduced = [block for block in kernel.blocks if block.reduced]
    if len(reduced) != 4 or any(len(block.stores) != 1 for block in kernel.blocks):
        return None
    first, greatest, added, second = reduced
    after, fed = fed_by(kernel, second), fed_by(kernel, first)
    scores = [block for block in fed if block not in after and not block.reduced and greatest in fed_by(kernel, block)]
    powers = [block for block in fed_by(kernel, greatest) if any(buffer in added.read for buffer in block.written)]
    if len(powers) != 1 or second not in fed:
        return None
    kept = [first, *scores[-1:], greatest, powers[0], added, second]
    return AttentionParts(second, [block for block in kernel.blocks if block not in kept and block not in after], after)


def fed_by(kernel: BlockKernel, block: KernelBlock) -> list[KernelBlock]:
    """The blocks that a block feeds, in order."""
    found: list[KernelBlock] = []
    for one in kernel.blocks:
        if one is not block and any(writer is block or writer in found for buffer in one.read for writer in kernel.writers(buffer)):
            found.append(one)
    return found


def schedule(kernel: BlockKernel, machine: Gpu) -> str | None:
    """The script of a kernel with one attention; None for any other kernel."""
    form = kernel.attention
    parts = parts_of(kernel) if form is not None and fuses_attention(kernel, machine) else None
    if form is None or parts is None:
        return None
    depth, columns = form.extent("d") or 1, form.extent("e") or 1
    largest = shape_for(machine, form.extent("m"), depth, columns)
    if largest is None:
        return None
    shape = flattened(largest, kernel, form)
    steps = Steps("attention")
    second = steps.block(parts.second.name)
    inlined, readers = [steps.block(one.name) for one in parts.inlined], [steps.block(one.name) for one in parts.after]
    for one in inlined:
        steps.inline(one)
    wide = lanes_of(columns, shape.across)
    tiles = (shape.rows, shape.keys, padded(depth, UNROLLED), padded(columns, shape.across * wide))
    blocks = steps.step("tile_attention", [second], f"tiles = array<i64: {', '.join(map(str, tiles))}>", 16)
    for one in readers:
        steps.step("reverse_compute_inline", [one])
    vectors = columns % wide == 0 and form.out[-1] == "e" and all(map(keeps_lanes, parts.after))
    emit(steps, blocks, shape, tiles, {name: run_of(form, name) for name in ("query", "key", "value")}, wide, vectors)
    return steps.text()


def run_of(form: AttentionForm, name: str) -> str:
    """The letter along which queries, keys or values, elements of one tensor, lie in vectors of four; "" for none."""
    reads = form.reads[name]
    tensor, index = reads[0]
    size = tensor.type.shape[-1]
    plain = len(reads) == 1 and index[-1] in ("d", "n", "e") and index.count(index[-1]) == 1
    return str(index[-1]) if plain and size > 0 and size % LANES == 0 else ""


def emit(steps: Steps, blocks: list[str], shape: AttentionShape, tiles: tuple[int, int, int, int], runs: dict[str, str], wide: int,
         vectors: bool) -> None:
    """Maps the loops of an attention in tiles to threads. ``runs``: the letters along which operands are copied in vectors; ``wide``:
    neighbouring columns of a thread; ``vectors``: whether the result is written in them."""
    queries, start, clear, keys, values, zero, scores, mask, greatest, powers, sums, rescale, weights, scale, second, result = blocks
    few = max(1, min(LANES, shape.keys // shape.across))
    batch, rows, *_ = steps.loops(result, 4)
    steps.bind(steps.fuse([batch, rows]), "blockIdx.x")
    for block, depth, lanes, how in ((clear, 1, wide, "vectorize"), (scale, 2, wide, "vectorize"), (zero, 2, few, "vectorize"),
                                     (weights, 2, few, "vectorize"), (mask, 2, few, "unroll"), (powers, 2, few, "unroll"),
                                     (result, 1, wide, "vectorize" if vectors else "unroll")):
        m, n = steps.loops(block, depth + 2)[depth:]
        spread(steps, shape, m, n, lanes, how)
    for block in (greatest, sums):
        m, n = steps.loops(block, 4)[2:]
        spread(steps, shape, m, n, few, "unroll")
    for block, depth in ((start, 1), (rescale, 2)):
        y, own = steps.split(steps.loops(block, depth + 1)[depth], [shape.down, -1])
        steps.bind(y, "threadIdx.y")
        steps.unroll(own)
    for block, lanes in ((scores, few), (second, wide)):
        m, n, k = steps.loops(block, 5)[2:]
        coarse, fine = steps.split(k, [-1, UNROLLED])
        y, i = steps.split(m, [shape.down, -1])
        j, x, lane = steps.split(n, [-1, shape.across, lanes])
        steps.reorder([y, x, coarse, fine, i, j, lane])
        steps.bind_threads(y, x)
        for loop in (fine, i, j):
            steps.unroll(loop)
        if lanes > 1:
            steps.vectorize(lane)
    height, width, deep, columns = tiles
    copies(steps, shape, steps.loops(queries, 3)[1:], height * deep, LANES if runs["query"] == "d" else 1)
    copies(steps, shape, steps.loops(values, 4)[2:], width * columns, LANES if runs["value"] == "e" else 1)
    d, n = steps.loops(keys, 4)[2:]
    if runs["key"] == "d":   # neighbouring threads write neighbours in the tile, and each reads a vector along the depth
        d, lane = steps.split(d, [-1, LANES])
        steps.reorder([d, n, lane])
        turn(steps, shape, [d, n], width * deep // LANES)
        steps.unroll(lane)
    else:
        copies(steps, shape, [d, n], width * deep, LANES if runs["key"] == "n" else 1)


def spread(steps: Steps, shape: AttentionShape, m: str, n: str, lanes: int, how: str) -> None:
    """Gives each thread its rows, and every so many neighbours in these; ``how``: what becomes of the neighbours' loop."""
    y, i = steps.split(m, [shape.down, -1])
    j, x, lane = steps.split(n, [-1, shape.across, lanes])
    steps.reorder([y, x, i, j, lane])
    steps.bind_threads(y, x)
    steps.unroll(i)
    steps.unroll(j)
    if lanes > 1:
        (steps.vectorize if how == "vectorize" else steps.unroll)(lane)


def copies(steps: Steps, shape: AttentionShape, loops: list[str], elements: int, lanes: int) -> None:
    """Gives each thread its part of the copy of a tile of so many elements, in vectors."""
    outer, inner = loops
    lane = ""
    if lanes > 1:
        inner, lane = steps.split(inner, [-1, lanes])
    turn(steps, shape, [outer, inner], elements // lanes)
    if lane:
        steps.vectorize(lane)


def turn(steps: Steps, shape: AttentionShape, loops: list[str], count: int) -> None:
    """Deals a nest of so many steps out to a block's threads, in turns."""
    again, y, x = steps.split(steps.fuse(loops), [-1, shape.down, shape.across])
    steps.bind_threads(y, x)
    turns = -(-count // (shape.down * shape.across))
    if turns > TURNS:
        _, again = steps.split(again, [-1, max(one for one in range(1, TURNS + 1) if turns % one == 0)])
    steps.unroll(again)
