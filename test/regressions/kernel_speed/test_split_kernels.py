"""Kernels written as plain loops that hold several contractions, or another layout than schedules want, are compiled like graph ops.

Results are compared with numpy; what is compared of the code is its structure: each contraction is alone in a kernel whose schedule
made vectors of it. `python -m bench.tir` measures.
"""
# pyright: reportInvalidTypeForm=false, reportCallIssue=false
import functools

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from thoroughly import first_of

import legato
from legato.driver import lower
from legato.report import Report
from legato.script import tir as T


@T.prim_func
def conv_relu_nchw(X: T.Buffer((2, 5, 9, 10), "float32"), W: T.Buffer((7, 5, 3, 3), "float32"), B: T.Buffer((7,), "float32"),
                   Y: T.Buffer((2, 7, 5, 5), "float32")):
    P = T.alloc_buffer((2, 5, 11, 12), "float32")
    S = T.alloc_buffer((2, 7, 5, 5), "float32")
    for n, c, h, w in T.grid(2, 5, 11, 12):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 10 and 1 <= vw and vw < 11, X[vn, vc, vh - 1, vw - 1], T.float32(0))
    for n, f, h, w, c, kh, kw in T.grid(2, 7, 5, 5, 5, 3, 3):
        with T.block("conv"):
            vn, vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRRR", [n, f, h, w, c, kh, kw])
            with T.init():
                S[vn, vf, vh, vw] = T.float32(0)
            S[vn, vf, vh, vw] = S[vn, vf, vh, vw] + P[vn, vc, vh * 2 + vkh, vw * 2 + vkw] * W[vf, vc, vkh, vkw]
    for n, f, h, w in T.grid(2, 7, 5, 5):
        with T.block("relu"):
            vn, vf, vh, vw = T.axis.remap("SSSS", [n, f, h, w])
            Y[vn, vf, vh, vw] = T.max(S[vn, vf, vh, vw] + B[vf], T.float32(0))


def conv_reference(x, w, b):
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))[:, :, ::2, ::2]
    return np.maximum(np.einsum("nchwij,fcij->nfhw", windows, w) + b[:, None, None], 0)


@T.prim_func
def conv_square(X: T.Buffer((1, 16, 16, 16), "float32"), W: T.Buffer((16, 16, 1, 1), "float32"), Y: T.Buffer((1, 16, 16, 16), "float32")):
    for n, f, h, w, c, kh, kw in T.grid(1, 16, 16, 16, 16, 1, 1):  # transposing does not change its shape
        with T.block("conv"):
            vn, vf, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRRR", [n, f, h, w, c, kh, kw])
            with T.init():
                Y[vn, vf, vh, vw] = T.float32(0)
            Y[vn, vf, vh, vw] = Y[vn, vf, vh, vw] + X[vn, vc, vh + vkh, vw + vkw] * W[vf, vc, vkh, vkw]


@T.prim_func
def depthwise_nchw(X: T.Buffer((1, 6, 8, 9), "float32"), W: T.Buffer((6, 3, 3), "float32"), Y: T.Buffer((1, 6, 6, 7), "float32")):
    for n, c, h, w, kh, kw in T.grid(1, 6, 6, 7, 3, 3):
        with T.block("conv"):
            vn, vc, vh, vw, vkh, vkw = T.axis.remap("SSSSRR", [n, c, h, w, kh, kw])
            with T.init():
                Y[vn, vc, vh, vw] = T.float32(0)
            Y[vn, vc, vh, vw] = Y[vn, vc, vh, vw] + X[vn, vc, vh + vkh, vw + vkw] * W[vc, vkh, vkw]


@T.prim_func
def max_pool_nchw(X: T.Buffer((1, 6, 8, 8), "float32"), Y: T.Buffer((1, 6, 4, 4), "float32")):
    for n, c, h, w, kh, kw in T.grid(1, 6, 4, 4, 2, 2):
        with T.block("pool"):
            vn, vc, vh, vw, vkh, vkw = T.axis.remap("SSSSRR", [n, c, h, w, kh, kw])
            with T.init():
                Y[vn, vc, vh, vw] = T.min_value("float32")
            Y[vn, vc, vh, vw] = T.max(Y[vn, vc, vh, vw], X[vn, vc, vh * 2 + vkh, vw * 2 + vkw])


