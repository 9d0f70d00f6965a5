"""Kernels written as naive loops: what each raises to, or why it stays loops, and what numpy makes of the same inputs.

``RAISED``: kernel to (the structured ops it becomes, numpy's function). ``KEPT``: kernel to (words of the reason, numpy's function).
"""
import numpy as np
from kernels import softmax_numpy

from legato.script import tir as T

F = np.float32
RAISED, KEPT = {}, {}


def raises_to(*ops, by):
    """The structured ops that a kernel becomes, in order, without fills; ``by``: the oracle."""
    def note(kernel):
        RAISED[kernel] = ops, by
        return kernel
    return note


def stays(reason, by):
    def note(kernel):
        KEPT[kernel] = reason, by
        return kernel
    return note


def windows(x, size, stride, axes):
    """Views of all windows; the window's own dimensions are the last ones."""
    found = np.lib.stride_tricks.sliding_window_view(x, size, axes)
    return found[tuple(slice(None, None, stride) if a in axes else slice(None) for a in range(x.ndim))]


# --- contractions and convolutions ---


@raises_to("linalg.matmul", by=lambda a, b: a @ b.T)
@T.prim_func
def matmul_nt(A: T.Buffer((12, 16), "float32"), B: T.Buffer((20, 16), "float32"), C: T.Buffer((12, 20), "float32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@raises_to("linalg.batch_matmul", by=np.matmul)
@T.prim_func
def batch_matmul(A: T.Buffer((3, "n", 16), "float32"), B: T.Buffer((3, 16, 20), "float32"), C: T.Buffer((3, "n", 20), "float32")):
    for b, i, j, k in T.grid(3, A.shape[1], 20, 16):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] += A[vb, vi, vk] * B[vb, vk, vj]


@raises_to("linalg.matmul", by=np.matmul)
@T.prim_func
def matmul_init_apart(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 20), "float32"), C: T.Buffer((12, 20), "float32")):
    for i, j in T.grid(12, 20):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@raises_to("linalg.matmul", by=np.matmul)
@T.prim_func
def matmul_init_at_zero(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 20), "float32"), C: T.Buffer((12, 20), "float32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            if vk == 0:
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@raises_to("linalg.matmul", by=np.matmul)
@T.prim_func
def matmul_without_blocks(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 20), "float32"), C: T.Buffer((12, 20), "float32")):
    for i in range(12):
        for j in range(20):
            C[i, j] = 0.0
            for k in range(16):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


