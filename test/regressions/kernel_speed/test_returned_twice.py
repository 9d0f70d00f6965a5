"""Kernels that return a result twice, or an input, or that end in a copy, are cut like others."""
import itertools

import numpy as np

import legato
from legato.driver import lower
from legato.report import Report
from legato.script import tir as T


@T.prim_func
def twice(A: T.Buffer((32, 32), "float32"), W: T.Buffer((32, 32), "float32"), Y: T.Buffer((32, 32), "float32"),
          Z: T.Buffer((32, 32), "float32"), U: T.Buffer((32, 32), "float32")):
    S = T.alloc_buffer((32, 32), "float32")
    for i, j, k in T.grid(32, 32, 32):
        with T.block("first"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vk] * W[vk, vj]
    for i, j, k in T.grid(32, 32, 32):
        with T.block("second"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + S[vi, vk] * W[vk, vj]
    for i, j in T.grid(32, 32):
        with T.block("again"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Y[vi, vj]
    for i, j in T.grid(32, 32):
        with T.block("input"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = A[vi, vj]


def test_a_kernel_that_returns_a_result_twice_and_an_input():
    report = Report()
    lower(twice.module(), last="fused", report=report)
    assert len(report.details["split-kernels"]["twice"]) == 2
    a, w = np.random.default_rng(0).standard_normal((2, 32, 32), np.float32)
    results = legato.compile(twice.module())(a, w)
    for found, expected in zip(results, (a @ w @ w, a @ w @ w, a), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not any(np.shares_memory(one, other) for one, other in itertools.combinations([a, w, *results], 2))
