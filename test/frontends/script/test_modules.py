"""Modules that mix graphs, kernels and packed functions."""

import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import dataflow
from legato.script import ir as I
from legato.script import relax as R
from legato.script import tir as T

F = np.float32


@I.ir_module
class Mlp:
    """The model of TVM's first tutorials: a layer by hand, one by ops."""

    @T.prim_func
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        T.func_attr({"tir.noalias": True})
        m, n, k = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (m, k), "float32")
        W = T.match_buffer(w, (k, n), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Z = T.match_buffer(z, (m, n), "float32")
        for i, j, r in T.grid(m, n, k):
            with T.block("Z"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    Z[vi, vj] = B[vj]
                Z[vi, vj] = Z[vi, vj] + X[vi, vk] * W[vk, vj]

    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), w0: R.Tensor((16, 32), "float32"), b0: R.Tensor((32,), "float32"),
             w1: R.Tensor((10, 32), "float32")) -> R.Tensor(("n", 10), "float32"):
        n = T.int64()
        cls = Mlp
        with R.dataflow():
            lv0 = R.call_tir(cls.linear, (x, w0, b0), out_sinfo=R.Tensor((n, 32), "float32"))
            lv1 = R.nn.relu(lv0)
            lv2: R.Tensor((n, 10), "float32") = R.matmul(lv1, R.permute_dims(w1, axes=[1, 0]))
            out = R.nn.softmax(lv2, axis=-1)
            R.output(out)
        return out


@pytest.mark.parametrize("n", [1, 7])
def test_mlp(n):
    rng = np.random.default_rng(0)
    x, w0, b0, w1 = (rng.random(s).astype(F) - F(0.5) for s in ((n, 16), (16, 32), (32,), (10, 32)))
    z = np.maximum(x @ w0 + b0, 0) @ w1.T
    e = np.exp(z - z.max(-1, keepdims=True))
    np.testing.assert_allclose(legato.compile(Mlp)(x, w0, b0, w1), e / e.sum(-1, keepdims=True), rtol=1e-4)


@T.prim_func
def sums_and_products(A: T.Buffer(("m", 4), "float32"), B: T.Buffer(("m", 4), "float32"), S: T.Buffer(("m", 4), "float32"),
                      P: T.Buffer(("m", 4), "float32")):
    m = T.int64()
    for i, j in T.grid(m, 4):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj] + B[vi, vj]
            P[vi, vj] = A[vi, vj] * B[vi, vj]


