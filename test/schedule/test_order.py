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
