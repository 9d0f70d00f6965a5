"""Kernels of statements: branches, loops that run while something holds, calls of C, macros, what has no compute definition."""

import numpy as np

from legato.script import tir as T

F = np.float32


@T.prim_func
def extern_call(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.call_extern("float32", "cosf", A[vi]) + T.call_pure_extern("float32", "fmaxf", A[vi], T.float32(0.5))


@T.prim_func
def extern_on_memory(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("copy"):
        T.evaluate(T.call_extern("handle", "memcpy", B.data, T.address_of(A[0]), T.int64(64)))


@T.prim_func
def integers(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = (A[vi] // 7) * 100 + A[vi] % 7 + T.truncdiv(A[vi], 5) + (A[vi] << 2) - (A[vi] >> 1) + T.int32(vi)


@T.prim_func
def conditions(A: T.Buffer((64,), "float32"), mask: T.Buffer((64,), "bool"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "bool")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            if mask[vi]:
                B[vi] = A[vi]
            else:
                B[vi] = T.Select(A[vi] > 0.5 or vi < 8, 1.0, -A[vi])
            C[vi] = not mask[vi] and A[vi] < 0.25


@T.prim_func
def embedding(table: T.Buffer((100, 16), "float32"), ids: T.Buffer(("n",), "int64"), out: T.Buffer(("n", 16), "float32")):
    n = T.int64()
    for i, j in T.grid(n, 16):
        with T.block("out"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = table[ids[vi], vj]


@T.prim_func
def running_sum(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
    for i in range(4):
        B[i, 0] = A[i, 0]
        for j in range(1, 16):
            B[i, j] = B[i, j - 1] + A[i, j]


@T.prim_func
def collatz(A: T.Buffer((16,), "int32"), steps: T.Buffer((16,), "int32")):
    x = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(16):
        x[0] = A[i]
        steps[i] = 0
        while x[0] > 1:
            x[0] = T.if_then_else(x[0] % 2 == 0, x[0] // 2, 3 * x[0] + 1)
            steps[i] += 1


ROWS, EPSILON = 6, 1e-5


@T.prim_func
def layer_norm(X: T.Buffer((ROWS, 32), "float32"), gamma: T.Buffer((32,), "float32"), Y: T.Buffer((ROWS, 32), "float32")):
    mean = T.alloc_buffer((ROWS,))
    square = T.alloc_buffer((ROWS,))
    for i, k in T.grid(ROWS, 32):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                mean[vi] = 0.0
                square[vi] = 0.0
            mean[vi] = mean[vi] + X[vi, vk] / 32.0
            square[vi] = square[vi] + X[vi, vk] * X[vi, vk] / 32.0
    for i, j in T.grid(ROWS, 32):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            inverse = T.rsqrt(square[vi] - mean[vi] * mean[vi] + T.float32(EPSILON))
            Y[vi, vj] = (X[vi, vj] - mean[vi]) * inverse * gamma[vj]


@T.macro
def scaled_copy(source, target, i, factor):
    target[i] = source[i] * factor


@T.prim_func
def by_macro(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            scaled_copy(A, B, vi, 3.0)


@T.prim_func
def threefry(key: T.Buffer((2,), "uint32"), counter: T.Buffer(("n", 2), "uint32"), out: T.Buffer(("n", 2), "uint32")):
    """Threefry-2x32 with 20 rounds (Salmon et al., 2011): no compute definition, just what it does."""
    n = T.int64()
    x = T.alloc_buffer((2,), "uint32", scope="local")
    k = T.alloc_buffer((3,), "uint32", scope="local")
    rotations = T.alloc_buffer((8,), "uint32", scope="local")
    k[0] = key[0]
    k[1] = key[1]
    k[2] = T.bitwise_xor(T.bitwise_xor(key[0], key[1]), T.uint32(0x1BD11BDA))
    rotations[0] = 13
    rotations[1] = 15
    rotations[2] = 26
    rotations[3] = 6
    rotations[4] = 17
    rotations[5] = 29
    rotations[6] = 16
    rotations[7] = 24
    for i in range(n):
        x[0] = counter[i, 0] + k[0]
        x[1] = counter[i, 1] + k[1]
        for r in range(5):
            for s in range(4):
                turn = rotations[(r % 2) * 4 + s]
                x[0] = x[0] + x[1]
                x[1] = T.bitwise_or(T.shift_left(x[1], turn), T.shift_right(x[1], T.uint32(32) - turn))
                x[1] = x[1] ^ x[0]
            x[0] = x[0] + k[(r + 1) % 3]
            x[1] = x[1] + k[(r + 2) % 3] + T.Cast("uint32", r + 1)
        out[i, 0] = x[0]
        out[i, 1] = x[1]


def threefry_numpy(key, counter):
    """The same on Python's integers."""
    rows = []
    for c in counter:
        ks = [int(key[0]), int(key[1]), int(key[0]) ^ int(key[1]) ^ 0x1BD11BDA]
        x0, x1 = (int(c[0]) + ks[0]) % 2**32, (int(c[1]) + ks[1]) % 2**32
        for r in range(5):
            for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[r % 2]:
                x0 = (x0 + x1) % 2**32
                x1 = ((x1 << turn) | (x1 >> (32 - turn))) % 2**32 ^ x0
            x0 = (x0 + ks[(r + 1) % 3]) % 2**32
            x1 = (x1 + ks[(r + 2) % 3] + r + 1) % 2**32
        rows.append((x0, x1))
    return np.array(rows, np.uint32)


def integers_numpy(a):
    return (a // 7) * 100 + a % 7 + np.trunc(a / 5).astype(np.int32) + (a << 2) - (a >> 1) + np.arange(64, dtype=np.int32)


def conditions_numpy(a, mask):
    return np.where(mask, a, np.where((a > 0.5) | (np.arange(64) < 8), F(1), -a)), ~mask & (a < 0.25)


def collatz_numpy(a):
    def steps(n):
        return 0 if n <= 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    return np.array([steps(int(n)) for n in a], np.int32)


def layer_norm_numpy(x, gamma):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) * gamma


REFERENCES = {
    extern_call: lambda a: np.cos(a) + np.maximum(a, F(0.5)), extern_on_memory: lambda a: a, integers: integers_numpy,
    conditions: conditions_numpy, embedding: lambda table, ids: table[ids], running_sum: lambda a: np.cumsum(a, -1),
    collatz: collatz_numpy, layer_norm: layer_norm_numpy, by_macro: lambda a: a * 3, threefry: threefry_numpy,
}
