"""Products by hand that add to values other than zeros, of sizes known and unknown: a bias, a matrix, what the output held before."""
import numpy as np
import pytest
from thoroughly import first_of

import legato
from legato import relax as R
from legato.script import tir as T

RNG = np.random.default_rng(0)


def rows(n, dtype="float32"):
    """A product that begins with a row, the same for all rows of the result."""
    @T.prim_func
    def kernel(x: T.Buffer((n, 16), dtype), w: T.Buffer((16, 40), dtype), b: T.Buffer((40,), dtype), y: T.Buffer((n, 40), dtype)):
        for i, j, k in T.grid(x.shape[0], 40, 16):
            with T.block("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = b[vj]
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]
    return kernel, lambda x, w, b: x @ w + b, [(n, 16), (16, 40), (40,)]


def matrix(n, dtype="float32"):
    """A product that begins with a matrix that is computed."""
    @T.prim_func
    def kernel(x: T.Buffer((n, 16), dtype), w: T.Buffer((16, 40), dtype), c: T.Buffer((n, 40), dtype), y: T.Buffer((n, 40), dtype)):
        for i, j, k in T.grid(x.shape[0], 40, 16):
            with T.block("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = c[vi, vj] + c[vi, vj]
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]
    return kernel, lambda x, w, c: 2 * c + x @ w, [(n, 16), (16, 40), (n, 40)]


def in_place(n, dtype="float32"):
    """A product that is added to what the output holds."""
    @T.prim_func
    def kernel(x: T.Buffer((n, 16), dtype), w: T.Buffer((16, 40), dtype), y: T.Buffer((n, 40), dtype)):
        for i, j, k in T.grid(x.shape[0], 40, 16):
            y[i, j] = y[i, j] + x[i, k] * w[k, j]
    return kernel, lambda x, w, y: y + x @ w, [(n, 16), (16, 40), (n, 40)]


def batches(n, dtype="float32"):
    """A product of stacks of matrices."""
    @T.prim_func
    def kernel(x: T.Buffer((3, n, 16), dtype), w: T.Buffer((3, 16, 40), dtype), b: T.Buffer((40,), dtype), y: T.Buffer((3, n, 40), dtype)):
        for h, i, j, k in T.grid(3, x.shape[1], 40, 16):
            with T.block("y"):
                vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
                with T.init():
                    y[vh, vi, vj] = b[vj]
                y[vh, vi, vj] = y[vh, vi, vj] + x[vh, vi, vk] * w[vh, vk, vj]
    return kernel, lambda x, w, b: x @ w + b, [(3, n, 16), (3, 16, 40), (40,)]


def vectors(n, dtype="float32"):
    """A matrix by a vector."""
    @T.prim_func
    def kernel(x: T.Buffer((n, 16), dtype), w: T.Buffer((16,), dtype), b: T.Buffer((n,), dtype), y: T.Buffer((n,), dtype)):
        for i, k in T.grid(x.shape[0], 16):
            with T.block("y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = b[vi]
                y[vi] = y[vi] + x[vi, vk] * w[vk]
    return kernel, lambda x, w, b: x @ w + b, [(n, 16), (16,), (n,)]


def depth(n, dtype="float32"):
    """A product whose sum has the unknown number of terms."""
    @T.prim_func
    def kernel(x: T.Buffer((7, n), dtype), w: T.Buffer((n, 40), dtype), b: T.Buffer((40,), dtype), y: T.Buffer((7, 40), dtype)):
        for i, j, k in T.grid(7, 40, x.shape[1]):
            with T.block("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = b[vj]
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]
    return kernel, lambda x, w, b: x @ w + b, [(7, n), (n, 40), (40,)]


def windows(n, dtype="float32"):
    """A convolution."""
    @T.prim_func
    def kernel(x: T.Buffer((n, 10, 10, 8), dtype), w: T.Buffer((3, 3, 8, 16), dtype), b: T.Buffer((16,), dtype),
               y: T.Buffer((n, 8, 8, 16), dtype)):
        for n_, h, v, f, p, q, c in T.grid(x.shape[0], 8, 8, 16, 3, 3, 8):
            with T.block("y"):
                vn, vh, vv, vf, vp, vq, vc = T.axis.remap("SSSSRRR", [n_, h, v, f, p, q, c])
                with T.init():
                    y[vn, vh, vv, vf] = b[vf]
                y[vn, vh, vv, vf] = y[vn, vh, vv, vf] + x[vn, vh + vp, vv + vq, vc] * w[vp, vq, vc, vf]

    def expected(x, w, b):
        taken = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
        return np.einsum("nhwcpq,pqcf->nhwf", taken, w) + b

    return kernel, expected, [(n, 10, 10, 8), (3, 3, 8, 16), (16,)]


KINDS = (rows, matrix, in_place, batches, vectors, depth, windows)


def arrays(shapes, n, dtype):
    sizes = [[n if isinstance(size, str) else size for size in shape] for shape in shapes]
    return [RNG.integers(-9, 9, size).astype(dtype) for size in sizes]     # products of integers are exact in floats, too


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", first_of(["float32", "float64", "int32"]))
def test_a_size_that_is_unknown(kind, dtype):
    kernel, expected, shapes = kind("n", dtype)
    exe = legato.compile(kernel)
    for n in (1, 5, 16, 37):
        given = arrays(shapes, n, dtype)
        np.testing.assert_array_equal(exe(*given), expected(*given))


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_that_is_known(kind):
    kernel, expected, shapes = kind(5)
    given = arrays(shapes, 5, "float32")
    np.testing.assert_array_equal(legato.compile(kernel)(*given), expected(*given))


product = rows("n")[0]


@R.function
def layer(x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 40), "float32"), b: R.Tensor((40,), "float32")):
    return R.nn.relu(R.call_tir(product, (x, w, b), R.Tensor(("n", 40), "float32")))


def test_fused_with_what_reads_it():
    exe = legato.compile(layer)
    for n in (1, 5, 16, 37):
        x, w, b = arrays([("n", 16), (16, 40), (40,)], n, "float32")
        np.testing.assert_array_equal(exe(x, w, b), np.maximum(x @ w + b, 0))
