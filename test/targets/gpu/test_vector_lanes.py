"""Vectorized loops on Vulkan: a vector has at most four elements there."""
import numpy as np
import pytest
from vulkan_driver import needs_vulkan

import legato
from legato import Schedule
from legato.script import tir as T


@T.prim_func
def floats(A: T.Buffer((24, 8), "float32"), C: T.Buffer((24, 8), "float32")):
    for i, j in T.grid(24, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)


@T.prim_func
def integers(A: T.Buffer((24, 6), "int32"), C: T.Buffer((24, 6), "int32")):
    for i, j in T.grid(24, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2 + 1


@needs_vulkan
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "serial"])
@pytest.mark.parametrize("kernel", [floats, integers])
def test_more_elements_than_a_vector_has(kernel, bound):
    sch = Schedule(kernel)
    i, j = sch.get_loops(sch.get_block("C"))
    sch.vectorize(j)
    if bound:
        sch.bind(i, "threadIdx.x")
    exe = legato.compile(sch.module, target="vulkan")
    given, = exe.inputs
    x = np.arange(24 * int(given.shape[1])).reshape(24, -1).astype(np.float32 if kernel is floats else np.int32)
    np.testing.assert_array_equal(exe(x), x * 2 + 1)
