"""Sums of products whose factors are functions of elements: a * tanh(b), casts of unsigned integers.

Upstream's ``specialize`` takes any op with one operand in such a body for a cast, and would name the loops a matmul or a convolution of the
elements themselves.
"""
# pyright: reportInvalidTypeForm=false, reportCallIssue=false
import numpy as np
import pytest

import legato
from legato.script import tir as T


@T.prim_func
def matmul_tanh(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 9), "float32"), Y: T.Buffer((5, 9), "float32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * T.tanh(B[vk, vj])


@T.prim_func
def matmul_negated(A: T.Buffer((5, 7), "float32"), B: T.Buffer((9, 7), "float32"), Y: T.Buffer((5, 9), "float32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + (-A[vi, vk]) * B[vj, vk]


@T.prim_func
def both_functions(A: T.Buffer((2, 5, 7), "float32"), B: T.Buffer((2, 7, 9), "float32"), Y: T.Buffer((2, 5, 9), "float32")):
    for b, i, j, k in T.grid(2, 5, 9, 7):
        with T.block("Y"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                Y[vb, vi, vj] = T.float32(0)
            Y[vb, vi, vj] = Y[vb, vi, vj] + T.exp(A[vb, vi, vk]) * T.sqrt(T.abs(B[vb, vk, vj]))


@T.prim_func
def sum_of_function(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 9), "float32"), Y: T.Buffer((5, 9), "float32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + T.abs(A[vi, vk] * B[vk, vj])


@T.prim_func
def scaled_twice(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 9), "float32"), Y: T.Buffer((5, 9), "float32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * (A[vi, vk] * B[vk, vj])


@T.prim_func
def matvec_exp(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7,), "float32"), Y: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 7):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + A[vi, vk] * T.exp(B[vk])


@T.prim_func
def conv_abs(X: T.Buffer((1, 6, 7, 4), "float32"), W: T.Buffer((3, 3, 4, 8), "float32"), Y: T.Buffer((1, 4, 5, 8), "float32")):
    for n, h, w, f, i, j, c in T.grid(1, 4, 5, 8, 3, 3, 4):
        with T.block("Y"):
            vn, vh, vw, vf, vi, vj, vc = T.axis.remap("SSSSRRR", [n, h, w, f, i, j, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + T.abs(X[vn, vh + vi, vw + vj, vc]) * W[vi, vj, vc, vf]


@T.prim_func
def matmul_unsigned(A: T.Buffer((5, 7), "uint8"), B: T.Buffer((7, 9), "uint8"), Y: T.Buffer((5, 9), "int32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = Y[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def matmul_mixed_signs(A: T.Buffer((5, 7), "uint8"), B: T.Buffer((7, 9), "int8"), Y: T.Buffer((5, 9), "int32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = Y[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def matmul_of_integers(A: T.Buffer((5, 7), "int8"), B: T.Buffer((7, 9), "float32"), Y: T.Buffer((5, 9), "float32")):
    for i, j, k in T.grid(5, 9, 7):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + T.Cast("float32", A[vi, vk]) * B[vk, vj]


@T.prim_func
def pool_of_squares(X: T.Buffer((1, 6, 6, 4), "float32"), Y: T.Buffer((1, 3, 3, 4), "float32")):
    for n, h, w, c, i, j in T.grid(1, 3, 3, 4, 2, 2):
        with T.block("Y"):
            vn, vh, vw, vc, vi, vj = T.axis.remap("SSSSRR", [n, h, w, c, i, j])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + X[vn, vh * 2 + vi, vw * 2 + vj, vc] * X[vn, vh * 2 + vi, vw * 2 + vj, vc]


def conv(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))
    return np.einsum("nhwcij,ijcf->nhwf", windows, w)


CASES = [
    (matmul_tanh, lambda a, b: a @ np.tanh(b)), (matmul_negated, lambda a, b: -a @ b.T),
    (both_functions, lambda a, b: np.exp(a) @ np.sqrt(np.abs(b))), (sum_of_function, lambda a, b: np.abs(a[:, :, None] * b).sum(1)),
    (scaled_twice, lambda a, b: (a * a) @ b), (matvec_exp, lambda a, b: a @ np.exp(b)), (conv_abs, lambda x, w: conv(np.abs(x), w)),
    (matmul_unsigned, lambda a, b: a.astype(np.int32) @ b.astype(np.int32)),
    (matmul_mixed_signs, lambda a, b: a.astype(np.int32) @ b.astype(np.int32)), (matmul_of_integers, lambda a, b: a.astype(np.float32) @ b),
    (pool_of_squares, lambda x: (x * x).reshape(1, 3, 2, 3, 2, 4).sum((2, 4))),
]


@pytest.mark.parametrize(("kernel", "reference"), CASES, ids=[kernel.__name__ for kernel, _ in CASES])
def test_result(kernel, reference):
    rng = np.random.default_rng(0)
    executable = legato.compile(kernel)
    arrays = []
    for given in executable.inputs:
        dtype = np.dtype(given.dtype)
        whole = dtype.kind in "iu"
        values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, given.shape) if whole else rng.standard_normal(given.shape)
        arrays.append(values.astype(dtype))
    np.testing.assert_allclose(np.from_dlpack(executable(*arrays)), reference(*arrays), rtol=1e-5, atol=1e-5)
