"""Kernels of the kinds that TVM's tutorials teach, in TVM's spelling, old and new. Each names what it has to agree with."""

import numpy as np

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


def conv_numpy(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))  # n h w c kh kw
    return np.einsum("nhwcij,ijcf->nhwf", windows, w)


def softmax_numpy(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


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
    vector_add: np.add, vector_add_by_handles: np.add, matmul: np.matmul, matmul_relu: lambda a, b: np.maximum(a @ b, 0),
    matmul_tiled: np.matmul, blockized_matmul: np.matmul, conv2d: conv_numpy,
    padded_conv1d: lambda x, w: np.convolve(x, w[::-1], "same"), softmax: softmax_numpy, split_with_a_rest: lambda a: a * 2 + 1,
    parallel_rows: lambda a: np.sqrt(np.abs(a)) + np.arange(64, dtype=F), cross_thread_sum: lambda a: a.sum(-1),
    two_outputs: lambda a: (a.sum(-1), a.max(-1)), extern_call: lambda a: np.cos(a) + np.maximum(a, F(0.5)),
    extern_on_memory: lambda a: a, integers: integers_numpy, conditions: conditions_numpy, embedding: lambda table, ids: table[ids],
    running_sum: lambda a: np.cumsum(a, -1), collatz: collatz_numpy, layer_norm: layer_norm_numpy, by_macro: lambda a: a * 3,
    threefry: threefry_numpy,
}


@T.prim_func
def add_numbers(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    """Its constant 16 is also a loop's bound: simplifications make one of the two."""
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.Cast("float32", vi * 16 + vj)


REFERENCES[add_numbers] = lambda a: a + np.arange(128, dtype=F).reshape(8, 16)
