"""Products of half floats whose depth fills no vector: sums in f32 were stored where a half float stands, over the next one."""
import ml_dtypes
import numpy as np
import pytest

import legato
from legato.script import tir as T


@T.prim_func
def half(A: T.Buffer((5, 7), "float16"), B: T.Buffer((3, 7), "float16"), C: T.Buffer((5, 3), "float16")):
    for i, j, k in T.grid(5, 3, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@T.prim_func
def brain(A: T.Buffer((5, 7), "bfloat16"), B: T.Buffer((3, 7), "bfloat16"), C: T.Buffer((5, 3), "bfloat16")):
    for i, j, k in T.grid(5, 3, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.bfloat16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v2}", "llvm{cpu=x86-64-v3}"])
@pytest.mark.parametrize(("kernel", "dtype"), [(half, np.float16), (brain, ml_dtypes.bfloat16)], ids=["f16", "bf16"])
def test_products_of_rows(kernel, dtype, target):
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (rows, 7)).astype(dtype) for rows in (5, 3))     # the sums are exact
    found = np.asarray(legato.compile(kernel, target=target)(a, b))
    np.testing.assert_array_equal(found.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32).T)
