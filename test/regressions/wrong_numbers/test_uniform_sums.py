"""What a reduction adds at each step may depend on the steps of other loops alone. Upstream's vectorizer combines such a value once in
place of once for each step: such loops stay scalar.
"""
import numpy as np
import pytest

import legato
from legato.script import parse

HEAD = """
@T.prim_func
def kernel({inputs}Y: T.Buffer((4,), "int64")):
    for i, j, k in T.grid(4, 3, {n}):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("{kinds}", [i, j, k])
            with T.init():
                Y[vi] = T.int64(0)
            Y[vi] = Y[vi] + {term}
"""
ROWS = """
@T.prim_func
def rows(A: T.Buffer((16,), "int64"), Y: T.Buffer((4, 16), "int64")):
    S = T.alloc_buffer((4,), "int64")
    for i, j in T.grid(4, 16):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.int64(0)
            S[vi] = S[vi] + T.Cast("int64", vi)
    for i, j in T.grid(4, 16):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = S[vi] + A[vj]
"""
I, J = np.arange(4), np.arange(3)
A = np.array([5, 7, -2])


@pytest.mark.parametrize("term, expected", [
    ('T.Cast("int64", vi)', 3 * I), ('T.Cast("int64", vj)', np.full(4, J.sum())), ("A[vj]", np.full(4, A.sum())),
    ('T.Cast("int64", vi * vj)', I * J.sum()), ('T.Cast("int64", vk)', None)], ids=["row", "step", "element", "both", "lane"])
def test_a_term_of_other_loops(term, expected):
    modules = {n: parse(HEAD.format(inputs='A: T.Buffer((3,), "int64"), ', n=n, kinds="SRR", term=term)) for n in (5, 16)}
    for n, module in modules.items():
        result = legato.compile(module)(A)
        np.testing.assert_array_equal(result, np.full(4, 3 * sum(range(n))) if expected is None else n * expected)


def test_a_term_of_the_row_in_rows():
    a = np.arange(16)
    np.testing.assert_array_equal(legato.compile(parse(ROWS))(a), 16 * I[:, None] + a)
