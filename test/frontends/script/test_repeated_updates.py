"""Loops that update an element again and again by what does not vary over them: each step counts."""
import numpy as np
import pytest

import legato
from legato import tir as T


@T.prim_func
def adds(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j in range(4):
        B[j] = A[j]
    for j in range(4):
        for _i in range(10):
            B[j] = B[j] + 1.0


@T.prim_func
def doubles(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j in range(4):
        B[j] = A[j]
    for j in range(4):
        for _i in range(10):
            B[j] = B[j] * 2.0


@T.prim_func
def of_block(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j, i in T.grid(4, 10):
        with T.block("b"):
            vj, _vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = 0.0
            B[vj] = B[vj] + 1.0


@T.prim_func
def of_filled_buffer(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((10,), "float32")
    for i in range(10):
        C[i] = 3.0
    for j in range(4):
        B[j] = 0.0
        for i in range(10):
            B[j] = B[j] + C[i]


@T.prim_func
def of_outer_element(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j in range(4):
        B[j] = 0.0
        for _i in range(10):
            B[j] = B[j] + A[j]


@T.prim_func
def of_rank_0(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((), "float32")
    C[()] = A[2]
    for j in range(4):
        B[j] = 0.0
        for _i in range(10):
            B[j] = B[j] + C[()]


@T.prim_func
def into_one(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = 0.0
    for _i in range(10):
        B[0] = B[0] + 1.0


@T.prim_func
def of_one(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = 0.0
    for _i in range(10):
        B[0] = B[0] + A[0]


@T.prim_func
def of_index(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j in range(4):
        B[j] = 0.0
        for i in range(10):
            B[j] = B[j] + T.Cast("float32", i)


@T.prim_func
def maxima(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for j in range(4):
        B[j] = A[j]
        for _i in range(10):
            B[j] = T.max(B[j], 2.5)


EXPECTED = {
    adds: lambda x: x + 10,
    doubles: lambda x: x * 1024,
    of_block: lambda x: np.full_like(x, 10),
    of_filled_buffer: lambda x: np.full_like(x, 30),
    of_outer_element: lambda x: x * 10,
    of_rank_0: lambda x: np.full_like(x, 10 * x[2]),
    into_one: lambda x: np.full_like(x, 10),
    of_one: lambda x: x * 10,
    of_index: lambda x: np.full_like(x, 45),
    maxima: lambda x: np.maximum(x, 2.5),
}


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v2}"])
@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
def test_every_step_counts(kernel, target):
    x = np.arange(1, 2 if kernel in (into_one, of_one) else 5, dtype=np.float32)
    np.testing.assert_array_equal(legato.compile(kernel, target)(x), EXPECTED[kernel](x))