@R.function
def several_outputs(a: R.Tensor(("n", 4), "float32"), b: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    with dataflow():
        both = R.call_tir(sums_and_products, (a, b), out_sinfo=[R.Tensor((n, 4), "float32"), R.Tensor((n, 4), "float32")])
        s = both[0]
        p = R.negative(both[1])
        R.output(s, p)
    return s, p


def test_several_outputs_of_a_kernel_from_outside():
    a, b = np.random.rand(3, 4).astype(F), np.random.rand(3, 4).astype(F)
    kept = a.copy()
    s, p = legato.compile(several_outputs)(a, b)
    np.testing.assert_allclose(s, a + b)
    np.testing.assert_allclose(p, -(a * b))
    np.testing.assert_array_equal(a, kept)


def test_call_tir_is_pure_and_allocates_once():
    """One output, one tensor.empty, and a call whose inputs are not written."""
    text = str(several_outputs.module())
    assert text.count("tensor.empty") == 2
    assert text.count("call @sums_and_products") == 1
    assert text.count("to_buffer") == 4 and text.count("to_tensor") == 2


@I.ir_module
class Packed:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            lv = R.add(x, y)
            gv = R.call_dps_packed("legato.test.twice_plus", (lv, y), out_sinfo=R.Tensor((2, 4), "float32"))
            out = R.multiply(gv, R.const(0.5))
            R.output(out)
        return out


def test_a_packed_function_in_python():
    def twice_plus(a, b, out):
        np.from_dlpack(out)[...] = np.multiply(2, np.from_dlpack(a)) + np.from_dlpack(b)

    tvm_ffi.register_global_func("legato.test.twice_plus", twice_plus, override=True)
    x, y = np.random.rand(2, 4).astype(F), np.random.rand(2, 4).astype(F)
    np.testing.assert_allclose(legato.compile(Packed)(x, y), (2 * (x + y) + y) / 2, rtol=1e-6)


@R.function
def matched(x: R.Tensor("float32", ndim=2), y: R.Tensor(("k", 4), "float32")):
    m = T.int64()
    with R.dataflow():
        z = R.match_cast(x, R.Tensor((m, 4), "float32"))
        both = R.concat((z, y), axis=0)
        out = R.match_cast(both, R.Tensor((m + 3, 4), "float32"))
        R.output(out)
    return out


def test_what_match_cast_says_is_checked_at_the_call():
    exe = legato.compile(matched)
    x, y = np.ones((5, 4), F), np.zeros((3, 4), F)
    np.testing.assert_array_equal(exe(x, y), np.concatenate([x, y]))
    with pytest.raises(Exception, match=r"must be float32.x_0, 4., but"):
        exe(np.ones((5, 3), F), y)
    with pytest.raises(Exception, match=r"must be float32.3, 4., but"):
        exe(x, np.zeros((2, 4), F))


@R.function
def shapes(x: R.Tensor(("n", 6), "float32")) -> R.Tensor(("n * 2", 3), "float32"):
    n = T.int64()
    s = R.shape([n * 2, 3])
    y = R.reshape(x, s)
    return R.add(y, R.ones(s, "float32"))


def test_shapes_are_values():
    x = np.random.rand(4, 6).astype(F)
    np.testing.assert_allclose(legato.compile(shapes)(x), x.reshape(8, 3) + 1)


@T.prim_func
def ramp(n: T.int64, step: T.int64, out: T.Buffer(("n",), "int64")):
    for i in range(n):
        out[i] = T.Cast("int64", i) * step


@R.function
def integers_to_a_kernel(x: R.Tensor(("n", 2), "int64")):
    n = T.int64()
    r = R.call_tir(ramp, (), R.Tensor((n,), "int64"), tir_vars=R.shape([n, 3]))
    return R.add(R.sum(x, axis=[1]), r)


def test_integers_are_given_to_a_kernel():
    x = np.arange(10, dtype=np.int64).reshape(5, 2)
    np.testing.assert_array_equal(legato.compile(integers_to_a_kernel)(x), x.sum(1) + np.arange(5) * 3)


WEIGHTS = np.arange(600, dtype=F).reshape(20, 30) / 600


@I.ir_module
class Calls:
    @R.function(private=True)
    def layer(x: R.Tensor(("a", 20), "float32")):
        w = R.const(WEIGHTS)
        return R.matmul(x, w)

    @R.function
    def main(x: R.Tensor((3, 20), "float32")):
        y = Calls.layer(x)
        return y * y - 1.0


def test_a_graph_calls_another_with_large_constants():
    x = np.random.rand(3, 20).astype(F)
    assert len(Calls.weights) == 1
    np.testing.assert_allclose(legato.compile(Calls)(x), (x @ WEIGHTS) ** 2 - 1, rtol=1e-4)


@R.function
def convolutional(x: R.Tensor((1, 3, 16, 16), "float32"), w: R.Tensor((8, 3, 3, 3), "float32")):
    with R.dataflow():
        c = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1], dilation=[1, 1], data_layout="NCHW", kernel_layout="OIHW")
        r = R.nn.relu(c)
        p = R.nn.max_pool2d(r, pool_size=[2, 2], strides=[2, 2])
        f = R.mean(p, axis=[2, 3])
        a, b = R.split(f, 2, axis=1)
        out = R.concat((b, a), axis=1)
        R.output(out)
    return out


def test_ops_in_tvms_words():
    x, w = np.random.rand(1, 3, 16, 16).astype(F), np.random.rand(8, 3, 3, 3).astype(F) - F(0.5)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    c = np.maximum(np.einsum("nchwij,fcij->nfhw", windows, w), 0)
    f = c.reshape(1, 8, 8, 2, 8, 2).max((3, 5)).mean((2, 3))
    np.testing.assert_allclose(legato.compile(convolutional)(x, w), np.concatenate([f[:, 4:], f[:, :4]], 1), rtol=1e-4)


twice = R.extern("legato.test.twice")


@I.ir_module
class NamedFunctions:
    """Packed functions that have names of their own: outside, in the class, and where they are called."""

    thrice = R.ExternFunc("legato.test.thrice")

    @R.func
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        with dataflow():
            y = R.call_dps_packed(twice, (x,), R.Tensor((n,), "float32"))
            z = R.call_dps_packed(thrice, (y,), R.Tensor((n,), "float32"))  # noqa: F821 (a script sees the names of its class)
            u = R.call_dps_packed(R.extern("legato.test.twice"), (z,), R.Tensor((n,), "float32"))
            R.output(u)
        return u


def test_packed_functions_have_names():
    for name, factor in (("twice", 2), ("thrice", 3)):
        tvm_ffi.register_global_func(f"legato.test.{name}", lambda x, y, by=factor: np.multiply(
            np.from_dlpack(x), by, out=np.from_dlpack(y)) is None, override=True)
    np.testing.assert_array_equal(legato.compile(NamedFunctions)(np.ones(3, F)), np.full(3, 12, F))
