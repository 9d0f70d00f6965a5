"""Products of one row or one column whose reader has no loop over it: the schedule could not vectorize the reader."""
import numpy as np
import pytest

import legato
from legato.script import tir as T

RANDOM = np.random.default_rng(0)


@T.prim_func
def one_column(A: T.Buffer((17, 8), "float32"), B: T.Buffer((8, 1), "float32"), D: T.Buffer((17,), "float32")):
    C = T.alloc_buffer((17, 1), "float32")
    for i, j, k in T.grid(17, 1, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i in range(17):
        with T.block("D"):
            vi = T.axis.spatial(17, i)
            D[vi] = T.max(C[vi, 0], T.float32(0))


@T.prim_func
def one_row(A: T.Buffer((1, 8), "float32"), B: T.Buffer((8, 17), "float32"), D: T.Buffer((17,), "float32")):
    C = T.alloc_buffer((1, 17), "float32")
    for i, j, k in T.grid(1, 17, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for j in range(17):
        with T.block("D"):
            vj = T.axis.spatial(17, j)
            D[vj] = T.max(C[0, vj], T.float32(0))


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}"])
@pytest.mark.parametrize(("kernel", "shapes"), [(one_column, [(17, 8), (8, 1)]), (one_row, [(1, 8), (8, 17)])], ids=["column", "row"])
def test_a_reader_without_the_dimension(kernel, shapes, target):
    a, b = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    np.testing.assert_allclose(legato.compile(kernel, target=target)(a, b), np.maximum(a @ b, 0).ravel(), 1e-5, 1e-5)


@T.prim_func
def turned_row(A: T.Buffer((1, 33), "float32"), B: T.Buffer((4, 33), "float32"), D: T.Buffer((4, 1), "float32")):
    C = T.alloc_buffer((1, 4), "float32")
    for i, j, k in T.grid(1, 4, 33):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
    for i, j in T.grid(1, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj]


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}"])
def test_a_row_that_becomes_a_column(target):
    """Its tile was the copy of one element, which upstream folds: the script went on with a handle to nothing."""
    a, b = (RANDOM.standard_normal((rows, 33)).astype(np.float32) for rows in (1, 4))
    np.testing.assert_allclose(legato.compile(turned_row, target=target)(a, b), b @ a.T, 1e-4, 1e-5)


@T.prim_func
def turned_number(A: T.Buffer((1, 33), "float32"), B: T.Buffer((1, 33), "float32"), D: T.Buffer((1, 1), "float32")):
    C = T.alloc_buffer((1, 1), "float32")
    for i, j, k in T.grid(1, 1, 33):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
    for i, j in T.grid(1, 1):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj]


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}"])
def test_a_transpose_of_one_element(target):
    """Upstream folds it: the script's handle to it became one to the product, which had been vectorized."""
    a, b = (RANDOM.standard_normal((1, 33)).astype(np.float32) for _ in range(2))
    np.testing.assert_allclose(legato.compile(turned_number, target=target)(a, b), b @ a.T, 1e-4, 1e-5)
