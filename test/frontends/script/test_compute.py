"""Kernels by what each element is, in the manner of te.compute."""
import numpy as np
import pytest

import legato
from legato import Schedule
from legato.script import relax as R
from legato.script import tir

F = np.float32


def matmul(n, k, m):
    A, B = tir.placeholder((n, k), name="A"), tir.placeholder((k, m), name="B")
    r = tir.reduce_axis(k, "k")
    return tir.create_prim_func([A, B, tir.compute((n, m), lambda i, j: tir.sum(A[i, r] * B[r, j], axis=r), name="C")], "matmul")


def test_matmul_is_the_loops_that_one_writes_by_hand():
    import kernels

    kernel = matmul(32, 16, 24)
    a, b = np.random.rand(32, 16).astype(F), np.random.rand(16, 24).astype(F)
    got, by_hand = legato.compile(kernel)(a, b), legato.compile(kernels.matmul)(a, b)
    np.testing.assert_array_equal(got, by_hand)
    np.testing.assert_allclose(got, a @ b, rtol=1e-5)
    lowered = [str(legato.lower(k, last="legalized")).count("linalg.matmul") for k in (kernel, kernels.matmul)]
    assert lowered == [1, 1]


def test_it_takes_the_same_schedules():
    sch = Schedule(matmul(32, 16, 24))
    i, _j, k = sch.get_loops(sch.get_block("C"))
    k0, _ = sch.split(k, [None, 4])
    sch.reorder(k0, i)
    a, b = np.random.rand(32, 16).astype(F), np.random.rand(16, 24).astype(F)
    np.testing.assert_allclose(legato.compile(sch.module)(a, b), a @ b, rtol=1e-5)


def test_stages_symbols_and_several_outputs():
    A = tir.placeholder(("n", 8), name="A")
    k = tir.reduce_axis((0, 8), "k")
    top = tir.compute(("n",), lambda i: tir.max_over(A[i, k], axis=k), name="top")
    E = tir.compute(("n", 8), lambda i, j: tir.apply("exp", A[i, j] - top[i]), name="E")
    r = tir.reduce_axis(8, "r")
    total = tir.compute(("n",), lambda i: tir.sum(E[i, r], axis=r), name="total")
    out = tir.compute(("n", 8), lambda i, j: E[i, j] / total[i], name="out")
    exe = legato.compile(tir.create_prim_func([A, out, top], "softmax"))
    a = np.random.rand(5, 8).astype(F)
    e = np.exp(a - a.max(-1, keepdims=True))
    got, largest = exe(a)
    np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(largest, a.max(-1))


KERNEL = matmul(4, 16, 8)


@R.function
def calls(x: R.Tensor((4, 16), "float32"), w: R.Tensor((16, 8), "float32")):
    return R.nn.relu(R.call_tir(KERNEL, (x, w), R.Tensor((4, 8), "float32")))


def test_it_is_called_from_a_graph():
    x, w = np.random.rand(4, 16).astype(F) - F(0.5), np.random.rand(16, 8).astype(F) - F(0.5)
    np.testing.assert_allclose(legato.compile(calls)(x, w), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-6)


def test_what_it_refuses():
    A = tir.placeholder((4, 4))
    with pytest.raises(legato.LegatoError, match="2 sizes, and a function of 1 indices"):
        tir.compute((4, 4), lambda i: A[i, i])
    with pytest.raises(legato.LegatoError, match="takes placeholders, then what is computed"):
        tir.create_prim_func([A])
