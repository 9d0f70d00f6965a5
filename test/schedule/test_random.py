"""Schedules by chance: what is not refused keeps the numbers, leaves valid IR, and its trace replays to the same code."""
import random

import numpy as np
import pytest
from scheduled_kernels import REFERENCES, blur, matmul_relu, row_sum, three_steps

import legato
from legato import Schedule, ScheduleError

FACTORS = [[None, 4], [2, None], [None, 3], [None, 2, 2], [5, None]]
LAYOUTS = [lambda i, j: (j, i), lambda i, j: (j // 4, i, j % 4)]
STEPS = {
    "split": lambda s, r, b, loop, around: s.split(loop, r.choice(FACTORS)),
    "fuse": lambda s, r, b, loop, around: s.fuse(*around[r.randrange(len(around)):][:r.randint(1, 3)]),
    "reorder": lambda s, r, b, loop, around: s.reorder(*r.sample(around, r.randint(1, len(around)))),
    "parallel": lambda s, r, b, loop, around: s.parallel(loop),
    "vectorize": lambda s, r, b, loop, around: s.vectorize(loop),
    "unroll": lambda s, r, b, loop, around: s.unroll(loop),
    "cache_read": lambda s, r, b, loop, around: s.cache_read(b, r.randrange(2), "local"),
    "cache_write": lambda s, r, b, loop, around: s.cache_write(b, 0, "local"),
    "transform_layout": lambda s, r, b, loop, around: s.transform_layout(b, 0, r.choice(LAYOUTS)),
    "compute_at": lambda s, r, b, loop, around: s.compute_at(b, loop, r.random() < 0.3),
    "reverse_compute_at": lambda s, r, b, loop, around: s.reverse_compute_at(b, loop, r.random() < 0.3),
    "compute_inline": lambda s, r, b, loop, around: s.compute_inline(b),
    "reverse_compute_inline": lambda s, r, b, loop, around: s.reverse_compute_inline(b),
    "decompose_reduction": lambda s, r, b, loop, around: s.decompose_reduction(b, loop),
    "rfactor": lambda s, r, b, loop, around: s.rfactor(loop, r.randrange(2)),
    "blockize": lambda s, r, b, loop, around: s.blockize(loop),
    "add_unit_loop": lambda s, r, b, loop, around: s.add_unit_loop(r.choice([b, loop])),
    "pad": lambda s, r, b, loop, around: s.pad(b, [r.choice([1, 4, 8]) for _ in around]),
    "tile_product": lambda s, r, b, loop, around: s.tile_product(b, [r.choice([1, 4, 7, 8]) for _ in range(3)]),
    "pack": lambda s, r, b, loop, around: s.pack(b, 0, (4, 8)),
}


def schedule(seed):
    r = random.Random(seed)
    kernel = r.choice([matmul_relu, three_steps, row_sum, blur])
    sch = Schedule(kernel)
    known = sch.get_child_blocks(sch.get_loops(sch.get_output_blocks()[0])[0])
    for _ in range(r.randint(3, 14)):
        found = [*known, *(p for b in known if repr(b) != "<gone>" for p in sch.get_producers(b))]
        alive = [h for h in found if repr(h) != "<gone>"]
        block = r.choice(alive)
        around = sch.get_loops(block)
        loops = [*around, *(h for h in sch.get_loops(r.choice(alive)))]
        if not around:
            break
        try:
            made = STEPS[r.choice(list(STEPS))](sch, r, block, r.choice(loops), around)
        except ScheduleError:
            continue
        known = [*alive, *([made] if hasattr(made, "operation") and made.operation.name == "tir.block" else [])][-8:]
    return kernel, sch


@pytest.mark.parametrize("seeds", [range(n, n + 8) for n in range(0, 32, 8)], ids=str)
def test_random_schedules(seeds):
    for seed in seeds:
        kernel, sch = schedule(seed)
        assert sch.module.operation.verify()
        again = Schedule(kernel).replay(sch.trace)
        assert str(again) == str(sch) and again.trace == sch.trace, seed
        exe = legato.compile(sch.module)
        rng = np.random.default_rng(seed)
        arrays = [(rng.random([int(size) for size in p.shape]) - 0.5).astype(np.float32) for p in exe.inputs]
        np.testing.assert_allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-3, atol=1e-4, err_msg=f"seed {seed}")
