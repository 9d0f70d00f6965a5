"""The steps of a product in tiles: its loops and its operands' copies on a block's threads. What the tiles are: products.py."""
from collections.abc import Sequence
from typing import NamedTuple

from legato.analysis.products import ProductForm
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import LANES, ProductTiles, stages_of
from legato.targets.gpu.steps import Steps


class OperandCopies(NamedTuple):
    """How threads copy the tiles of operands. ``widths``: elements of an access of each; ``together``: steps of the depth that a
    thread takes of the columns' operand; ``words``: whether single elements are copied asynchronously."""

    widths: tuple[int, int]
    together: int
    words: bool


def tile(steps: Steps, block: str, tiles: ProductTiles) -> list[str]:
    """The blocks of a product in tiles."""
    sizes, is_sliced = f"tiles = array<i64: {tiles.rows}, {tiles.columns}, {tiles.depth}>", tiles.slices > 1
    return steps.step("tile_product", [block], f"{sizes}, slices = {tiles.slices} : i64" if is_sliced else sizes, 6 if is_sliced else 5)


def copy_ahead(steps: Steps, machine: Gpu, form: ProductForm, tiles: ProductTiles, left: str) -> None:
    """Lets copies of the operands' tiles be asynchronous, where the device has such, as many steps of the depth ahead as have room."""
    stages = stages_of(machine, tiles, max(form.store.buffer.type.element_type.width // 8, 1))
    if machine.async_copies and stages > 1:
        loop = steps.loops(left, 6 + (tiles.slices > 1))[3 + (tiles.slices > 1)]
        steps.step("annotate", [loop], f'key = "pipeline_stages", value = {stages} : i64')


def finish(steps: Steps, blocks: list[str], tiles: ProductTiles, operands: OperandCopies, vectors: bool, across: bool) -> None:
    """Maps the loops of a product in tiles to threads. ``vectors``: whether the result is written in vectors; ``across``: whether the rows'
    operand lies along the rows."""
    init, left, right, multiply, *parts, result = blocks
    if tiles.turned and not across:
        turn(steps, left, tiles)
        across, operands = True, operands._replace(widths=(1, operands.widths[1]))
    outside, inner = bind_grid(steps, init, result, len(parts))
    spread(steps, inner, tiles, across, vectors)
    for own in (init, *parts):
        spread(steps, steps.loops(own, outside + 2)[outside:], tiles, across)
    for block, width, near in ((left, operands.widths[0], 1), (right, operands.widths[1], operands.together)):
        copies(steps, block, tiles, width, near, operands.words)
    *loops, k = steps.loops(multiply, outside + 4)[outside + 1:]
    coarse, fine = steps.split(k, [-1, tiles.unrolled])
    spread(steps, loops, tiles, across, deep=[coarse, fine])
    steps.unroll(fine)


def bind_grid(steps: Steps, init: str, result: str, parts: int) -> tuple[int, list[str]]:
    """Gives each tile of a result a block of threads, and each of the ``parts`` of a step of the depth its threads. Returns the number of
    loops around a tile, and the loops over the result's."""
    inner = steps.bind_tiles(result)
    if parts:
        steps.bind(steps.loops(init, 5 + parts)[3], "threadIdx.z")
    return 3 + parts, inner


def turn(steps: Steps, left: str, tiles: ProductTiles) -> None:
    """Lays the tile of the rows' operand out along the rows."""
    slices, place = "s, " if tiles.slices > 1 else "", f"k * {tiles.rows + tiles.space} + m"
    steps.step("transform_layout", [left], f"at = 0 : i64, map = affine_map<({slices}m, k) -> ({slices}{place})>")


def spread(steps: Steps, loops: list[str], tiles: ProductTiles, across: bool, vectors: bool = True, deep: Sequence[str] = ()) -> None:
    """Gives each thread its part of a nest over the result's tile. ``across``: as of ``finish``; then rows of a thread in warps are
    neighbours by four, and else as many apart as threads share them; ``deep``: loops that are to stand around its elements."""
    over, down = tiles.threads
    beside, _ = tiles.in_warps
    if tiles.warped and across:
        far, y, near = steps.split(loops[0], [-1, down, min(LANES, tiles.own_rows)])
        rows = [far, near]
    elif tiles.warped:
        i, y = steps.split(loops[0], [-1, down])
        rows = [i]
    else:
        y, i = steps.split(loops[0], [down, tiles.own_rows])
        rows = [i]
    part, j, x, lane = steps.split(loops[1], [over // beside, -1, beside, LANES])
    steps.reorder([part, y, x, *deep, *rows, j, lane])
    steps.bind_threads(steps.fuse([part, y]), x)
    for loop in (*rows, j):
        steps.unroll(loop)
    if vectors:
        steps.vectorize(lane)
    else:
        steps.unroll(lane)


def neighbours(steps: Steps, outer: str, inner: str, lane: str, together: int) -> tuple[str, str]:
    """Lets a thread take neighbours along the outer loop of a copy, whose packed elements it loads once. Returns the loops to share."""
    outer, step = steps.split(outer, [-1, together])
    steps.reorder([outer, inner, step, lane])
    steps.unroll(step)
    return outer, inner


def copies(steps: Steps, block: str, tiles: ProductTiles, wide: int, together: int = 1, words: bool = False) -> None:
    """Gives each thread its part of the copy of an operand's tile. ``wide``: elements of one access; ``together``: rows of the tile that a
    thread takes one after the other; ``words``: whether single elements are copied asynchronously."""
    across, down = tiles.in_warps
    outer, inner = steps.loops(block, 6 + (tiles.slices > 1))[-2:]
    if wide > 1:
        inner, lane = steps.split(inner, [-1, wide])
        steps.vectorize(lane)
        if together > 1:
            outer, inner = neighbours(steps, outer, inner, lane, together)
    turn, y, x = steps.split(steps.fuse([outer, inner]), [-1, down, across])
    steps.bind_threads(y, x)
    if wide > 1 or words:   # otherwise there are many turns, whose indices are computed for each element
        steps.unroll(turn)
