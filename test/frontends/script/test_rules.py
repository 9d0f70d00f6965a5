"""A graph op straight to a kernel written as a script, by a rule; and packed functions written in C."""
import shutil
import subprocess

import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import relax as R
from legato.script import tir as T

F = np.float32


@T.prim_func
def my_softmax(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    largest = T.alloc_buffer((1,), scope="local")
    total = T.alloc_buffer((1,), scope="local")
    for i in range(n):
        largest[0] = T.min_value("float32")
        for j in range(m):
            largest[0] = T.max(largest[0], A[i, j])
        total[0] = 0.0
        for j in range(m):
            B[i, j] = T.exp(A[i, j] - largest[0])
            total[0] += B[i, j]
        for j in range(m):
            B[i, j] = B[i, j] / total[0]


def softmax_by_hand(op, x):
    return op.call_prim_func(my_softmax)


@R.function
def model(x: R.Tensor(("n", 10), "float32")):
    return R.nn.softmax(x + 1.0, axis=-1)


def test_an_op_straight_to_a_kernel():
    rule = legato.rewrite("relax.softmax")(softmax_by_hand)
    lowered = str(legato.lower(model, rules=(rule,), last="legalized"))
    assert "tir.names" in lowered and "linalg.reduce" not in lowered
    x = np.random.rand(4, 10).astype(F)
    e = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(legato.compile(model, rules=(rule,))(x), e / e.sum(-1, keepdims=True), rtol=1e-5)


SOURCE = """
#include <tvm/ffi/c_api.h>
int __tvm_ffi_scale(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  const DLTensor *x = (const DLTensor *)((char *)args[0].v_obj + sizeof(TVMFFIObject));
  const DLTensor *y = (const DLTensor *)((char *)args[1].v_obj + sizeof(TVMFFIObject));
  for (int i = 0; i < 6; i++) ((float *)y->data)[i] = 3 * ((const float *)x->data)[i];
  return 0;
}
"""


@R.function
def calls_c(x: R.Tensor((6,), "float32")):
    y = R.call_dps_packed("legato.test.scale", (x,), R.Tensor((6,), "float32"))
    return R.exp(y)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_packed_function_in_c(tmp_path):
    (tmp_path / "scale.c").write_text(SOURCE)
    includes = [f"-I{tvm_ffi.libinfo.find_include_path()}", f"-I{tvm_ffi.libinfo.find_dlpack_include_path()}"]
    subprocess.run(["cc", "-shared", "-fPIC", *includes, "-o", tmp_path / "scale.so", tmp_path / "scale.c"], check=True)
    module = tvm_ffi.load_module(str(tmp_path / "scale.so"))
    tvm_ffi.register_global_func("legato.test.scale", module["scale"], override=True)
    x = np.random.rand(6).astype(F)
    np.testing.assert_allclose(legato.compile(calls_c)(x), np.exp(3 * x), rtol=1e-5)
