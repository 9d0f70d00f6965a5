"""The index map of a layout: what it may be, a function or a text, and what it cannot."""
import numpy as np
import pytest

import legato
from legato import tir as T


@T.prim_func
def twice_and_one(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    C = T.alloc_buffer((8, 6), "float32")
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] + T.float32(1)


def transformed(given):
    schedule = legato.Schedule(twice_and_one)
    schedule.transform_layout(schedule.get_block("C"), 0, given)
    return schedule


def fails(i, j):
    return {}[i]


@pytest.mark.parametrize("given", ["(i, j) -> (j, i)", "affine_map<(i, j) -> (i floordiv 4, j, i mod 4)>", lambda i, j: [j, i],
                                   lambda i, j: (7 - i, j), lambda i, j: (i // 4, j, i - i // 4 * 4)])
def test_a_layout_changes_no_result(given):
    x = np.arange(48, dtype=np.float32).reshape(8, 6)
    np.testing.assert_array_equal(legato.compile(transformed(given).module)(x), 2 * x + 1)


@pytest.mark.parametrize("given, message", [
    ("nonsense", r"'nonsense' is no index map, such as '\(i, j\) -> \(j, i\)'"),
    (3, "an index map is a function of indices, .*not 3"),
    (lambda i, j: None, r"the index map \(schedule/test_index_maps.py:\d+\) returns indices, .*it returned None"),
    (lambda i, j: (), r"the index map \(.*\) returns no index"),
    (fails, r"the index map \(schedule/test_index_maps.py:\d+\) raised KeyError"),
    (lambda i, j: (i * 2.5, j), "in an index map, .* takes an index and an int, and found 2.5"),
    (lambda i, j: (i * j,), "takes an index and an int, and found another index"),
    (lambda i, j: (i // 0, j), "// takes an int of 1 or more, and found 0"),
    (lambda i: i, "the map takes 1 indices, and 'C' is"),
])
def test_it_is_refused(given, message):
    with pytest.raises(legato.LegatoError, match=message):
        transformed(given)
