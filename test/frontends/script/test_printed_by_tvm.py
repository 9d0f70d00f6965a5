"""What TVM prints of its kernels: external blocks, variables without a first value, several hints at once, predicates of fused loops."""
import numpy as np
import pytest

import legato
from legato.script import parse

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def test_an_external_block_says_nothing_of_what_it_writes():
    kernel = parse("""
@T.prim_func
def total(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    with T.sblock("cumsum_generic"):
        T.reads()
        T.writes()
        T.attr({"pragma_scope": "seq"})
        for v in T.parallel(4):
            B[v, 0] = A[v, 0]
            for w in range(5):
                B[v, w + 1] = B[v, w] + A[v, w + 1]
""")
    np.testing.assert_allclose(legato.compile(kernel)(X), X.cumsum(1), rtol=1e-5)


def test_a_variable_gets_its_value_later():
    kernel = parse("""
@T.prim_func
def search(A: T.Buffer((9,), "float32"), V: T.Buffer((5,), "float32"), P: T.Buffer((5,), "int64")):
    for v in range(5):
        low: T.int64
        high: T.int64
        low = T.int64(0)
        high = T.int64(9)
        while low < high:
            if A[low + T.shift_right(high - low, T.int64(1))] < V[v]:
                low = low + T.shift_right(high - low, T.int64(1)) + T.int64(1)
            else:
                high = low + T.shift_right(high - low, T.int64(1))
        P[v] = low
""")
    a, v = np.sort(X.ravel()[:9]), X.ravel()[9:14]
    np.testing.assert_array_equal(legato.compile(kernel)(a, v), np.searchsorted(a, v))


@pytest.mark.parametrize("statement, why", [
    ("x: T.Buffer", "a variable may get it later: x: T.float32"), ('T.attr({"thread_extent": 4})', "T.attr is not supported"),
    ('T.attr({"pragma_scope": "seq", "thread_extent": 4})', "T.attr is not supported")])
def test_what_is_refused(statement, why):
    with pytest.raises(legato.LegatoError, match=why):
        parse(f"""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    {statement}
    for i in range(4):
        B[i] = A[i]
""")


@pytest.mark.parametrize("target", ["llvm", "llvm{check-bounds=true fill-memory=true}"])
def test_a_predicate_leaves_out_the_last_steps(target):
    """A split of 16 rows by 5, whose parts are fused again."""
    kernel = parse("""
@T.prim_func
def double(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    for f in range(20):
        for j in T.unroll(12):
            with T.sblock("C"):
                vi = T.axis.spatial(16, f)
                vj = T.axis.spatial(12, j)
                T.where(f // 5 * 5 + f % 5 < 16)
                C[vi, vj] = A[vi, vj] * T.float32(2)
""")
    a = np.arange(192, dtype=np.float32).reshape(16, 12)
    np.testing.assert_array_equal(legato.compile(kernel, target)(a), 2 * a)
