"""An init that writes other elements than its block's body runs in turns with the body, as the loops say: such kernels stay loops."""
import numpy as np
import pytest
from thoroughly import sampled

import legato
from legato import tir as T
from legato.driver import lower
from legato.report import Report

LEVELS = ("llvm", "llvm{cpu=x86-64-v2}")


@T.prim_func
def into_first(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = 10.0
    for i, k in T.grid(4, 3):
        with T.block("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[0] = 5.0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def shifted(A: T.Buffer((4, 3), "float32"), C: T.Buffer((5,), "float32")):
    for i in range(5):
        C[i] = 10.0
    for i, k in T.grid(4, 3):
        with T.block("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi + 1] = 5.0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def turned(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = 10.0
    for i, k in T.grid(4, 3):
        with T.block("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[3 - vi] = 5.0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def transposed(A: T.Buffer((3, 3, 2), "float32"), C: T.Buffer((3, 3), "float32")):
    for i, j in T.grid(3, 3):
        C[i, j] = 10.0
    for i, j, k in T.grid(3, 3, 2):
        with T.block("s"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vj, vi] = 5.0
            C[vi, vj] = C[vi, vj] + A[vi, vj, vk]


@T.prim_func
def by_condition(A: T.Buffer((4, 3), "float32"), C: T.Buffer((5,), "float32")):
    for i in range(5):
        C[i] = 10.0
    for i, k in T.grid(4, 3):
        if k == 0:
            C[i + 1] = 5.0
        C[i] = C[i] + A[i, k]


@T.prim_func
def same_place(A: T.Buffer((4, 1, 3), "float32"), C: T.Buffer((4, 1), "float32")):
    for i, j, k in T.grid(4, 1, 3):
        with T.block("s"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, 0] = 5.0
            C[vi, vj] = C[vi, vj] + A[vi, vj, vk]


def init(place, update, size, shape):
    """What loops compute whose step (i, k) starts ``place(i)`` with 5 where k is 0, and adds A to ``update(i)``."""
    def run(a):
        c = np.full(size, 10, np.float32)
        for index in np.ndindex(*shape):
            *i, k = index
            if k == 0:
                c[place(*i)] = 5
            c[update(*i)] += a[index]
        return c
    return run


EXPECTED = {
    into_first: init(lambda i: 0, lambda i: i, 4, (4, 3)),
    shifted: init(lambda i: i + 1, lambda i: i, 5, (4, 3)),
    turned: init(lambda i: 3 - i, lambda i: i, 4, (4, 3)),
    transposed: init(lambda i, j: (j, i), lambda i, j: (i, j), (3, 3), (3, 3, 2)),
    by_condition: init(lambda i: i + 1, lambda i: i, 5, (4, 3)),
    same_place: init(lambda i, j: (i, j), lambda i, j: (i, j), (4, 1), (4, 1, 3)),
}


@pytest.mark.parametrize("target", sampled(LEVELS, 3))
@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda k: k.__name__)
def test_inits_run_in_turns_with_their_bodies(kernel, target):
    exe = legato.compile(kernel, target)
    given = np.random.default_rng(0).integers(-4, 5, [int(s) for s in exe.inputs[-1].shape]).astype(np.float32)
    np.testing.assert_array_equal(exe(*[given] * len(exe.inputs)), EXPECTED[kernel](given))


def test_an_init_of_the_same_element_is_raised():
    report = Report()
    lower(same_place.module(), last="legalized", report=report)
    assert report.details["raise-loops"] == {"same_place": "raised"}
