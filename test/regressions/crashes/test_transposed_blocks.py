"""Functions of a transposed operand, at sizes that leave one element after the blocks that are transposed in registers.

Upstream does not vectorize such a block under a mask: the schedule failed at 17, 33, 49, with a dynamic size on the other side too.
"""
# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false
import numpy as np
import pytest
from thoroughly import first_of, sampled

import legato
from legato.script import tir as T

SIZES = [5, 12, 16, 17, 33]


def static(m: int, n: int):
    @T.prim_func
    def transposed(X: T.Buffer((m, n), "float32"), Y: T.Buffer((n, m), "float32")):
        for i, j in T.grid(n, m):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.abs(X[vj, vi])

    return transposed


def dynamic_columns(m: int):
    @T.prim_func
    def transposed(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (m, n), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.abs(X[vj, vi])

    return transposed


def dynamic_rows(n: int):
    @T.prim_func
    def transposed(x: T.handle, y: T.handle):
        m = T.int64()
        X = T.match_buffer(x, (m, n), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.abs(X[vj, vi])

    return transposed


def check(executable, m: int, n: int):
    x = np.random.default_rng(0).standard_normal((m, n), np.float32)
    np.testing.assert_array_equal(np.from_dlpack(executable(x)), np.abs(x.T))


@pytest.mark.parametrize("target", first_of(["llvm", "llvm{cpu=x86-64-v3}"]))
@pytest.mark.parametrize("m", sampled(SIZES, 2))
def test_static(m, target):
    for n in SIZES:
        check(legato.compile(static(m, n), target), m, n)


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}"])
@pytest.mark.parametrize("given", [16, 17])
def test_one_dynamic_size(given, target):
    columns, rows = legato.compile(dynamic_columns(given), target), legato.compile(dynamic_rows(given), target)
    for size in (0, 1, 15, 16, 17, 33):
        check(columns, given, size)
        check(rows, size, given)
