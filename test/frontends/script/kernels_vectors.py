"""Kernels that name lanes, threads and the order of steps themselves."""

import numpy as np

from legato.script import tir as T

F = np.float32


@T.prim_func
def ramps(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(16):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(3), 4) + T.Broadcast(T.Cast("float32", i), 4)


@T.prim_func
def slices(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 4):
        B[i, j * 4 : j * 4 + 4] = T.max(A[i, j * 4 : j * 4 + 4], T.float32(0.25)) + A[i, 0:4]


@T.prim_func
def backwards(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.serial(4):
        B[T.ramp(i * 8, 1, 8)] = A[T.ramp(31 - i * 8, -1, 8)]


@T.prim_func
def vector_types(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B[i * 4 : i * 4 + 4] = T.Cast("float32x4", A[i * 4 : i * 4 + 4]) + T.float32x4(0.5)


@T.prim_func
def loads_and_stores_of_vectors(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(8):
        B.vstore([i * 4], A.vload([i * 4], "float32x4") + T.Broadcast(T.float32(1), 4))


@T.prim_func
def vectorized_inner(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    for i in T.parallel(0, 4):
        for j_outer in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16}):
            for j_inner in T.vectorized(0, 8):
                with T.sblock("B"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(32, j_outer * 8 + j_inner)
                    B[vi, vj] = T.exp(A[vi, vj])


@T.prim_func
def steps(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(20):
        B[i] = 0.0
    for i in range(1, 20, 3):
        B[i] = A[i]
    for j in T.serial(0, 20, step=4):
        B[j] = -A[j]


@T.prim_func
def launched_threads(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    with T.launch_thread("blockIdx.x", 4) as bx:
        with T.launch_thread("threadIdx.x", 32) as tx:
            B[bx, tx] = A[bx, tx] * T.float32(2)


@T.prim_func
def launched_by_statements(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, [64], "float32")
    C = T.match_buffer(c, [64], "float32")
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    T.launch_thread(bx, 4)
    T.launch_thread(tx, 4)
    B = T.alloc_buffer((4,), scope="local")
    for j in range(4):
        B[j] = A[bx * 16 + tx * 4 + j] + T.float32(1)
    for j in range(4):
        C[bx * 16 + tx * 4 + j] = B[j] * T.float32(2)


@T.prim_func
def bound_in_old_spelling(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in T.thread_binding(0, 8, "blockIdx.x"):
        for j in T.thread_binding(8, "threadIdx.x"):
            B[i, j] = T.sigmoid(A[i, j])


@T.prim_func
def synchronized(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        S = T.alloc_buffer((32,), "float32", scope="shared")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S[tx] = A[bx, tx]
        T.tvm_storage_sync("shared")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[bx, tx] = S[31 - tx]


REFERENCES = {
    ramps: lambda a: a * 3 + np.repeat(np.arange(16, dtype=F), 4),
    slices: lambda a: np.maximum(a, F(0.25)) + np.tile(a[:, :4], (1, 4)),
    backwards: lambda a: np.concatenate([a[::-1][i * 8 : i * 8 + 8] for i in range(4)]),
    vector_types: lambda a: a.astype(F) + F(0.5), loads_and_stores_of_vectors: lambda a: a + 1, vectorized_inner: np.exp,
    steps: lambda a: np.where(np.arange(20) % 4 == 0, -a, np.where(np.arange(20) % 3 == 1, a, F(0))),
    launched_threads: lambda a: a * 2, launched_by_statements: lambda a: (a + 1) * 2,
    synchronized: lambda a: a[:, ::-1], bound_in_old_spelling: lambda a: 1 / (1 + np.exp(-a)),
}
