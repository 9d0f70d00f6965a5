"""Schedules by chance: what is not refused keeps the numbers, leaves valid IR, and its trace replays to the same code."""
import random

import numpy as np
import pytest
from random_steps import STEPS
from scheduled_kernels import REFERENCES, blur, matmul_relu, padded, row_sum, three_steps
from thoroughly import sampled

import legato
from legato import Schedule, ScheduleError


def schedule(seed):
    r = random.Random(seed)
    kernel = r.choice([matmul_relu, three_steps, row_sum, blur, padded])
    sch = Schedule(kernel)
    known = sch.get_child_blocks(sch.get_loops(sch.get_output_blocks()[0])[0])
    for _ in range(r.randint(3, 14)):
        found = [*known, *(p for b in known if repr(b) != "<gone>" for p in sch.get_producers(b))]
        alive = [h for h in found if repr(h) != "<gone>"]
        if not alive:
            break
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


@pytest.mark.parametrize("seeds", sampled([range(n, n + 8) for n in range(0, 32, 8)], 2), ids=str)
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
