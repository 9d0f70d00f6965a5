"""Kernels that stay loops, and why."""
import numpy as np
from loop_table import F, stays

from legato.script import tir as T


@stays("reads other elements of what it writes", by=lambda a, b: np.cumsum(a, -1))
@T.prim_func
def scan(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SO", [i, j])
            B[vi, vj] = T.if_then_else(vj == 0, T.float32(0), B[vi, vj - 1]) + A[vi, vj]


@stays("reads other elements of what it writes", by=lambda a, b: np.concatenate([a[:1], a[:-1] * 0 + a[0]]))
@T.prim_func
def copies_its_neighbour(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.if_then_else(vi == 0, A[vi], B[vi - 1])


@stays("scheduled by hand", by=lambda a: a + 1)
@T.prim_func
def by_threads(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0


def histogram_numpy(a):
    return np.bincount(a, minlength=8).astype(np.int32)


@stays("the statement in the loop i writes at places that are computed from data", by=histogram_numpy)
@T.prim_func
def histogram(A: T.Buffer((40,), "int32"), counts: T.Buffer((8,), "int32")):
    for i in range(8):
        counts[i] = 0
    for i in range(40):
        counts[A[i]] = counts[A[i]] + 1


@stays("the last one's value stays", by=lambda a: a[:, -1])
@T.prim_func
def last_wins(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            B[vi] = A[vi, vj]


@stays("the value of its last step stays", by=lambda a: a[7])
@T.prim_func
def last_wins_where_the_condition_never_holds(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = 0.0
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            if vj < vj:
                B[vi] = B[vi] + A[vj, vj] * 2.0
            else:
                B[vi] = A[vj, vi]


@stays("a while loop stands in the statement in the loop i", by=lambda a: np.where(a > 1, 1, a).astype(np.int32))
@T.prim_func
def halves(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = A[i]
        while B[i] > 1:
            B[i] = B[i] // 2


@stays("the statements in the loop t have to be done in turns: one step of it touches elements of 'H' that another step needs",
       by=lambda x: np.stack([np.cumsum(x, 0)[-1]] * 2)[0])
@T.prim_func
def recurrence(X: T.Buffer((6, 8), "float32"), H: T.Buffer((8,), "float32")):
    Z = T.alloc_buffer((8,), "float32")
    for j in range(8):
        H[j] = 0.0
    for t in range(6):
        for j in range(8):
            Z[j] = H[j] + X[t, j]
        for j in range(8):
            H[j] = Z[j]


@stays("the bounds of the loop j depend on other loops, or on data", by=lambda a: np.tril(a).sum(-1))
@T.prim_func
def triangular_loop(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = 0.0
        for j in range(i + 1):
            B[i] = B[i] + A[i, j]


@stays("depend on each other in their order", by=lambda a: np.array([np.polyval(row, 0.5) for row in a], F))
@T.prim_func
def horner(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = 0.0
        for k in range(6):
            B[i] = B[i] * 0.5 + A[i, k]
