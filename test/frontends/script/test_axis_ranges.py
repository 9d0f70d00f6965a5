"""Axes whose values do not begin at 0: those of blocks do, so that an init is run with the first value."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

X = np.random.default_rng(0).standard_normal((4, 12)).astype(np.float32)


@T.prim_func
def in_range(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in T.serial(2, 10):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce((2, 10), k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def remapped(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in T.serial(2, 10):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.Cast("float32", vk) - T.float32(2)
                C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def symbolic(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4,), "float32")
    for i in range(4):
        for k in T.serial(n // 2, n):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce((n // 2, n), k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]


def as_it_is(sch):
    pass


def cached(sch):
    sch.cache_write(sch.get_block("C"), 0, "local")


def decomposed(sch):
    block = sch.get_block("C")
    sch.decompose_reduction(block, sch.get_loops(block)[1])


@pytest.mark.parametrize("step", [as_it_is, cached, decomposed])
@pytest.mark.parametrize("kernel", [in_range, remapped])
def test_sums_of_a_range(kernel, step):
    """The init was never run: the sum began with what was in memory."""
    sch = Schedule(kernel)
    step(sch)
    assert sch.module.operation.verify()
    np.testing.assert_allclose(legato.compile(sch.module)(X), X[:, 2:10].sum(1), 1e-5, 1e-5)


def test_a_range_of_known_ends_has_an_extent():
    sch = Schedule(in_range)
    assert sch.get_block("C").operation.opview.extents == [4, 8]


@pytest.mark.parametrize("step", [as_it_is, cached])
def test_a_symbolic_range(step):
    sch = Schedule(symbolic)
    step(sch)
    np.testing.assert_allclose(legato.compile(sch.module)(X), X[:, 6:].sum(1), 1e-5, 1e-5)


@T.prim_func
def shifted(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4, 12), "float32")):
    B = T.alloc_buffer((4, 12), "float32")
    for i, j in T.grid(4, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(4):
        for j in T.serial(3, 12):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 3):
        with T.block("rest"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)


def test_a_reader_of_a_range():
    """9 values that begin at 3 were taken for those from 0 on."""
    sch = Schedule(shifted)
    with pytest.raises(ScheduleError, match="block 'C' does not access the buffer by one axis for each dimension"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])
    sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[1])
    np.testing.assert_allclose(legato.compile(sch.module)(X), np.where(np.arange(12) < 3, 0, X * 2 + 1), 1e-6)