@raises_to("linalg.matmul", "linalg.generic", by=lambda a, b, bias: np.maximum(a @ b + bias, 0))
@T.prim_func
def matmul_bias_relu(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 20), "float32"), bias: T.Buffer((20,), "float32"),
                     C: T.Buffer((12, 20), "float32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(12, 20):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(C[vi, vj] + bias[vj], 0.0)


@raises_to("linalg.matmul", by=lambda a, b: (a.astype(np.int32) @ b.astype(np.int32)))
@T.prim_func
def matmul_int8(A: T.Buffer((12, 16), "int8"), B: T.Buffer((16, 20), "int8"), C: T.Buffer((12, 20), "int32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")


@raises_to("linalg.matmul", by=lambda a, b: (a.astype(F) @ b.astype(F)))
@T.prim_func
def matmul_f16(A: T.Buffer((12, 16), "float16"), B: T.Buffer((16, 20), "float16"), C: T.Buffer((12, 20), "float32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")


@raises_to("linalg.matmul", by=lambda a, b, c: c + a @ b)
@T.prim_func
def matmul_accumulates(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 20), "float32"), C: T.Buffer((12, 20), "float32")):
    for i, j, k in T.grid(12, 20, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@raises_to("linalg.conv_2d_nchw_fchw", by=lambda x, w: np.einsum("nchwij,fcij->nfhw", windows(x, (3, 3), 2, (2, 3)), w))
@T.prim_func
def conv_nchw(X: T.Buffer((1, 3, 11, 11), "float32"), W: T.Buffer((8, 3, 3, 3), "float32"), Y: T.Buffer((1, 8, 5, 5), "float32")):
    for n, f, h, w, c, kh, kw in T.grid(1, 8, 5, 5, 3, 3, 3):
        with T.block("conv"):
            vn, vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRRR", [n, f, h, w, c, kh, kw])
            with T.init():
                Y[vn, vf, vh, vw] = T.float32(0)
            Y[vn, vf, vh, vw] += X[vn, vc, vh * 2 + vkh, vw * 2 + vkw] * W[vf, vc, vkh, vkw]


@raises_to("tensor.pad", "linalg.conv_2d_nhwc_hwcf", by=lambda x, w: np.einsum(
    "nhwcij,ijcf->nhwf", windows(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), 1, (1, 2)), w))
@T.prim_func
def conv_padded_inside(X: T.Buffer((1, 8, 8, 3), "float32"), W: T.Buffer((3, 3, 3, 8), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    for n, h, w, f, kh, kw, c in T.grid(1, 8, 8, 8, 3, 3, 3):
        with T.block("conv"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] += T.if_then_else(1 <= vh + vkh and vh + vkh < 9 and 1 <= vw + vkw and vw + vkw < 9,
                                                X[vn, vh + vkh - 1, vw + vkw - 1, vc], T.float32(0)) * W[vkh, vkw, vc, vf]


@raises_to("tensor.pad", "linalg.conv_2d_nhwc_hwcf", by=lambda x, w: np.einsum(
    "nhwcij,ijcf->nhwf", windows(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), 1, (1, 2)), w))
@T.prim_func
def conv_padded_before(X: T.Buffer((1, 8, 8, 3), "float32"), W: T.Buffer((3, 3, 3, 8), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    P = T.alloc_buffer((1, 10, 10, 3), "float32")
    for n, h, w, c in T.grid(1, 10, 10, 3):
        with T.block("pad"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            P[vn, vh, vw, vc] = T.if_then_else(vh >= 1 and vh < 9 and vw >= 1 and vw < 9, X[vn, vh - 1, vw - 1, vc], T.float32(0))
    for n, h, w, f, kh, kw, c in T.grid(1, 8, 8, 8, 3, 3, 3):
        with T.block("conv"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] += P[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


@raises_to("linalg.depthwise_conv_2d_nhwc_hwc", by=lambda x, w: np.einsum("nhwcij,ijc->nhwc", windows(x, (3, 3), 1, (1, 2)), w))
@T.prim_func
def conv_depthwise(X: T.Buffer((1, 8, 8, 16), "float32"), W: T.Buffer((3, 3, 16), "float32"), Y: T.Buffer((1, 6, 6, 16), "float32")):
    for n, h, w, c, kh, kw in T.grid(1, 6, 6, 16, 3, 3):
        with T.block("conv"):
            vn, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRR", [n, h, w, c, kh, kw])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] += X[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc]


def grouped_numpy(x, w):
    return np.einsum("ngchwij,gfcij->ngfhw", windows(x, (3, 3), 1, (3, 4)), w)


@raises_to("linalg.conv_2d_ngchw_gfchw", by=grouped_numpy)
@T.prim_func
def conv_grouped(X: T.Buffer((1, 2, 4, 8, 8), "float32"), W: T.Buffer((2, 6, 4, 3, 3), "float32"), Y: T.Buffer((1, 2, 6, 6, 6), "float32")):
    for n, g, f, h, w, c, kh, kw in T.grid(1, 2, 6, 6, 6, 4, 3, 3):
        with T.block("conv"):
            vn, vg, vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSSRRR", [n, g, f, h, w, c, kh, kw])
            with T.init():
                Y[vn, vg, vf, vh, vw] = T.float32(0)
            Y[vn, vg, vf, vh, vw] += X[vn, vg, vc, vh + vkh, vw + vkw] * W[vg, vf, vc, vkh, vkw]


def flat_grouped_numpy(x, w):
    return grouped_numpy(x.reshape(1, 2, 4, 8, 8), w.reshape(2, 6, 4, 3, 3)).reshape(1, 12, 6, 6)


@raises_to("linalg.generic", by=flat_grouped_numpy)
@T.prim_func
def conv_grouped_flat(X: T.Buffer((1, 8, 8, 8), "float32"), W: T.Buffer((12, 4, 3, 3), "float32"), Y: T.Buffer((1, 12, 6, 6), "float32")):
    for n, f, h, w, c, kh, kw in T.grid(1, 12, 6, 6, 4, 3, 3):
        with T.block("conv"):
            vn, vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRRR", [n, f, h, w, c, kh, kw])
            with T.init():
                Y[vn, vf, vh, vw] = T.float32(0)
            Y[vn, vf, vh, vw] += X[vn, vf // 6 * 4 + vc, vh + vkh, vw + vkw] * W[vf, vc, vkh, vkw]


def transposed_numpy(x, w):
    out = np.zeros((1, 17, 8), F)
    for i in range(8):
        for k in range(3):
            out[0, 2 * i + k] += x[0, i] @ w[k]
    return out


@raises_to("linalg.generic", "linalg.generic", by=transposed_numpy)
@T.prim_func
def conv_transposed(X: T.Buffer((1, 8, 4), "float32"), W: T.Buffer((3, 4, 8), "float32"), Y: T.Buffer((1, 17, 8), "float32")):
    D = T.alloc_buffer((1, 19, 4), "float32")
    for n, i, c in T.grid(1, 19, 4):
        with T.block("dilate"):
            vn, vi, vc = T.axis.remap("SSS", [n, i, c])
            D[vn, vi, vc] = T.if_then_else(vi >= 2 and vi < 17 and vi % 2 == 0, X[vn, (vi - 2) // 2, vc], T.float32(0))
    for n, i, f, k, c in T.grid(1, 17, 8, 3, 4):
        with T.block("conv"):
            vn, vi, vf, vk, vc = T.axis.remap("SSSRR", [n, i, f, k, c])
            with T.init():
                Y[vn, vi, vf] = T.float32(0)
            Y[vn, vi, vf] += D[vn, vi + vk, vc] * W[2 - vk, vc, vf]


# --- windows and reductions ---


@raises_to("linalg.pooling_nhwc_max", by=lambda x: windows(x, (3, 3), 2, (1, 2)).max((-1, -2)))
@T.prim_func
def max_pool(X: T.Buffer((1, 11, 11, 16), "float32"), Y: T.Buffer((1, 5, 5, 16), "float32")):
    for n, h, w, c, kh, kw in T.grid(1, 5, 5, 16, 3, 3):
        with T.block("pool"):
            vn, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRR", [n, h, w, c, kh, kw])
            with T.init():
                Y[vn, vh, vw, vc] = T.min_value("float32")
            Y[vn, vh, vw, vc] = T.max(Y[vn, vh, vw, vc], X[vn, vh * 2 + vkh, vw * 2 + vkw, vc])


@raises_to("linalg.pooling_nchw_sum", "linalg.generic", by=lambda x: windows(x, (2, 2), 2, (2, 3)).mean((-1, -2)))
@T.prim_func
def average_pool(X: T.Buffer((1, 6, 12, 12), "float32"), Y: T.Buffer((1, 6, 6, 6), "float32")):
    S = T.alloc_buffer((1, 6, 6, 6), "float32")
    for n, c, h, w, kh, kw in T.grid(1, 6, 6, 6, 2, 2):
        with T.block("sum"):
            vn, vc, vh, vw, vkh, vkw = T.axis.remap("SSSSRR", [n, c, h, w, kh, kw])
            with T.init():
                S[vn, vc, vh, vw] = T.float32(0)
            S[vn, vc, vh, vw] = S[vn, vc, vh, vw] + X[vn, vc, vh * 2 + vkh, vw * 2 + vkw]
    for n, c, h, w in T.grid(1, 6, 6, 6):
        with T.block("mean"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            Y[vn, vc, vh, vw] = S[vn, vc, vh, vw] / T.float32(4)


@raises_to("tensor.pad", "linalg.pooling_nhwc_max", by=lambda x: windows(
    np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-3.4e38), (3, 3), 2, (1, 2)).max((-1, -2)))
@T.prim_func
def max_pool_padded(X: T.Buffer((1, 9, 9, 16), "float32"), Y: T.Buffer((1, 5, 5, 16), "float32")):
    for n, h, w, c, kh, kw in T.grid(1, 5, 5, 16, 3, 3):
        with T.block("pool"):
            vn, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRR", [n, h, w, c, kh, kw])
            with T.init():
                Y[vn, vh, vw, vc] = T.min_value("float32")
            Y[vn, vh, vw, vc] = T.max(Y[vn, vh, vw, vc], T.if_then_else(
                vh * 2 + vkh >= 1 and vh * 2 + vkh < 10 and vw * 2 + vkw >= 1 and vw * 2 + vkw < 10,
                X[vn, vh * 2 + vkh - 1, vw * 2 + vkw - 1, vc], T.min_value("float32")))


@raises_to("linalg.generic", by=lambda table, ids: table[ids].sum(1))
@T.prim_func
def gather_and_sum(table: T.Buffer((50, 16), "float32"), ids: T.Buffer(("n", 5), "int64"), out: T.Buffer(("n", 16), "float32")):
    n = T.int64()
    for i, j, k in T.grid(n, 16, 5):
        with T.block("out"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                out[vi, vj] = T.float32(0)
            out[vi, vj] = out[vi, vj] + table[ids[vi, vk], vj]


@raises_to("linalg.generic", by=lambda x: (x.sum(-1), x.prod(-1), x.max(-1), x.min(-1)))
@T.prim_func
def four_reductions(X: T.Buffer(("n", 24), "float32"), s: T.Buffer(("n",), "float32"), p: T.Buffer(("n",), "float32"),
                    hi: T.Buffer(("n",), "float32"), lo: T.Buffer(("n",), "float32")):
    for i, k in T.grid(X.shape[0], 24):
        with T.block("all"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                s[vi] = 0.0
                p[vi] = 1.0
                hi[vi] = T.min_value("float32")
                lo[vi] = T.max_value("float32")
            s[vi] = s[vi] + X[vi, vk]
            p[vi] = p[vi] * X[vi, vk]
            hi[vi] = T.max(hi[vi], X[vi, vk])
            lo[vi] = T.min(lo[vi], X[vi, vk])


@raises_to("linalg.generic", by=lambda x: (x.max(-1), x.argmax(-1).astype(np.int32)))
@T.prim_func
def argmax(X: T.Buffer((6, 40), "float32"), value: T.Buffer((6,), "float32"), place: T.Buffer((6,), "int32")):
    for i, k in T.grid(6, 40):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                value[vi] = T.min_value("float32")
                place[vi] = -1
            greater = X[vi, vk] > value[vi]
            better_value = T.Select(greater, X[vi, vk], value[vi])
            better_place = T.Select(greater, T.int32(vk), place[vi])
            value[vi] = better_value
            place[vi] = better_place


@raises_to("linalg.generic", by=lambda x: x.sum((0, 1), dtype=np.int64))
@T.prim_func
def sum_of_integers(X: T.Buffer((4, 8, 16), "int32"), Y: T.Buffer((16,), "int64")):
    for j, i, k in T.grid(16, 4, 8):
        with T.block("Y"):
            vj, vi, vk = T.axis.remap("SRR", [j, i, k])
            with T.init():
                Y[vj] = T.int64(0)
            Y[vj] = Y[vj] + T.cast(X[vi, vk, vj], "int64")


@raises_to("linalg.generic", by=lambda x: np.array(x.sum(dtype=np.float64)).astype(F))
@T.prim_func
def sum_of_all(X: T.Buffer((12, 32), "float32"), Y: T.Buffer((), "float32")):
    for i, j in T.grid(12, 32):
        with T.block("Y"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                Y[()] = T.float32(0)
            Y[()] = Y[()] + X[vi, vj]


# --- several blocks that feed each other ---


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


# --- movements ---


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


# --- what stays ---


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
