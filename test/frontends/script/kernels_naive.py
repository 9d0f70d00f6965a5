"""Kernels that raising once got wrong, or could not give up on: what it says of each, what it computes, and the sizes tried."""
import numpy as np

from legato.script import tir as T

KERNELS = {}


def kept_or_raised(report, reference, sizes):
    def register(kernel):
        KERNELS[kernel] = report, reference, sizes
        return kernel
    return register


@kept_or_raised("raised", lambda a: np.pad(a, (0, 2)).reshape(4, 8), [30])
@T.prim_func
def packs_with_a_rest(A: T.Buffer((30,), "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        B[i, j] = 0.0
    for i in range(30):
        B[i // 8, i % 8] = A[i]


@kept_or_raised("raised", lambda a: a.reshape(4, 8), [32])
@T.prim_func
def packs(A: T.Buffer((32,), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(32):
        B[i // 8, i % 8] = A[i]


@kept_or_raised("at places that are no part of it", lambda a: a.reshape(4, 8).T, [32])
@T.prim_func
def packs_transposed(A: T.Buffer((32,), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi % 8, vi // 8] = A[vi]


def first_16(a):
    return np.pad(a + 2, (0, max(0, 16 - len(a))))[:16]


@kept_or_raised("raised", first_16, [4, 16, 40])
@T.prim_func
def a_condition_beyond_the_loop(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(16):
        B[i] = 0.0
    for i in range(16):
        if i < n:
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + 2.0


@kept_or_raised("the loop i may end before it begins: from 3 to n", lambda a: a[3:].sum(keepdims=True), [1, 3, 5])
@T.prim_func
def a_loop_that_may_end_before_it_begins(a: T.handle, B: T.Buffer((1,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B[0] = 0.0
    for i in range(3, n):
        B[0] = B[0] + A[i]


@kept_or_raised("the loop i may end before it begins: from 5 to 3", lambda a: a, [16])
@T.prim_func
def a_loop_without_steps(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i]
    for i in range(5, 3):
        B[i] = A[i] + 2.0


@kept_or_raised("raised", lambda a: np.pad(np.where(np.arange(len(a)) < 4, a, 0), (0, max(0, 16 - len(a))))[:16], [2, 5, 20])
@T.prim_func
def two_conditions(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(16):
        B[i] = 0.0
    for i in range(16):
        if i < 4:
            if i < n:
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    B[vi] = A[vi]


def sums_by_rest(n):
    return lambda a: a.reshape(-1, n).cumsum(0, dtype=np.float32).reshape(-1)


@kept_or_raised("is read before anything is written there", sums_by_rest(4), [8])
@T.prim_func
def a_buffer_used_in_turns(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((4,), "float32")
    for i in range(8):
        k = i % 4
        if i < 4:
            S[k] = 0.0
        S[k] = S[k] + A[i]
        B[i] = S[k]


@kept_or_raised("is read before anything is written there", sums_by_rest(2), [8])
@T.prim_func
def a_buffer_used_by_turns_of_bits(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((2,), "float32")
    for i in range(8):
        k = i & 1
        if i < 2:
            S[k] = 0.0
        S[k] = S[k] + A[i]
        B[i] = S[k]
