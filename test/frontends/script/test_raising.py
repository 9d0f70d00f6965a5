"""Kernels written as plain loops profit from what structured kernels have: fusion and the target's schedules."""
import kernels
import numpy as np
import pytest

import legato
from legato.driver import lower
from legato.report import Report
from legato.script import relax as R
from legato.script import tir as T

RAISED = ("vector_add", "vector_add_by_handles", "matmul", "matmul_relu", "conv2d", "softmax", "two_outputs", "embedding", "layer_norm",
          "by_macro", "integers", "padded_conv1d", "add_numbers")
KEPT = {"matmul_tiled": "scheduled by hand: one is unrolled", "cross_thread_sum": "scheduled by hand: one is thread",
        "extern_call": "a call of a C function stands in the block 'B'", "threefry": "touches elements of 'x' that another step needs"}


def report_of(kernel):
    report = Report()
    lower(kernel, last="legalized", report=report)
    return report.details["raise-loops"]


@pytest.mark.parametrize("name", RAISED)
def test_affine_loops_are_raised(name):
    assert report_of(getattr(kernels, name))[name] == "raised"


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_says_why(name):
    assert KEPT[name] in report_of(getattr(kernels, name))[name]


@R.function
def dense(x: R.Tensor((32, 16), "float32"), w: R.Tensor((16, 24), "float32"), b: R.Tensor((24,), "float32")):
    y = R.call_tir(kernels.matmul, (x, w), R.Tensor((32, 24), "float32"))
    return R.nn.relu(y + b)


def test_a_kernel_by_hand_fuses_with_ops_around_it():
    fused = str(lower(dense, last="fused"))
    assert fused.count("call @") == 1 and "tir.for" not in fused
    scheduled = str(lower(dense, last="scheduled"))  # the sum, bias and maximum in registers: one loop nest of vectors, nothing in between
    assert "vector.contract" in scheduled or "vector.outerproduct" in scheduled or "vector.fma" in scheduled
    assert "linalg.generic" not in scheduled and "linalg.matmul" not in scheduled
    x, w, b = (np.random.rand(*s).astype("f") - 0.5 for s in ((32, 16), (16, 24), (24,)))
    x, w, b = (a.astype("f") for a in (x, w, b))
    np.testing.assert_allclose(legato.compile(dense)(x, w, b), np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-5)


@T.prim_func
def bias(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vj]


@T.prim_func
def relu(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj], 0.0)


@R.function
def two_by_hand(x: R.Tensor((8, 16), "float32"), b: R.Tensor((16,), "float32")):
    y = R.call_tir(bias, (x, b), R.Tensor((8, 16), "float32"))
    return R.call_tir(relu, (y,), R.Tensor((8, 16), "float32"))


def test_kernels_by_hand_fuse_with_each_other():
    fused = str(lower(two_by_hand, last="fused"))
    assert fused.count("call @") == 1 and fused.count("linalg.generic") == 1
    x, b = np.random.rand(8, 16).astype("f"), -np.random.rand(16).astype("f")
    np.testing.assert_allclose(legato.compile(two_by_hand)(x, b), np.maximum(x + b, 0))
