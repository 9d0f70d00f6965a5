"""Arithmetic of half floats rounds after each operation, as numpy does, also where a kernel does several and where a cast comes before."""
import ml_dtypes
import numpy as np
import pytest
from vulkan_driver import needs_vulkan

import legato
from legato.script import tir as T

TARGETS = ["llvm", "llvm{cpu=x86-64-v2}", pytest.param("vulkan", marks=needs_vulkan)]


@T.prim_func
def half(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16"), I: T.Buffer((64,), "int32"), F: T.Buffer((64,), "float32"),
         sums: T.Buffer((64,), "float16"), squares: T.Buffer((64,), "float16"), casts: T.Buffer((64,), "float16")):
    for i in range(64):
        sums[i] = (A[i] + B[i]) - B[i]
        squares[i] = B[i] * B[i] - T.cast(F[i], "float16") * T.cast(F[i], "float16")
        casts[i] = T.cast(I[i], "float16") - T.cast(F[i], "float16")


@T.prim_func
def brain(A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "bfloat16"), I: T.Buffer((64,), "int32"), F: T.Buffer((64,), "float32"),
          sums: T.Buffer((64,), "bfloat16"), squares: T.Buffer((64,), "bfloat16"), casts: T.Buffer((64,), "bfloat16")):
    for i in range(64):
        sums[i] = (A[i] + B[i]) - B[i]
        squares[i] = B[i] * B[i] - T.cast(F[i], "bfloat16") * T.cast(F[i], "bfloat16")
        casts[i] = T.cast(I[i], "bfloat16") - T.cast(F[i], "bfloat16")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("kernel", "dtype"), [(half, np.float16), (brain, ml_dtypes.bfloat16)], ids=["f16", "bf16"])
def test_each_operation_rounds(kernel, dtype, target):
    random = np.random.default_rng(0)
    a = random.standard_normal(64).astype(dtype)
    b = (random.standard_normal(64) * 200).astype(dtype)      # squares of some are beyond f16
    i = random.integers(-(1 << 31), 1 << 31, 64).astype(np.int32)
    i[:32] >>= 15     # f16 holds these, rounded; the others are infinite
    f = i.astype(np.float32) + np.float32(0.3)
    with np.errstate(all="ignore"):
        g = f.astype(dtype)
        wanted = [(a + b) - b, b * b - g * g, i.astype(dtype) - g]
    for name, found, want in zip(("sums", "squares", "casts"), legato.compile(kernel, target=target)(a, b, i, f), wanted):
        np.testing.assert_array_equal(np.asarray(found).astype(np.float32), want.astype(np.float32), name)
