"""Statements that stand in no block, beside blocks: steps that would leave them behind, or take them beyond a loop's end, are refused."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        B[i] = A[i] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)


@T.prim_func
def behind(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
        C[i] = B[i] + T.float32(1)


@T.prim_func
def begun(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        B[i] = A[i] * T.float32(2)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi > 5:
                B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)


def loop(sch, name):
    return sch.get_loops(sch.get_block(name))[0]


@pytest.mark.parametrize("kernel, step, why", [
    (before, lambda s: s.cache_read(s.get_block("C"), 0, "global"), "cache_read: 'B' is written by a statement in no block"),
    (before, lambda s: s.split(loop(s, "C"), [-1, 3]), "split: a statement under i stands in no block"),
    (before, lambda s: s.pad(s.get_block("C"), [16]), "pad: the loops around block 'C' hold statements that stand in no block"),
    (behind, lambda s: s.cache_write(s.get_block("B"), 0, "global"), "cache_write: 'B' is read by a statement in no block"),
    (begun, lambda s: s.compute_inline(s.get_block("B")), "compute_inline: 'B' is also written by a statement in no block"),
    (begun, lambda s: s.compute_at(s.get_block("B"), loop(s, "C")), "compute_at: 'B' is also written by a statement in no block"),
    (begun, lambda s: s.reverse_compute_inline(s.get_block("C")), "reverse_compute_inline: 'B' is also written by a statement in no block"),
])
def test_refused(kernel, step, why):
    sch = Schedule(kernel.module())
    text = str(sch.module)
    with pytest.raises(ScheduleError, match=why):
        step(sch)
    assert str(sch.module) == text


@pytest.mark.parametrize("kernel, step", [
    (before, lambda s: s.split(loop(s, "C"), [-1, 4])), (behind, lambda s: s.compute_inline(s.get_block("B"))),
    (begun, lambda s: s.cache_write(s.get_block("B"), 0, "global")), (begun, lambda s: s.pad(s.get_block("B"), [16]))])
def test_what_leaves_them_in_their_order_is_not(kernel, step):
    sch = Schedule(kernel.module())
    step(sch)
    x = np.random.default_rng(1).random(8, dtype=np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, "llvm{check-bounds=true fill-memory=true}")(x), 2 * x + 1)
