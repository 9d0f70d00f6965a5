"""Blocks that move past others: refused where these write what the block reads or writes, or read what it writes."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

X = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)


@T.prim_func
def rows(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B, S = T.alloc_buffer((8, 8), "float32"), T.alloc_buffer((8,), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj])
    for i, j in T.grid(8, 8):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] / S[vi]


@T.prim_func
def in_place(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    U, B = T.alloc_buffer((8, 8), "float32"), T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("U"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = U[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("again"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = A[vi, 7 - vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + U[vi, vj]


@T.prim_func
def written_twice(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]


def after_a_sum(sch):
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[1])


def before_another_write(sch):
    sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[0])


def inlined_behind_another_write(sch):
    sch.compute_inline(sch.get_block("B"))


def past_a_write_of_its_own(sch):
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])


def inlined_past_a_write_of_its_own(sch):
    sch.reverse_compute_inline(sch.get_block("C"))


@pytest.mark.parametrize("kernel, step, message", [
    (rows, after_a_sum, "reverse_compute_at: block 'C' reads 'S', which block 'S' writes"),
    (in_place, before_another_write, "compute_at: block 'B' reads 'U', which block 'again' writes"),
    (in_place, inlined_behind_another_write, "compute_inline: block 'B' reads 'U', which block 'again' writes"),
    (written_twice, past_a_write_of_its_own, "reverse_compute_at: block 'C' writes 'C', which block 'first' writes"),
    (written_twice, inlined_past_a_write_of_its_own, "reverse_compute_inline: block 'C' writes 'C', which block 'first' writes"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_refused(kernel, step, message):
    sch = Schedule(kernel)
    before = str(sch.module)
    with pytest.raises(ScheduleError, match=message):
        step(sch)
    assert str(sch.module) == before


def test_row_by_row():
    """All three in the loop over rows: the sum of a row is finished before the row is divided by it."""
    sch = Schedule(rows)
    b, s, c = (sch.get_block(name) for name in "BSC")
    sch.compute_at(s, sch.get_loops(c)[0])
    sch.compute_at(b, sch.get_loops(c)[0])
    np.testing.assert_allclose(legato.compile(sch.module)(X), np.exp(X) / np.exp(X).sum(1, keepdims=True), 1e-5)


def nest_of_rows(index):
    """A sum and a copy of each row in one loop, and behind it a block that divides by the sum of the row ``index``."""
    @T.prim_func
    def nest(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        B, S = T.alloc_buffer((8, 8), "float32"), T.alloc_buffer((8,), "float32")
        for i in T.serial(8):
            for j in T.serial(8):
                with T.block("S"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        S[vi] = T.float32(0)
                    S[vi] = S[vi] + T.exp(A[vi, vj])
            for j in T.serial(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.exp(A[vi, vj])
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] / S[index(vi, vj)]

    return nest


def test_behind_a_sum_of_the_same_row():
    sch = Schedule(nest_of_rows(lambda row, column: row))
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[1])
    np.testing.assert_allclose(legato.compile(sch.module)(X), np.exp(X) / np.exp(X).sum(1, keepdims=True), 1e-5)


@pytest.mark.parametrize("index", [lambda row, column: 7 - row, lambda row, column: column], ids=["from the end", "of columns"])
def test_behind_a_sum_of_another_row(index):
    sch = Schedule(nest_of_rows(index))
    with pytest.raises(ScheduleError, match="reverse_compute_at: block 'C'"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[1])


@T.prim_func
def sums(A: T.Buffer((6, 4, 8), "float32"), S: T.Buffer((6, 4), "float32")):
    for i, k, j in T.grid(6, 8, 4):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vj, vk]


def split_sums(sch):
    """The loop over rows and what is summed, split where no row ends, and the loop over columns."""
    i, k, j = sch.get_loops(sch.get_block("S"))
    return *sch.split(sch.fuse(i, k), [5, None]), j


def test_a_sum_begins_with_its_first_term():
    """A loop over rows and terms: in another order of its parts, the init of most rows would be run after some of their terms."""
    sch = Schedule(sums)
    outer, inner, j = split_sums(sch)
    with pytest.raises(ScheduleError, match="reorder: a loop over spatial and reduce axes of block 'S' is among i_k_fused_0, i_k_fused_1:"):
        sch.reorder(inner, outer)
    sch.reorder(j, outer, inner)
    x = np.random.default_rng(1).standard_normal((6, 4, 8)).astype(np.float32)
    np.testing.assert_allclose(legato.compile(sch.module)(x), x.sum(2), 1e-5)


def test_an_init_of_its_own_comes_first():
    sch = Schedule(sums)
    outer, inner, j = split_sums(sch)
    sch.decompose_reduction(sch.get_block("S"), outer)
    sch.reorder(inner, j, outer)
    x = np.random.default_rng(1).standard_normal((6, 4, 8)).astype(np.float32)
    np.testing.assert_allclose(legato.compile(sch.module)(x), x.sum(2), 1e-5)


def test_an_init_before_a_loop_that_runs_its_block_again():
    """The sum of a row is computed anew for each column; an init before the columns would be followed by all of them."""
    sch = Schedule(rows)
    row, column = sch.get_loops(sch.get_block("C"))
    sch.compute_at(sch.get_block("S"), column)
    with pytest.raises(ScheduleError, match="decompose_reduction: in one run of the loop j, block 'S' is run again for the same values"):
        sch.decompose_reduction(sch.get_block("S"), column)
    with pytest.raises(ScheduleError, match="decompose_reduction: in one run of the loop i, block 'S' is run again for the same values"):
        sch.decompose_reduction(sch.get_block("S"), row)
    sch.decompose_reduction(sch.get_block("S"), sch.get_loops(sch.get_block("S"))[2])
    np.testing.assert_allclose(legato.compile(sch.module)(X), np.exp(X) / np.exp(X).sum(1, keepdims=True), 1e-5)


@T.prim_func
def windows(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((10,), "float32")
    for i, k in T.grid(10, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in T.serial(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = S[vi] + S[vi + 1] + S[vi + 2]


def test_an_init_before_windows_that_overlap():
    """Each window computes three sums, of which the next one computes two again."""
    sch = Schedule(windows)
    sch.compute_at(sch.get_block("S"), sch.get_loops(sch.get_block("C"))[0])
    outer, inner, _ = sch.get_loops(sch.get_block("S"))
    with pytest.raises(ScheduleError, match="in one run of the loop i, block 'S' is run again"):
        sch.decompose_reduction(sch.get_block("S"), outer)
    sch.decompose_reduction(sch.get_block("S"), inner)
    x = np.random.default_rng(2).standard_normal((10, 8)).astype(np.float32)
    sums = x.sum(1)
    np.testing.assert_allclose(legato.compile(sch.module)(x), sums[:-2] + sums[1:-1] + sums[2:], 1e-4, 1e-5)


def test_a_tile_in_a_loop_over_other_axes():
    """What the axes outside of the tile take of the fused loop was computed in the loop that became the tile."""
    sch = Schedule(sums)
    i, k, j = sch.get_loops(sch.get_block("S"))
    fused = sch.fuse(k, j)
    sch.reorder(fused, i)
    tile = sch.blockize(sch.get_loops(sch.get_block("S"))[1])
    assert sch.module.operation.verify()
    assert [loop.operation for loop in sch.get_loops(tile)] == [fused.operation]
    x = np.random.default_rng(1).standard_normal((6, 4, 8)).astype(np.float32)
    np.testing.assert_allclose(legato.compile(sch.module)(x), x.sum(2), 1e-5)


def test_a_tile_that_is_not_whole():
    """Its condition was seen only directly around the block."""
    sch = Schedule(sums)
    _, inner = sch.split(sch.get_loops(sch.get_block("S"))[2], [None, 3])
    sch.add_unit_loop(sch.get_block("S"))
    with pytest.raises(ScheduleError, match="blockize: block 'S' has a predicate: its tiles are not all whole"):
        sch.blockize(inner)


@T.prim_func
def from_one(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4, n), "float32")
    for i in range(4):
        for j in T.serial(1, n + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(n, j - 1)
                C[vi, vj] = A[vi, vj] + T.float32(1)


def test_a_bound_computed_inside_of_another_loop():
    """The sum n + 1 went before the loops, the constant that it takes stayed inside: the kernel was no valid IR."""
    sch = Schedule(from_one)
    i, j = sch.get_loops(sch.get_block("C"))
    sch.reorder(j, i)
    assert sch.module.operation.verify()
    np.testing.assert_array_equal(legato.compile(sch.module)(X[:4]), X[:4] + 1)


@T.prim_func
def triangle(A: T.Buffer((4, 5, 6), "float32"), C: T.Buffer((4, 5, 6), "float32")):
    for i in range(4):
        for j in range(5):
            for k in range(i + 3):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    C[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)


def test_a_bound_that_depends_on_a_loop_around():
    sch = Schedule(triangle)
    _, j, k = sch.get_loops(sch.get_block("C"))
    sch.reorder(k, j)
    assert sch.module.operation.verify()
    x = np.random.default_rng(2).standard_normal((4, 5, 6)).astype(np.float32)
    found = np.asarray(legato.compile(sch.module)(x))
    for i in range(4):
        np.testing.assert_array_equal(found[i, :, :i + 3], x[i, :, :i + 3] + 1)


@T.prim_func
def running(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj > 0, B[vi, T.max(vj - 1, 0)], T.float32(0)) + A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)


@pytest.mark.parametrize("step", ["parallel", "vectorize", "bind"])
def test_steps_that_read_what_others_have_written(step):
    """A running total whose axis says that its values are independent: it was computed in another order, silently."""
    sch = Schedule(running)
    i, j = sch.get_loops(sch.get_block("B"))
    arguments = ("threadIdx.x",) if step == "bind" else ()
    with pytest.raises(ScheduleError, match=f"{step}: block 'B' may read of 'B' what another step of j has written"):
        getattr(sch, step)(j, *arguments)
    sch.reorder(j, i)
    sch.parallel(i)
    j0, j1 = sch.split(j, [None, 4])
    with pytest.raises(ScheduleError, match="reorder: block 'B' may read of 'B' what other steps of j_0 and j_1 have written"):
        sch.reorder(j1, j0)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X.cumsum(1) * 2, 1e-5, 1e-5)


@T.prim_func
def running_backwards(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj > 0, B[vi, T.max(vj - 1, 0)], T.float32(0)) + A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 7 - vj]


def test_a_running_total_in_the_loop_of_its_reader():
    """Its reader takes the totals from the last one on."""
    sch = Schedule(running_backwards)
    i, j = sch.get_loops(sch.get_block("C"))
    with pytest.raises(ScheduleError, match="compute_at: block 'B' reads of 'B' what it has written for other values of vj"):
        sch.compute_at(sch.get_block("B"), j)
    sch.compute_at(sch.get_block("B"), i)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X.cumsum(1)[:, ::-1], 1e-5, 1e-5)
