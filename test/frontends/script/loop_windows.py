"""Windows and reductions as naive loops."""
import numpy as np
from loop_table import F, raises_to, windows

from legato.script import tir as T


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
