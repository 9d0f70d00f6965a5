"""A sum of products in which a reduction loop belongs to one operand only is no matmul: its schedule cannot vectorize it."""
import numpy as np
import pytest

import legato
from legato import tir as T


def one_sided(m, n, k):
    @T.prim_func
    def kernel(A: T.Buffer((m, n), "float32"), C: T.Buffer((k,), "float32"), B: T.Buffer((m,), "float32")):
        for i, j, r in T.grid(A.shape[0], A.shape[1], C.shape[0]):
            with T.block("s"):
                vi, vj, vr = T.axis.remap("SRR", [i, j, r])
                with T.init():
                    B[vi] = T.float32(-1)
                B[vi] = B[vi] + A[vi, vj] * C[vr]

    return kernel


@pytest.mark.parametrize("sizes", [(4, "n", 2), (4, "n", 16), (16, "n", "k"), ("m", "n", 3), (16, 7, 2), (4, 1, "k")], ids=str)
def test_a_reduction_loop_of_one_operand(sizes):
    executable = legato.compile(one_sided(*sizes).module())
    named = {"m": 33, "n": 9, "k": 5}
    m, n, k = (named[size] if isinstance(size, str) else size for size in sizes)
    a, c = np.linspace(-1, 1, m * n, dtype=np.float32).reshape(m, n), np.linspace(0.5, 1, k, dtype=np.float32)
    np.testing.assert_allclose(executable(a, c), a.sum(1) * c.sum() - 1, rtol=1e-4, atol=1e-4)
