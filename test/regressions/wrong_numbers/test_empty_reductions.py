"""A reduction over an axis of size 0 has no step that could run its init: the output keeps what was written before, else it starts from
zeros. Structured forms and loops agree, for sizes that are known and for symbols."""
import numpy as np
import pytest
from thoroughly import first_of

import legato
from legato import tir as T


def plain(n):
    @T.prim_func
    def kernel(A: T.Buffer((4, n), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i, j in T.grid(4, A.shape[1]):
            with T.block("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(3)
                B[vi] = B[vi] + A[vi, vj] * C[vi]

    return kernel


def of_an_argument(n):
    @T.prim_func
    def kernel(A: T.Buffer((4, n), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i, j in T.grid(4, A.shape[1]):
            with T.block("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = C[vi]
                B[vi] = T.max(B[vi], A[vi, vj])

    return kernel


def written_before(n):
    @T.prim_func
    def kernel(A: T.Buffer((4, n), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = C[i] * T.float32(2)
        for i, j in T.grid(4, A.shape[1]):
            with T.block("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(1)
                B[vi] = B[vi] * A[vi, vj]

    return kernel


def two_axes(n):
    @T.prim_func
    def kernel(A: T.Buffer((4, n), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(4, A.shape[1], 2):
            with T.block("s"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                with T.init():
                    B[vi] = T.float32(-1)
                B[vi] = B[vi] + A[vi, vj] + C[vk]

    return kernel


def in_loops(n):
    @T.prim_func
    def kernel(A: T.Buffer((4, n), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.parallel(4):
            for j in range(A.shape[1]):
                with T.block("s"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        B[vi] = T.float32(3)
                    B[vi] = B[vi] + A[vi, vj] * C[vi]

    return kernel


def by_numpy(kernel, a, c):
    if kernel in (plain, in_loops):
        return 3 + a.sum(1) * c if a.size else np.zeros(4)
    if kernel is of_an_argument:
        return np.maximum(c, a.max(1)) if a.size else np.zeros(4)
    if kernel is written_before:
        return a.prod(1) if a.size else 2 * c
    return 2 * a.sum(1) + a.shape[1] * (c[0] + c[1]) - 1 if a.size else np.zeros(4)


@pytest.mark.parametrize("given", first_of(["symbolic", "static"]))
@pytest.mark.parametrize("kernel", [plain, of_an_argument, written_before, two_axes, in_loops])
def test_a_reduction_over_nothing(kernel, given):
    c = np.array([1, -2, 3, 4], np.float32)
    symbolic = legato.compile(kernel("n").module()) if given == "symbolic" else None
    for n in (0, 3):
        a = np.linspace(-2, 2, 4 * n, dtype=np.float32).reshape(4, n)
        executable = symbolic or legato.compile(kernel(n).module())
        np.testing.assert_allclose(executable(a, c), by_numpy(kernel, a, c), rtol=1e-6)
    kept = [r.kernel for r in executable.explain().kernels if r.form == "loops"]
    assert bool(kept) == (kernel is in_loops)
