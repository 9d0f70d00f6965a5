"""Kernels that move elements, as naive loops."""
import numpy as np
from kernels import softmax_numpy
from loop_table import F, raises_to

from legato.script import tir as T


@raises_to("linalg.generic", by=lambda a, b: a.transpose(2, 0, 1) + b[:, None, None])
@T.prim_func
def transpose_and_broadcast(A: T.Buffer((4, 8, 16), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16, 4, 8), "float32")):
    for i, j, k in T.grid(16, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = A[vj, vk, vi] + B[vi]


@raises_to("tensor.collapse_shape", "linalg.generic", by=lambda a: a.reshape(-1) * 2)
@T.prim_func
def flatten(A: T.Buffer((6, 16), "float32"), B: T.Buffer((96,), "float32")):
    for i in range(96):
        with T.block("B"):
            vi = T.axis.spatial(96, i)
            B[vi] = A[vi // 16, vi % 16] * 2.0


@raises_to("tensor.expand_shape", "linalg.generic", by=lambda a: a.reshape(6, 16) * 2)
@T.prim_func
def unflatten(A: T.Buffer((96,), "float32"), B: T.Buffer((6, 16), "float32")):
    for i, j in T.grid(6, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 16 + vj] * 2.0


@raises_to("tensor.collapse_shape", "tensor.expand_shape", "linalg.generic", by=lambda a: a.reshape(4, 24) + 1)
@T.prim_func
def reshape(A: T.Buffer((6, 16), "float32"), B: T.Buffer((4, 24), "float32")):
    for i, j in T.grid(4, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[(vi * 24 + vj) // 16, (vi * 24 + vj) % 16] + 1.0


@raises_to("tensor.extract_slice", "linalg.generic", by=lambda a: a[1::2][:10] * 2)
@T.prim_func
def strided(A: T.Buffer((24,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi * 2 + 1] * 2.0


@raises_to("linalg.generic", by=lambda a: a[::-1] * 2)
@T.prim_func
def reversed_copy(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(24):
        with T.block("B"):
            vi = T.axis.spatial(24, i)
            B[vi] = A[23 - vi] * 2.0


@raises_to("tensor.extract_slice", "tensor.extract_slice", "linalg.generic", by=lambda a, b: a[:, 3:11] * b[2, :8])
@T.prim_func
def slices(A: T.Buffer(("n", 16), "float32"), B: T.Buffer((4, 9), "float32"), C: T.Buffer(("n", 8), "float32")):
    for i, j in T.grid(A.shape[0], 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj + 3] * B[2, vj]


@raises_to("tensor.pad", "linalg.generic", by=lambda x: np.pad(x, (2, 3)) * 2)
@T.prim_func
def pad_and_scale(X: T.Buffer((16,), "float32"), Y: T.Buffer((21,), "float32")):
    for i in range(21):
        with T.block("Y"):
            vi = T.axis.spatial(21, i)
            Y[vi] = T.if_then_else(vi < 2 or vi >= 18, T.float32(0), X[vi - 2]) * 2.0


@raises_to("tensor.extract_slice", "linalg.generic", "tensor.insert_slice", "tensor.insert_slice",
           by=lambda a, b: np.concatenate([a * 2, b]))
@T.prim_func
def concatenate(A: T.Buffer((6, 8), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((10, 8), "float32")):
    for i, j in T.grid(6, 8):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 8):
        with T.block("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi + 6, vj] = B[vi, vj]


@raises_to("linalg.generic", by=lambda a: np.tril(a))
@T.prim_func
def lower_triangle(A: T.Buffer((12, 12), "float32"), B: T.Buffer((12, 12), "float32")):
    for i, j in T.grid(12, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj <= vi, A[vi, vj], T.float32(0))


@raises_to("linalg.generic", by=lambda a: a * 2 + 1)
@T.prim_func
def split_with_predicate(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i0, i1 in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(30, i0 * 8 + i1)
            T.where(i0 * 8 + i1 < 30)
            B[vi] = A[vi] * 2.0 + 1.0


@raises_to("linalg.generic", by=lambda a: np.where(a > 0, a, np.float16(0.5) * a))
@T.prim_func
def leaky_f16(A: T.Buffer((5, "n"), "float16"), B: T.Buffer((5, "n"), "float16")):
    n = T.int64()
    for i, j in T.grid(5, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            if A[vi, vj] > T.float16(0):
                B[vi, vj] = A[vi, vj]
            else:
                B[vi, vj] = A[vi, vj] * T.float16(0.5)


@raises_to("tensor.extract_slice", "linalg.generic", "linalg.generic", "linalg.generic", "linalg.generic", by=softmax_numpy)
@T.prim_func
def softmax_with_scalars(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    largest = T.alloc_buffer((1,), "float32", scope="local")
    total = T.alloc_buffer((1,), "float32", scope="local")
    for i in range(8):
        largest[0] = A[i, 0]
        for k in range(32):
            largest[0] = T.max(largest[0], A[i, k])
        total[0] = 0.0
        for k in range(32):
            B[i, k] = T.exp(A[i, k] - largest[0])
            total[0] = total[0] + B[i, k]
        for k in range(32):
            B[i, k] = B[i, k] / total[0]


@raises_to("tensor.extract_slice", "tensor.extract_slice", "linalg.generic", by=lambda a: (a[1:] - a[:-1]) * F(0.5))
@T.prim_func
def differences(A: T.Buffer(("n + 1", 12), "float32"), B: T.Buffer(("n", 12), "float32")):
    for i, j in T.grid(B.shape[0], 12):
        B[i, j] = (A[i + 1, j] - A[i, j]) * 0.5


@raises_to("tensor.pad", "linalg.conv_1d", by=lambda x, w: np.convolve(x, w[::-1], "same"))
@T.prim_func
def filter_symbolic(X: T.Buffer(("n",), "float32"), W: T.Buffer((5,), "float32"), Y: T.Buffer(("n",), "float32")):
    n = T.int64()
    for i, k in T.grid(n, 5):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = 0.0
            Y[vi] += T.if_then_else(0 <= vi + vk - 2 and vi + vk - 2 < n, X[vi + vk - 2], T.float32(0)) * W[vk]


@raises_to("tensor.extract_slice", "tensor.extract_slice", "linalg.generic", "tensor.insert_slice",
           by=lambda a: np.concatenate([[0], a[1:15] * 2, [0]]).astype(F))
@T.prim_func
def inner_part(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
    for i in range(1, 15):
        B[i] = A[i] * 2.0


@raises_to("linalg.generic", by=lambda a: a[::-1] + 1)
@T.prim_func
def written_backwards(A: T.Buffer((16, 3), "float32"), B: T.Buffer((16, 3), "float32")):
    for i, j in T.grid(16, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[15 - vi, vj] = A[vi, vj] + 1.0


@raises_to("tensor.expand_shape", "linalg.generic", "tensor.collapse_shape", by=lambda a: a.transpose(1, 0, 2).reshape(5, 12) * 2)
@T.prim_func
def heads_together(A: T.Buffer((3, 5, 4), "float32"), B: T.Buffer((5, 12), "float32")):
    for i, h, d in T.grid(5, 3, 4):
        with T.block("B"):
            vi, vh, vd = T.axis.remap("SSS", [i, h, d])
            B[vi, vh * 4 + vd] = A[vh, vi, vd] * 2.0


@raises_to("tensor.extract_slice", "linalg.generic", by=lambda a: a[:5] + 1)
@T.prim_func
def shorter_output(A: T.Buffer(("m", 8), "float32"), B: T.Buffer((5, 8), "float32")):
    for i, j in T.grid(5, 8):
        B[i, j] = A[i, j] + 1.0


@raises_to("linalg.generic", by=lambda a: np.where(a > 0, a, 0) * np.arange(1, 17, dtype=F))
@T.prim_func
def positions_as_values(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(1, 17):
        B[i - 1] = T.max(A[i - 1], 0.0) * T.cast(i, "float32")


@raises_to(by=lambda a, b: (b, a))
@T.prim_func
def swapped(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    for i in range(16):
        C[i] = B[i]
        D[i] = A[i]


@raises_to("linalg.generic", by=lambda a: ((a % 4).max(-1), (a % 4).argmax(-1)))
@T.prim_func
def argmax_of_integers(A: T.Buffer((6, 64), "int32"), top: T.Buffer((6,), "int32"), place: T.Buffer((6,), "int64")):
    for i, k in T.grid(6, 64):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                top[vi] = T.min_value("int32")
                place[vi] = T.int64(-1)
            if A[vi, vk] % 4 > top[vi]:
                top[vi] = A[vi, vk] % 4
                place[vi] = T.cast(vk, "int64")


@raises_to("linalg.generic", by=lambda x: (x.view(np.uint8).min(0).view(np.int8), x.view(np.uint8).argmin(0)))
@T.prim_func
def argmin_of_bytes(X: T.Buffer((9, 5), "int8"), low: T.Buffer((5,), "int8"), place: T.Buffer((5,), "int64")):
    least = T.alloc_buffer((5,), "int8")
    for i, j in T.grid(9, 5):
        with T.block("argmin"):
            vi, vj = T.axis.remap("RS", [i, j])
            with T.init():
                least[vj] = -1
                place[vj] = T.int64(0)
            x = X[vi, vj]
            before = least[vj]
            least[vj] = T.min(T.Cast("uint8", x), T.Cast("uint8", before))
            place[vj] = T.Select(T.Cast("uint8", x) < T.Cast("uint8", before), T.Cast("int64", vi), place[vj])
    for j in range(5):
        low[j] = least[j]


@raises_to("linalg.generic", by=lambda a, b: np.lib.stride_tricks.sliding_window_view(a, 19)[:21] - b.T)
@T.prim_func
def a_transpose_beside_a_diagonal(A: T.Buffer((39,), "float32"), B: T.Buffer((19, 21), "float32"), C: T.Buffer((21, 19), "float32")):
    for i, j in T.grid(21, 19):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi + vj] - B[vj, vi]


@raises_to("tensor.extract_slice", "linalg.generic", by=lambda a, b: a[::2, None] - b.T)
@T.prim_func
def a_transpose_beside_a_stride(A: T.Buffer((40,), "float32"), B: T.Buffer((19, 20), "float32"), C: T.Buffer((20, 19), "float32")):
    for i, j in T.grid(20, 19):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi * 2] - B[vj, vi]


@raises_to("tensor.extract_slice", "tensor.extract_slice", "linalg.generic", by=lambda a: a[0, 0] - a[2, 0][None])
@T.prim_func
def one_element_in_steps(A: T.Buffer((3, 1, 1), "float32"), B: T.Buffer((1, 1), "float32")):
    for i, j in T.grid(1, 1):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj * 7, vj] - A[2, (vi + vi) % 4, vj // 4 % 2]
