"""Reductions whose init becomes a block: it is run where the block is, and nowhere else."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

X = np.random.default_rng(0).standard_normal((9, 8)).astype(np.float32)


@T.prim_func
def in_one_condition(A: T.Buffer((9, 8), "float32"), C: T.Buffer((3,), "float32")):
    for i0, i1, k0, k1 in T.grid(2, 2, 3, 3):
        with T.block("C"):
            vi = T.axis.spatial(3, i0 * 2 + i1)
            vk = T.axis.reduce(8, k0 * 3 + k1)
            T.where(i0 * 2 + i1 < 3 and k0 * 3 + k1 < 8)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


def test_the_part_of_a_condition_on_the_inits_loops_stays():
    """The init wrote behind the end of C."""
    sch = Schedule(in_one_condition)
    i, *_ = sch.get_loops(sch.get_block("C"))
    sch.decompose_reduction(sch.get_block("C"), i)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X[:3].sum(1), 1e-5)


@T.prim_func
def below_the_diagonal(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9,), "float32")):
    for i in range(9):
        with T.block("start"):
            vi = T.axis.spatial(9, i)
            C[vi] = T.float32(7)
    for i, k in T.grid(9, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i + k < 6)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


def test_a_condition_on_both_loops():
    """The init wrote the elements of which no term is added up."""
    sch = Schedule(below_the_diagonal)
    i, k = sch.get_loops(sch.get_block("C"))
    for loop, where in ((i, "loops of the init"), (k, "loops outside of k")):
        with pytest.raises(ScheduleError, match=f"whether block 'C' is run depends on {where} and on loops that are not the init's"):
            sch.decompose_reduction(sch.get_block("C"), loop)


@T.prim_func
def symbolic(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (9, n), "float32")
    C = T.match_buffer(c, (9,), "float32")
    for i, k in T.grid(9, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


def test_a_condition_by_a_size():
    """The size was taken for a loop outside of the init's, and the step refused."""
    sch = Schedule(symbolic)
    _, k = sch.get_loops(sch.get_block("C"))
    k0, _ = sch.split(k, [None, 3])
    sch.decompose_reduction(sch.get_block("C"), k0)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X.sum(1), 1e-5)


@T.prim_func
def in_a_block(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9,), "float32")):
    for i in range(9):
        with T.block("row"):
            vi = T.axis.spatial(9, i)
            for k in range(8):
                with T.block("C"):
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]


def test_a_loop_around_another_block():
    """The init went out of the block whose axis it takes: the kernel was no valid IR."""
    sch = Schedule(in_a_block)
    i, k = sch.get_loops(sch.get_block("C"))
    with pytest.raises(ScheduleError, match="decompose_reduction: the loop i is outside of block 'row', and block 'C' in it"):
        sch.decompose_reduction(sch.get_block("C"), i)
    sch.decompose_reduction(sch.get_block("C"), k)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X.sum(1), 1e-5)
