"""reverse_compute_at of blocks whose axes are longer or shorter than what the producer writes."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

CHECKED = "llvm{check-bounds=true fill-memory=true}"


@T.prim_func
def shorter(A: T.Buffer((8,), "float32"), C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi] + T.float32(1)


@T.prim_func
def padded(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 3), "float32")
    for i, j in T.grid(4, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj < 3, B[vi, vj], T.float32(7))


@T.prim_func
def from_one(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 1] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Select(vj > 0, B[vi, vj], T.float32(7))


@T.prim_func
def masked(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    C = T.match_buffer(c, (n, 8), "float32")
    B = T.alloc_buffer((n, 8), "float32")
    for i, j in T.grid(n, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj <= vi, B[vi, vj], T.float32(-7))


def wanted(kernel, x):
    return {"shorter": lambda: 2 * x[:5] + 1, "padded": lambda: np.pad(2 * x, ((0, 0), (0, 5)), constant_values=7),
            "from_one": lambda: np.pad(2 * x[:, :7], ((0, 0), (1, 0)), constant_values=7),
            "masked": lambda: np.where(np.tri(len(x), 8, dtype=bool), 2 * x, -7)}[kernel.__name__]()


@pytest.mark.parametrize("kernel, shape, number", [(shorter, (8,), 0), (padded, (4, 3), 0), (from_one, (4, 8), 0), (masked, (5, 8), 0),
                                                   (masked, (11, 8), 1)])
def test_all_that_the_block_writes_is_written(kernel, shape, number):
    sch = Schedule(kernel.module())
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[number])
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, CHECKED)(x), wanted(kernel, x))


@pytest.mark.parametrize("kernel", [padded, from_one])
def test_what_no_step_of_the_producer_reaches_is_not_lost(kernel):
    sch = Schedule(kernel.module())
    before = str(sch.module)
    with pytest.raises(ScheduleError, match=r"reverse_compute_at: block 'C' reads 'B' under a condition; .* would be lost"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[1])
    assert str(sch.module) == before
