"""Blocks moved to the steps of others that are fewer or more than theirs: nothing of what they write is lost, or written outside."""
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


@T.prim_func
def first_ones(A: T.Buffer((8, 8), "float32"), c: T.handle):
    n = T.int64()
    C = T.match_buffer(c, (n, 8), "float32")
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C[vi, vj] + B[vi, vj]


@T.prim_func
def few(a: T.handle, C: T.Buffer((8,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.alloc_buffer((8,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < n, B[vi], T.float32(7))


@T.prim_func
def five(A: T.Buffer((5,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 5, B[vi], T.float32(7))


@T.prim_func
def evens(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(8, i * 2)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.Select(vi % 2 == 0, B[vi], T.float32(7))


@T.prim_func
def branches(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if A[vi] > 0.5:
                B[vi] = A[vi] * T.float32(2)
            else:
                B[vi] = T.float32(3)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)


@T.prim_func
def behind(A: T.Buffer((8,), "float32"), C: T.Buffer((9,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(9):
        with T.block("C"):
            vi = T.axis.spatial(9, i)
            C[vi] = T.if_then_else(vi > 0, B[vi - 1], T.float32(7))


@T.prim_func
def mirrored(A: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    B = T.alloc_buffer((9,), "float32")
    for i in range(9):
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(9):
        with T.block("C"):
            vi = T.axis.spatial(9, i)
            C[vi] = B[8 - vi]


@T.prim_func
def diagonal(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi, vi] = A[vi] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Select(vi == vj, B[vi, vj], T.float32(7))


@T.prim_func
def selected(A: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    B = T.alloc_buffer((9,), "float32")
    for i in range(9):
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(9):
        with T.block("C"):
            vi = T.axis.spatial(9, i)
            C[vi] = T.Select(vi > 2, B[vi], T.float32(7))


@T.prim_func
def window(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i, k in T.grid(8, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.if_then_else(vi + vk > 0 and vi + vk < 9, B[vi + vk - 1], T.float32(0))


def wanted(kernel, x):
    return {"shorter": lambda: 2 * x[:5] + 1, "padded": lambda: np.pad(2 * x, ((0, 0), (0, 5)), constant_values=7),
            "from_one": lambda: np.pad(2 * x[:, :7], ((0, 0), (1, 0)), constant_values=7),
            "behind": lambda: np.pad(2 * x, (1, 0), constant_values=7), "mirrored": lambda: 2 * x[::-1],
            "window": lambda: np.convolve(2 * x, np.ones(3, np.float32), "same"),
            "masked": lambda: np.where(np.tri(len(x), 8, dtype=bool), 2 * x, -7)}[kernel.__name__]()


@pytest.mark.parametrize("kernel, shape, number", [(shorter, (8,), 0), (padded, (4, 3), 0), (from_one, (4, 8), 0), (masked, (5, 8), 0),
                                                   (masked, (11, 8), 1)])
def test_all_that_the_block_writes_is_written(kernel, shape, number):
    sch = Schedule(kernel.module())
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[number])
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, CHECKED)(x), wanted(kernel, x))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("rows", [0, 1, 5, 8])
def test_a_size_of_the_call_ends_what_is_written(rows, number):
    sch = Schedule(first_ones.module())
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[number])
    x, c = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32), np.ones((rows, 8), np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, CHECKED)(x, c), c + 2 * x[:rows])


@pytest.mark.parametrize("factor", [None, 1, 3, 8])
@pytest.mark.parametrize("kernel, size", [(few, 1), (few, 5), (few, 8), (five, 5)])
def test_a_producer_computes_its_own_elements_only(kernel, size, factor):
    sch = Schedule(kernel.module())
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.compute_at(sch.get_block("B"), loop if factor is None else sch.split(loop, [-1, factor])[0])
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, CHECKED)(x), np.pad(2 * x, (0, 8 - size), constant_values=7))


@pytest.mark.parametrize("factors", [[1, -1], [-1, 4], [2, -1], [-1, 3]])
@pytest.mark.parametrize("kernel, size", [(behind, 8), (mirrored, 9), (window, 8)])
def test_no_region_begins_in_front_of_the_first_element(kernel, size, factors):
    sch = Schedule(kernel.module())
    outer, _ = sch.split(sch.get_loops(sch.get_block("C"))[0], factors)
    sch.compute_at(sch.get_block("B"), outer)
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    np.testing.assert_allclose(legato.compile(sch.module, CHECKED)(x), wanted(kernel, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", [padded, from_one, evens, diagonal])
def test_what_no_step_of_the_producer_reaches_is_not_lost(kernel):
    sch = Schedule(kernel.module())
    before = str(sch.module)
    with pytest.raises(ScheduleError, match=r"reverse_compute_at: block 'C' reads 'B' under a condition; .* would be lost"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[-1])
    assert str(sch.module) == before


@pytest.mark.parametrize("kernel, why", [
    (shorter, "block 'C' has 5 values of vi, and its producer may write more"), (padded, "block 'C' reads 'B' under a condition"),
    (from_one, "its producer may have no steps"), (diagonal, "its producer may have no steps"), (evens, "its producer may have no steps"),
    (branches, "block 'B' writes 'B' more than once")])
def test_a_block_is_inlined_into_all_its_steps_only(kernel, why):
    sch = Schedule(kernel.module())
    before = str(sch.module)
    with pytest.raises(ScheduleError, match=f"reverse_compute_inline: .*{why}"):
        sch.reverse_compute_inline(sch.get_block("C"))
    assert str(sch.module) == before


def test_a_choice_is_inlined_behind_a_split_producer():
    sch = Schedule(selected.module())
    sch.split(sch.get_loops(sch.get_block("B"))[0], [-1, 4])
    sch.reverse_compute_inline(sch.get_block("C"))
    x = np.random.default_rng(1).standard_normal(9).astype(np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, CHECKED)(x), np.where(np.arange(9) > 2, 2 * x, 7))
