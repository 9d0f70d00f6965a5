"""Contractions and convolutions as naive loops."""
import numpy as np
from loop_table import F, raises_to, windows

from legato.script import tir as T


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


@raises_to("linalg.generic", by=lambda a, b: (a @ b).swapaxes(1, 2))    # upstream's batch_matmul has no transposed result
@T.prim_func
def batch_matmul_turned(A: T.Buffer((3, 9, 16), "float32"), B: T.Buffer((3, 16, 20), "float32"), C: T.Buffer((3, 20, 9), "float32")):
    for b, i, j, k in T.grid(3, 9, 20, 16):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vj, vi] = T.float32(0)
            C[vb, vj, vi] += A[vb, vi, vk] * B[vb, vk, vj]


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
