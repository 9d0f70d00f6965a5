"""Kernels of symbolic sizes in two forms: the host launches that with indices of 32 bits up to the last sizes that it is right for."""
import ctypes

import numpy as np
import pytest
import tvm_ffi
from device_tensors import allocated, capsule_of, on_device, on_host
from lowered_kernels import LoweredKernel, code_of, sparse
from standin import driver, prepared
from test_short_indices import width

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find
from legato.passes.gpu.guard_short_indices import SHORT_FORM
from legato.passes.gpu.short_indices import MOST
from legato.script import T

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

NO_IMAGE = 200      # CUDA_ERROR_INVALID_IMAGE
DEPTH, ROW = 512, 3


@T.prim_func
def row_sums(A: T.Buffer(("n", 3), "int8"), B: T.Buffer(("n",), "int8")):
    for i in T.thread_binding((A.shape[0] + 127) // 128, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(3):
                with T.block("B"):
                    v = T.axis.spatial(A.shape[0], i * 128 + t)
                    r = T.axis.reduce(3, k)
                    T.where(i * 128 + t < A.shape[0])
                    with T.init():
                        B[v] = T.int8(0)
                    B[v] = B[v] + A[v, r]


@pytest.mark.parametrize(("rows", "form"), [(1000, SHORT_FORM), (MOST // ROW, SHORT_FORM), (MOST // ROW + 1, ""), ((1 << 32) // ROW, "")])
def test_the_last_rows(rows, form):
    codes = code_of(legato.lower(row_sums, "nvvm", last="nvvm"))
    assert {name.endswith(SHORT_FORM): width(text) for name, text in codes.items()} == {True: 32, False: 64}
    (name,) = [one for one in codes if one.endswith(SHORT_FORM) == bool(form)]
    kernel, x, y = LoweredKernel(name, codes[name]), sparse(rows * ROW, np.int8), sparse(rows, np.int8)
    places = [0, 5, rows - 2, rows - 1]
    for place in places:
        x[place * ROW:place * ROW + ROW] = place % 41, 1, 2
    for block in {place // 128 for place in places}:
        kernel((block, 0, 0), [x, rows, y])
    assert list(y[places]) == [place % 41 + 3 for place in places]


MODEL = """func.func @main(%x: tensor<?x512xf16> {relax.dims = ["n", 512]}, %w: tensor<512x8xf16>) -> tensor<?x8xf16> {
  %0 = "relax.matmul"(%x, %w) : (tensor<?x512xf16>, tensor<512x8xf16>) -> tensor<?x8xf16>
  return %0 : tensor<?x8xf16> }"""


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.Module.parse(MODEL))


@pytest.mark.parametrize(("rows", "form"), [(2, SHORT_FORM), (MOST // DEPTH, SHORT_FORM), (MOST // DEPTH + 1, "")])
def test_the_host_chooses(lowered, rows, form):
    """By the name in the error of a launch that fails: the operand's memory is not touched, nor there, where it takes 4 GB."""
    product, made = jit(lowered.module, lowered.weights), allocated((rows, DEPTH), np.float16)
    x = tvm_ffi.from_dlpack(capsule_of(ctypes.addressof(made), b"dltensor", None))
    w = on_device(np.zeros((DEPTH, 8), np.float16))
    driver().standin_fail(b"cuLaunchKernel", 1, NO_IMAGE)
    with pytest.raises(RuntimeError, match=rf"launching the kernel \w*matmul_kernel_\d{form} for relax.matmul"):
        product(x, w)
    driver().standin_reset()


def test_results(lowered):
    product, rng = jit(lowered.module, lowered.weights), np.random.default_rng(0)
    for rows in (1, 7, 65):
        x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((rows, DEPTH), (DEPTH, 8)))
        expected = x.astype(np.float32) @ w.astype(np.float32)
        np.testing.assert_allclose(on_host(product(on_device(x), on_device(w))), expected, rtol=2e-2, atol=2e-2)


def test_what_has_one_form():
    """Kernels without loops, and those whose places are data."""
    elementwise = """func.func @main(%x: tensor<?x8xf32> {relax.dims = ["n", 8]}) -> tensor<?x8xf32> {
      %0 = "relax.negative"(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32> }"""
    taken = """func.func @main(%x: tensor<9x8xf32>, %i: tensor<?xi64> {relax.dims = ["n"]}) -> tensor<?x8xf32> {
      %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32> }"""
    for text in (elementwise, taken):
        lowered = legato.lower(legato.Module.parse(text), "nvvm", last="nvvm")
        assert len(find(lowered.operation, "gpu.module")) == 1 and not find(lowered.operation, "scf.if")
