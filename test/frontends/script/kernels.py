"""Kernels of the kinds that TVM's tutorials teach, in TVM's spelling, old and new. Each names what it has to agree with."""

import numpy as np
from kernels_statements import (  # noqa: F401 (all kernels of the first tutorials by one name)
    by_macro,
    collatz,
    conditions,
    embedding,
    extern_call,
    extern_on_memory,
    integers,
    layer_norm,
    running_sum,
    threefry,
)

from legato.script import tir as T

F = np.float32


@T.prim_func
def vector_add(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    for i in range(128):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = A[vi] + B[vi]


@T.prim_func
def vector_add_by_handles(a: T.handle, b: T.handle, c: T.handle) -> None:
    T.func_attr({"global_symbol": "vector_add", "tir.noalias": True})
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in T.serial(0, n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi] + B[vi]


@T.prim_func
def matmul(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 24), "float32"), C: T.Buffer((32, 24), "float32")):
    for i, j, k in T.grid(32, 24, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_relu(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        Y = T.alloc_buffer((16, 16), dtype="float32")
        for i, j, k in T.grid(16, 16, 16):
            with T.sblock("Y"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(16, j)
                vk = T.axis.reduce(16, k)
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(16, 16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@T.prim_func
def matmul_tiled(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i0, j0 in T.grid(4, 2):
        for i1 in T.unroll(4):
            for k in range(16):
                for j1 in T.vectorized(8):
                    with T.block("C"):
                        vi = T.axis.S(16, i0 * 4 + i1)
                        vj = T.axis.S(16, j0 * 8 + j1)
                        vk = T.axis.R(16, k)
                        with T.init():
                            C[vi, vj] = 0.0
                        C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def blockized_matmul(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i0, j0, k0 in T.grid(2, 2, 2):
        with T.block("C_o"):
            vio, vjo, vko = T.axis.remap("SSR", [i0, j0, k0])
            T.reads(A[vio * 16:vio * 16 + 16, vko * 16:vko * 16 + 16], B[vko * 16:vko * 16 + 16, vjo * 16:vjo * 16 + 16])
            T.writes(C[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            with T.init():
                for i1, j1 in T.grid(16, 16):
                    with T.block("C_init"):
                        vi, vj = T.axis.remap("SS", [i1, j1])
                        C[vio * 16 + vi, vjo * 16 + vj] = T.float32(0)
            for i1, j1, k1 in T.grid(16, 16, 16):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i1, j1, k1])
                    C[vio * 16 + vi, vjo * 16 + vj] += A[vio * 16 + vi, vko * 16 + vk] * B[vko * 16 + vk, vjo * 16 + vj]


@T.prim_func
def conv2d(X: T.Buffer((1, 10, 10, 3), "float32"), W: T.Buffer((3, 3, 3, 8), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    for n, h, w, f, kh, kw, c in T.grid(1, 8, 8, 8, 3, 3, 3):
        with T.block("conv"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


@T.prim_func
def padded_conv1d(X: T.Buffer((16,), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((18,))
    for i in range(18):
        with T.block("pad"):
            vi = T.axis.spatial(18, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 17, X[vi - 1], T.float32(0))
    for i, k in T.grid(16, 3):
        with T.block("conv"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = 0.0
            Y[vi] = Y[vi] + P[vi + vk] * W[vk]


@T.prim_func
def softmax(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    largest = T.alloc_buffer((8,), "float32")
    total = T.alloc_buffer((8,), "float32")
    E = T.alloc_buffer((8, 32), "float32", scope="local")
    for i0, k in T.grid(8, 32):
        with T.block("max"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            with T.init():
                largest[v_i0] = T.min_value("float32")
            largest[v_i0] = T.max(largest[v_i0], A[v_i0, v_k])
    for i0, i1 in T.grid(8, 32):
        with T.block("exp"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            E[v_i0, v_i1] = T.exp(A[v_i0, v_i1] - largest[v_i0])
    for i0, k in T.grid(8, 32):
        with T.block("sum"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            with T.init():
                total[v_i0] = T.float32(0)
            total[v_i0] = total[v_i0] + E[v_i0, v_k]
    for i0, i1 in T.grid(8, 32):
        with T.block("norm"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.block_attr({"axis": 1})
            B[v_i0, v_i1] = E[v_i0, v_i1] / total[v_i0]


@T.prim_func
def split_with_a_rest(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i0, i1 in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(30, i0 * 8 + i1)
            T.where(i0 * 8 + i1 < 30)
            B[vi] = A[vi] * 2.0 + 1.0


@T.prim_func
def parallel_rows(A: T.Buffer((12, 64), "float32"), B: T.Buffer((12, 64), "float32")):
    for i in T.parallel(12):
        for j in T.vectorized(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.sqrt(T.abs(A[vi, vj])) + T.cast(vj, "float32")


@T.prim_func
def cross_thread_sum(A: T.Buffer((4, 128), "float32"), B: T.Buffer((4,), "float32")):
    parts = T.alloc_buffer((32, 4), scope="shared")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(0, 32, thread="threadIdx.x"):
            for k in range(4):
                with T.block("parts"):
                    vt, vi, vk = T.axis.remap("SSR", [tx, bx, k])
                    with T.init():
                        parts[vt, vi] = T.float32(0)
                    parts[vt, vi] = parts[vt, vi] + A[vi, vk * 32 + vt]
        for tx in T.thread_binding(0, 32, thread="threadIdx.x"):
            with T.block("B"):
                vt, vi = T.axis.remap("RS", [tx, bx])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + parts[vt, vi]


@T.prim_func
def two_outputs(A: T.Buffer(("n", 8), "float32"), total: T.Buffer(("n",), "float32"), largest: T.Buffer(("n",), "float32")):
    for i, j in T.grid(A.shape[0], 8):
        with T.block("both"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = 0.0
                largest[vi] = T.min_value("float32")
            total[vi] = total[vi] + A[vi, vj]
            largest[vi] = T.max(largest[vi], A[vi, vj])


def conv_numpy(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))  # n h w c kh kw
    return np.einsum("nhwcij,ijcf->nhwf", windows, w)


def softmax_numpy(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


REFERENCES = {
    vector_add: np.add, vector_add_by_handles: np.add, matmul: np.matmul, matmul_relu: lambda a, b: np.maximum(a @ b, 0),
    matmul_tiled: np.matmul, blockized_matmul: np.matmul, conv2d: conv_numpy,
    padded_conv1d: lambda x, w: np.convolve(x, w[::-1], "same"), softmax: softmax_numpy, split_with_a_rest: lambda a: a * 2 + 1,
    parallel_rows: lambda a: np.sqrt(np.abs(a)) + np.arange(64, dtype=F), cross_thread_sum: lambda a: a.sum(-1),
    two_outputs: lambda a: (a.sum(-1), a.max(-1)),
}


@T.prim_func
def add_numbers(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    """Its constant 16 is also a loop's bound: simplifications make one of the two."""
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.Cast("float32", vi * 16 + vj)


REFERENCES[add_numbers] = lambda a: a + np.arange(128, dtype=F).reshape(8, 16)
