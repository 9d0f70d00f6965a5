"""Kernels of several blocks that feed each other, as naive loops."""
import numpy as np
from kernels import softmax_numpy
from loop_table import F, raises_to

from legato.script import tir as T


@raises_to("linalg.generic", "linalg.generic", "linalg.generic", "linalg.generic", by=softmax_numpy)
@T.prim_func
def softmax_in_place(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    largest = T.alloc_buffer((8,), "float32")
    total = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 32):
        with T.block("max"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], A[vi, vk])
    for i, k in T.grid(8, 32):
        with T.block("exp"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = T.exp(A[vi, vk] - largest[vi])
    for i, k in T.grid(8, 32):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + B[vi, vk]
    for i, k in T.grid(8, 32):
        with T.block("norm"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = B[vi, vk] / total[vi]


@raises_to("linalg.generic", "linalg.generic", "linalg.generic", "linalg.generic", by=softmax_numpy)
@T.prim_func
def softmax_by_rows(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    largest = T.alloc_buffer((8,), "float32")
    total = T.alloc_buffer((8,), "float32")
    for i in range(8):
        for k in range(32):
            with T.block("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    largest[vi] = T.min_value("float32")
                largest[vi] = T.max(largest[vi], A[vi, vk])
        for k in range(32):
            with T.block("exp"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = T.exp(A[vi, vk] - largest[vi])
        for k in range(32):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + B[vi, vk]
        for k in range(32):
            with T.block("norm"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = B[vi, vk] / total[vi]


def attention_numpy(q, k, v):
    return softmax_numpy(q @ k.swapaxes(-1, -2) * F(0.25)) @ v


@raises_to("linalg.batch_matmul", "linalg.generic", "linalg.generic", "linalg.generic", "linalg.generic", "linalg.batch_matmul",
           by=attention_numpy)
@T.prim_func
def attention(Q: T.Buffer((2, 10, 16), "float32"), K: T.Buffer((2, 12, 16), "float32"), V: T.Buffer((2, 12, 16), "float32"),
              O: T.Buffer((2, 10, 16), "float32")):
    S, P = T.alloc_buffer((2, 10, 12)), T.alloc_buffer((2, 10, 12))
    largest, total = T.alloc_buffer((2, 10)), T.alloc_buffer((2, 10))
    for b, i, j, k in T.grid(2, 10, 12, 16):
        with T.block("scores"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                S[vb, vi, vj] = 0.0
            S[vb, vi, vj] += Q[vb, vi, vk] * K[vb, vj, vk]
    for b, i, j in T.grid(2, 10, 12):
        with T.block("max"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                largest[vb, vi] = T.min_value("float32")
            largest[vb, vi] = T.max(largest[vb, vi], S[vb, vi, vj] * 0.25)
    for b, i, j in T.grid(2, 10, 12):
        with T.block("exp"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            P[vb, vi, vj] = T.exp(S[vb, vi, vj] * 0.25 - largest[vb, vi])
    for b, i, j in T.grid(2, 10, 12):
        with T.block("sum"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                total[vb, vi] = 0.0
            total[vb, vi] += P[vb, vi, vj]
    for b, i, j in T.grid(2, 10, 12):
        with T.block("norm"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            P[vb, vi, vj] = P[vb, vi, vj] / total[vb, vi]
    for b, i, j, k in T.grid(2, 10, 16, 12):
        with T.block("O"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                O[vb, vi, vj] = 0.0
            O[vb, vi, vj] += P[vb, vi, vk] * V[vb, vk, vj]


def layer_norm_numpy(x, g, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + F(1e-5)) * g + b


@raises_to("linalg.generic", "linalg.generic", "linalg.generic", by=layer_norm_numpy)
@T.prim_func
def layer_norm_symbolic(X: T.Buffer(("n", 32), "float32"), g: T.Buffer((32,), "float32"), b: T.Buffer((32,), "float32"),
                        Y: T.Buffer(("n", 32), "float32")):
    n = T.int64()
    mean, var = T.alloc_buffer((n,)), T.alloc_buffer((n,))
    for i, k in T.grid(n, 32):
        with T.block("mean"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                mean[vi] = 0.0
            mean[vi] = mean[vi] + X[vi, vk] / 32.0
    for i, k in T.grid(n, 32):
        with T.block("var"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                var[vi] = 0.0
            var[vi] = var[vi] + (X[vi, vk] - mean[vi]) * (X[vi, vk] - mean[vi]) / 32.0
    for i, k in T.grid(n, 32):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = (X[vi, vk] - mean[vi]) * T.rsqrt(var[vi] + T.float32(1e-5)) * g[vk] + b[vk]


@raises_to("linalg.generic", "linalg.generic", by=lambda x: (x * 2, x * 2 + 1))
@T.prim_func
def output_read_again(X: T.Buffer((24,), "float32"), Y: T.Buffer((24,), "float32"), Z: T.Buffer((24,), "float32")):
    for i in range(24):
        with T.block("Y"):
            vi = T.axis.spatial(24, i)
            Y[vi] = X[vi] * 2.0
    for i in range(24):
        with T.block("Z"):
            vi = T.axis.spatial(24, i)
            Z[vi] = Y[vi] + 1.0
