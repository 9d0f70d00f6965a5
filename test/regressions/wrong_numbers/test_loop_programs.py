"""Kernels of several loop nests compute what Python computes of their text, on each CPU level, in place and with symbolic sizes."""
import numpy as np
import pytest
from loop_programs import loop_program, numbers

import legato
from legato import tir as T
from legato.core.cpu import missing_features
from legato.script import parse

LEVELS = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    program = loop_program(seed)
    exe = legato.compile(parse(program.text), LEVELS[seed % len(LEVELS)])
    for n in (0, 1, 5):
        given = {one.name: numbers(program.shape(one.name, n), seed) for one in exe.inputs}
        want = program.run(given, n)
        got = exe(*given.values())
        for output, array in zip(exe.outputs, got if len(exe.outputs) > 1 else [got], strict=True):
            name = output.name.removesuffix("_out")
            np.testing.assert_allclose(array, want[name], rtol=1e-5, atol=1e-5, err_msg=f"{program.text}\n{name}, n = {n}")


@T.prim_func
def diagonal_in_place(A: T.Buffer((4,), "float32"), C: T.Buffer((4, 4), "float32")):
    for i in range(4):
        C[i, i] = C[i, i] + A[i]


@T.prim_func
def diagonal_over_rest(A: T.Buffer((4,), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        C[i, j] = 1.5
    for i in range(4):
        C[i, i] = A[i]


@T.prim_func
def filled_diagonal(C: T.Buffer((3, 3), "float32")):
    for i, j in T.grid(3, 3):
        C[i, j] = 0.0
    for i in range(3):
        C[i, i] = 3.0


@T.prim_func
def skewed_in_place(A: T.Buffer((4,), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 2):
        C[i, j * 4 + i] = T.max(C[i, j * 4 + i], A[i])


@T.prim_func
def reads_what_it_did_not_write(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    C[0] = A[1]
    for i in range(4):
        C[i] = A[i] - C[i]


@T.prim_func
def reads_more_than_a_block_wrote(A: T.Buffer((5, 5), "float32"), C: T.Buffer((5,), "float32")):
    for i0, i1 in T.grid(1, 5):
        with T.block("b"):
            vi0 = T.axis.spatial(1, i0)
            _vi1 = T.axis.reduce(5, i1)
            with T.init():
                C[vi0] = 1.0
            C[vi0] = C[vi0] * 2.0
    for i0 in range(5):
        C[i0] = T.min(C[i0], A[i0, i0])


def skewed(a, c):
    c = c.copy()
    for i in range(4):
        c[i, [i, i + 4]] = np.maximum(c[i, [i, i + 4]], a[i])
    return c


def mixed(a):
    c = np.zeros(4, np.float32)
    c[0] = a[1]
    return a - c


FOUND = {
    diagonal_in_place: ([(4,), (4, 4)], lambda a, c: c + np.diag(a)),
    diagonal_over_rest: ([(4,)], lambda a: np.where(np.eye(4), np.diag(a), np.float32(1.5))),
    filled_diagonal: ([], lambda: 3 * np.eye(3, dtype=np.float32)),
    skewed_in_place: ([(4,), (4, 8)], skewed),
    reads_what_it_did_not_write: ([(4,)], mixed),
    reads_more_than_a_block_wrote: ([(5, 5)], lambda a: np.minimum(np.array([32, 0, 0, 0, 0], np.float32), a.diagonal())),
}


@pytest.mark.parametrize("kernel", FOUND, ids=lambda k: k.__name__)
def test_what_random_programs_found(kernel):
    shapes, reference = FOUND[kernel]
    exe = legato.compile(kernel)
    given = [numbers(shape, 1 + n) for n, shape in enumerate(shapes)]
    for _ in range(3):
        np.full((4, 4), 7.5, np.float32)
        np.testing.assert_array_equal(exe(*given), reference(*given))
