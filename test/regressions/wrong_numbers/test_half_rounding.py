"""Arithmetic of half floats rounds after each operation, as numpy does, also where a kernel does several and where a cast comes before."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
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


def beside_ties():
    """f64 beside those in the middle of two f16, nearer to them than any f32 is, and some beyond the range."""
    halves = np.arange(0x7c00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = ((halves[1:] + halves[:-1]) / 2)[::31]
    x = np.concatenate([middle * (1 + 2.0**-40), middle * (1 - 2.0**-40), middle, [1e300, np.inf, np.nan, 65520 - 1e-9, 65520, 1e-320, 0]])
    return np.concatenate([x, -x])


NUMBERS = beside_ties()
COUNT = len(NUMBERS)


@T.prim_func
def converted(A: T.Buffer((COUNT,), "float64"), B: T.Buffer((COUNT,), "float16")):
    for i in range(COUNT):
        B[i] = T.cast(A[i], "float16")


@pytest.mark.parametrize("target", TARGETS[:2])
def test_f64_is_rounded_once(target):
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)], "cast", [helper.make_tensor_value_info(
        "x", TensorProto.DOUBLE, ["n"])], [helper.make_empty_tensor_value_info("y")])
    module = legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    with np.errstate(over="ignore"):
        wanted = NUMBERS.astype(np.float16)
    for given in (module, converted):
        np.testing.assert_array_equal(np.asarray(legato.compile(given, target)(NUMBERS)), wanted)
