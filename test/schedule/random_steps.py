"""Steps of schedules with random arguments: of a schedule, the random numbers, a block, a loop, and the loops around the block."""
from collections.abc import Callable
from typing import Any

FACTORS = [[None, 4], [2, None], [None, 3], [None, 2, 2], [5, None], [None, 1], [None, 16]]
BLOCK_LAYOUTS = [lambda i, j: (j, i), lambda i, j: (i * 40 + j,), lambda i, j: (j // 4, i, j % 4), lambda i, k: (i, k % 8, k // 8),
                 lambda i: (i // 2, i % 2), lambda i, j, k: (j, i * 1, k), lambda i, j, k: (i * 32 + j, k // 6, k % 6)]
PARTS = [[1], [2, None, 1], [None, 3], [4, 4]]
LAYOUTS = [lambda i, j: (j, i), lambda i, j: (j // 4, i, j % 4), lambda i, j: (i // 2, j, i % 2)]
STEPS: dict[str, Callable[..., Any]] = {
    "split": lambda s, r, b, loop, around: s.split(loop, r.choice(FACTORS)),
    "fuse": lambda s, r, b, loop, around: s.fuse(*around[r.randrange(len(around)):][:r.randint(1, 3)]),
    "merge": lambda s, r, b, loop, around: s.merge(r.choice(around), loop),
    "reorder": lambda s, r, b, loop, around: s.reorder(*r.sample(around, r.randint(1, len(around)))),
    "loop_partition": lambda s, r, b, loop, around: r.choice(
        s.get_child_blocks(r.choice(s.loop_partition(loop, r.choice(PARTS), r.random() < 0.7)))),
    "parallel": lambda s, r, b, loop, around: s.parallel(loop),
    "vectorize": lambda s, r, b, loop, around: s.vectorize(loop),
    "unroll": lambda s, r, b, loop, around: s.unroll(loop),
    "cache_read": lambda s, r, b, loop, around: s.cache_read(b, r.randrange(2), r.choice(("local", "global"))),
    "cache_write": lambda s, r, b, loop, around: s.cache_write(b, 0, r.choice(("local", "global"))),
    "read_at": lambda s, r, b, loop, around: s.read_at(loop, b, r.randrange(2), r.choice(("local", "global"))),
    "write_at": lambda s, r, b, loop, around: s.write_at(loop, b, 0, r.choice(("local", "global"))),
    "reindex": lambda s, r, b, loop, around: s.reindex(b, (r.choice(("read", "write")), r.randrange(2))),
    "set_scope": lambda s, r, b, loop, around: s.set_scope(b, 0, r.choice(("local", "global"))),
    "storage_align": lambda s, r, b, loop, around: s.storage_align(b, 0, r.choice((0, -2)), r.choice((3, 8)), r.randrange(4)),
    "transform_layout": lambda s, r, b, loop, around: s.transform_layout(b, 0, r.choice(LAYOUTS)),
    "transform_block_layout": lambda s, r, b, loop, around: s.transform_block_layout(b, r.choice(BLOCK_LAYOUTS)),
    "reorder_block_iter_var": lambda s, r, b, loop, around: s.reorder_block_iter_var(b, r.sample(range(len(around)), len(around))),
    "compute_at": lambda s, r, b, loop, around: s.compute_at(b, loop, r.random() < 0.3),
    "reverse_compute_at": lambda s, r, b, loop, around: s.reverse_compute_at(b, loop, r.random() < 0.3),
    "compute_inline": lambda s, r, b, loop, around: s.compute_inline(b),
    "reverse_compute_inline": lambda s, r, b, loop, around: s.reverse_compute_inline(b),
    "decompose_reduction": lambda s, r, b, loop, around: s.decompose_reduction(b, loop),
    "decompose_padding": lambda s, r, b, loop, around: s.decompose_padding(b, loop),
    "rfactor": lambda s, r, b, loop, around: s.rfactor(loop, r.randrange(2)),
    "blockize": lambda s, r, b, loop, around: s.blockize(loop),
    "add_unit_loop": lambda s, r, b, loop, around: s.add_unit_loop(r.choice([b, loop])),
    "annotate": lambda s, r, b, loop, around: s.annotate(r.choice([b, loop]), "pragma_note", r.randrange(4)),
    "pad": lambda s, r, b, loop, around: s.pad(b, [r.choice([1, 4, 8]) for _ in around]),
    "tile_product": lambda s, r, b, loop, around: s.tile_product(b, [r.choice([1, 4, 7, 8]) for _ in range(3)]),
    "pack": lambda s, r, b, loop, around: s.pack(b, 0, (4, 8)),
}