@T.prim_func
def conv1d(X: T.Buffer((2, 6, 20), "float32"), W: T.Buffer((5, 6, 3), "float32"), Y: T.Buffer((2, 5, 18), "float32")):
    for n, f, i, c, k in T.grid(2, 5, 18, 6, 3):
        with T.block("conv"):
            vn, vf, vi, vc, vk = T.axis.remap("SSSRR", [n, f, i, c, k])
            with T.init():
                Y[vn, vf, vi] = T.float32(0)
            Y[vn, vf, vi] = Y[vn, vf, vi] + X[vn, vc, vi + vk] * W[vf, vc, vk]


@T.prim_func
def chain(A: T.Buffer((33, 20), "float32"), B: T.Buffer((20, 17), "float32"), C: T.Buffer((9, 17), "float32"),
          Y: T.Buffer((33, 9), "float32"), M: T.Buffer((33, 17), "float32")):
    for i, j, k in T.grid(33, 17, 20):  # both products are outputs; the second has its operand transposed
        with T.block("M"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                M[vi, vj] = T.float32(0)
            M[vi, vj] = M[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j, k in T.grid(33, 9, 17):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + M[vi, vk] * C[vj, vk]


@T.prim_func
def row_sums(A: T.Buffer((18, 20), "float32"), B: T.Buffer((20, 33), "float32"), Y: T.Buffer((18,), "float32")):
    M = T.alloc_buffer((18, 33), "float32")
    for i, j, k in T.grid(18, 33, 20):
        with T.block("M"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                M[vi, vj] = T.float32(0)
            M[vi, vj] = M[vi, vj] + (A[vi, vk] * T.float32(2)) * B[vk, vj]
    for i, j in T.grid(18, 33):
        with T.block("Y"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + M[vi, vj] * M[vi, vj]


@T.prim_func
def scaled_first(A: T.Buffer((18, 20), "float32"), B: T.Buffer((20, 33), "float32"), Y: T.Buffer((18, 33), "float32")):
    S = T.alloc_buffer((18, 20), "float32")
    for i, k in T.grid(18, 20):
        S[i, k] = T.exp(A[i, k])
    for i, j, k in T.grid(18, 33, 20):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + S[vi, vk] * B[vk, vj]


@T.prim_func
def attention(Q: T.Buffer((2, 19, 16), "float32"), K: T.Buffer((2, 21, 16), "float32"), V: T.Buffer((2, 21, 16), "float32"),
              O: T.Buffer((2, 19, 16), "float32")):
    P = T.alloc_buffer((2, 19, 21), "float32")
    M = T.alloc_buffer((2, 19), "float32")
    E = T.alloc_buffer((2, 19, 21), "float32")
    L = T.alloc_buffer((2, 19), "float32")
    for h, i, j, k in T.grid(2, 19, 21, 16):
        with T.block("P"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                P[vh, vi, vj] = T.float32(0)
            P[vh, vi, vj] = P[vh, vi, vj] + Q[vh, vi, vk] * K[vh, vj, vk]
    for h, i, j in T.grid(2, 19, 21):
        with T.block("M"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                M[vh, vi] = T.min_value("float32")
            M[vh, vi] = T.max(M[vh, vi], P[vh, vi, vj] * T.float32(0.25))
    for h, i, j in T.grid(2, 19, 21):
        with T.block("E"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            E[vh, vi, vj] = T.exp(P[vh, vi, vj] * T.float32(0.25) - M[vh, vi])
    for h, i, j in T.grid(2, 19, 21):
        with T.block("L"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                L[vh, vi] = T.float32(0)
            L[vh, vi] = L[vh, vi] + E[vh, vi, vj]
    for h, i, k, j in T.grid(2, 19, 16, 21):
        with T.block("O"):
            vh, vi, vk, vj = T.axis.remap("SSSR", [h, i, k, j])
            with T.init():
                O[vh, vi, vk] = T.float32(0)
            O[vh, vi, vk] = O[vh, vi, vk] + E[vh, vi, vj] / L[vh, vi] * V[vh, vj, vk]


def attention_reference(q, k, v):
    scores = q @ k.swapaxes(1, 2) * 0.25
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@T.prim_func
def dynamic_chain(a: T.handle, b: T.handle, c: T.handle, y: T.handle):
    n, m, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (m, m), "float32")
    Y = T.match_buffer(y, (n, m), "float32")
    M = T.alloc_buffer((n, m), "float32")
    for i, j, r in T.grid(n, m, k):
        with T.block("M"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                M[vi, vj] = T.float32(0)
            M[vi, vj] = M[vi, vj] + A[vi, vr] * B[vr, vj]
    for i, j, r in T.grid(n, m, m):
        with T.block("Y"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + M[vi, vr] * C[vj, vr]


@T.prim_func
def few_rows(A: T.Buffer((2, 40), "float32"), B: T.Buffer((33, 40), "float32"), Y: T.Buffer((2, 33), "float32")):
    for i, j, k in T.grid(2, 33, 40):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vj, vk]


def pool_reference(x):
    return x.reshape(1, 6, 4, 2, 4, 2).max((3, 5))


CASES = [
    (conv_relu_nchw, conv_reference, 1), (conv_square, lambda x, w: np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0]), 1),
    (depthwise_nchw, lambda x, w: np.einsum("nchwij,cij->nchw", sliding_window_view(x, (3, 3), (2, 3)), w), 0),
    (max_pool_nchw, pool_reference, 0), (conv1d, lambda x, w: np.einsum("nciw,fcw->nfi", sliding_window_view(x, 3, 2), w), 1),
    (chain, lambda a, b, c: (a @ b @ c.T, a @ b), 2), (row_sums, lambda a, b: ((a * 2 @ b) ** 2).sum(1), 1),
    (scaled_first, lambda a, b: np.exp(a) @ b, 1), (attention, attention_reference, 2), (few_rows, lambda a, b: a @ b.T, 1),
]
"""kernel, reference, number of contractions"""


@pytest.mark.parametrize(("kernel", "reference", "contractions"), CASES, ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("target", first_of(["llvm", "llvm{cpu=x86-64-v2}"]))
def test_result(kernel, reference, contractions, target):
    executable = legato.compile(kernel, target)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(tuple(t.shape), np.float32) for t in executable.inputs]
    found, expected = executable(*arrays), reference(*arrays)
    for one, other in zip(found if isinstance(expected, tuple) else [found], expected if isinstance(expected, tuple) else [expected]):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kernel", "reference", "contractions"), CASES, ids=[case[0].__name__ for case in CASES])
def test_every_contraction_is_vectorized(kernel, reference, contractions):
    text = str(lower(kernel, last="scheduled").module)
    left = [name for name in ("linalg.matmul", "linalg.batch_matmul", "linalg.conv", "linalg.depthwise", "linalg.pooling") if name in text]
    assert not left
    assert text.count("linalg.generic") == 0
    assert "vector<" in text


def test_cut_kernels_are_reported():
    report = Report()
    lower(attention, last="fused", report=report)
    parts = report.details["split-kernels"]["attention"]
    assert parts == ["attention_transpose", "attention_batch_matmul", "attention_reduction", "attention_contraction"]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 7, 3), (40, 33, 64), (0, 4, 4), (4, 4, 0)])
def test_dynamic_sizes(sizes):
    n, m, k = sizes
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal(shape, np.float32) for shape in ((n, k), (k, m), (m, m)))
    found = np.from_dlpack(compiled_dynamic()(a, b, c))
    np.testing.assert_allclose(found, a @ b @ c.T, rtol=1e-4, atol=1e-4)


@functools.cache
def compiled_dynamic():
    return legato.compile(dynamic_chain)
