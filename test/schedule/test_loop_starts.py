"""Loops that do not begin at 0, as a kernel may have them: steps compute what these touch, or are refused."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def middle(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    B = T.alloc_buffer((4, 16), "float32")
    for i, j in T.grid(4, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 16):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
    for i in range(4):
        for j in T.serial(2, 10):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(16, j)
                C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func
def written_in_the_middle(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    B = T.alloc_buffer((4, 16), "float32")
    for i in range(4):
        for j in T.serial(2, 10):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(16, j)
                B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj >= 2 and vj < 10, B[vi, vj] + 1.0, T.float32(0))


@T.prim_func
def sum_from_one(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in T.serial(1, 5):
            for j in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(16, k * 4 + j - 4)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]


def same(kernel, sch):
    given = np.random.default_rng(0).random((4, 16), np.float32)
    np.testing.assert_allclose(legato.compile(sch.module)(given), legato.compile(kernel)(given), rtol=1e-6)


def test_what_they_read():
    """The region begins where the loop does: it was computed as if from 0, and the last elements were not."""
    sch = Schedule(middle)
    sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[0])
    assert [loop.extent for loop in sch.get_loops(sch.get_block("B"))] == [4, 8]
    same(middle, sch)


def test_what_they_write():
    sch = Schedule(written_in_the_middle)
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])
    same(written_in_the_middle, sch)


def test_tiles():
    sch = Schedule(middle)
    with pytest.raises(ScheduleError, match="blockize: the loop j does not begin at 0"):
        sch.blockize(sch.get_loops(sch.get_block("C"))[1])


def test_factors():
    """The axis that is left would take the loop's values, and never be 0, where the init is run."""
    sch = Schedule(sum_from_one)
    same(sum_from_one, sch)
    with pytest.raises(ScheduleError, match="rfactor: the loop k does not begin at 0"):
        sch.rfactor(sch.get_loops(sch.get_block("C"))[2], 0)
