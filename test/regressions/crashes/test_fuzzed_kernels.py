"""Kernels written as plain loops that `make fuzz` found not to compile, as small as they still failed."""
import numpy as np
import pytest
from thoroughly import first_of

import legato
from legato.script import tir as T


@T.prim_func
def one_element_of_strided_rows(C: T.Buffer((8, 2), "float32")):
    """A vector of rank 0 was written to a buffer whose last stride is 2."""
    for i0, i1 in T.grid(1, 4):
        C[i1 * 2 + 1, i0 * 2 + 1] = 1.0


@T.prim_func
def vectors_along_the_outermost_loop(A: T.Buffer((8, 6), "float32"), C: T.Buffer((6, 6, 6), "float32")):
    """The schedule for x86-64 peeled the innermost loop, not that of the vectors."""
    for i0, i1, i2 in T.grid(6, 6, 3):
        C[i1, i2 * 2 + 1, i0] = A[i2, i1] * 2.0


@T.prim_func
def diagonal_of_a_cube(A: T.Buffer((3, 3, 3), "float32"), C: T.Buffer((3, 1), "float32")):
    """Dimensions that one loop indexes were collapsed."""
    for i0 in range(3):
        C[i0 % 3, i0 // 3] = A[i0, i0, i0] * 2.0


@T.prim_func
def diagonal_with_a_loop_between(A: T.Buffer((4, 5, 4), "float32"), C: T.Buffer((4, 5), "float32")):
    """Two loops were collapsed though one of them indexes a dimension elsewhere, too."""
    for i, j in T.grid(4, 5):
        C[i, j] = A[i, j, i]


@T.prim_func
def diagonal_across_vectors(A: T.Buffer((4, 14, 22), "float32"), C: T.Buffer((1, 32), "float32")):
    """Upstream vectorizes no operand that is read along a diagonal."""
    for i0, i1 in T.grid(8, 4):
        C[0, i0 * 4 + i1] = A[i1, i0, i0]


@T.prim_func
def quotient_of_an_element(I: T.Buffer((6,), "int32"), C: T.Buffer((4,), "float32")):
    """Whether all of the output is written was asked of a quotient of no loop's variable: a KeyError."""
    for i0 in range(4):
        C[i0] = 1.0
    for i0 in range(6):
        C[I[i0] // 2] = 2.0


@T.prim_func
def distance_of_indices(A: T.Buffer((4,), "float32"), C: T.Buffer((6,), "float32")):
    """GPUs have no math.absi of an index."""
    for i0 in range(6):
        C[i0] = A[T.abs(i0 - 3)] * 2.0


def strided():
    c = np.zeros((8, 2), np.float32)
    c[1::2, 1] = 1
    return c


def outermost(a):
    c = np.zeros((6, 6, 6), np.float32)
    c[:, 1::2] = 2 * a[:3].T[:, :, None]
    return c


KERNELS = {
    one_element_of_strided_rows: ([], strided),
    vectors_along_the_outermost_loop: ([(8, 6)], outermost),
    diagonal_of_a_cube: ([(3, 3, 3)], lambda a: 2 * np.einsum("iii->i", a)[:, None]),
    diagonal_with_a_loop_between: ([(4, 5, 4)], lambda a: np.einsum("iji->ij", a)),
    distance_of_indices: ([(4,)], lambda a: 2 * a[[3, 2, 1, 0, 1, 2]]),
    diagonal_across_vectors: ([(4, 14, 22)], lambda a: np.einsum("jii->ij", a[:, :8, :8]).reshape(1, 32)),
}


@pytest.mark.parametrize("target", first_of(["llvm", "llvm{cpu=x86-64}"]))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_compiles(kernel, target):
    shapes, reference = KERNELS[kernel]
    arrays = [np.random.default_rng(n).random(shape, np.float32) for n, shape in enumerate(shapes)]
    np.testing.assert_array_equal(legato.compile(kernel, target)(*arrays), reference(*arrays))


@pytest.mark.parametrize("target", ["llvm", "nvvm", "vulkan"])
def test_a_quotient_of_an_element(target):
    legato.lower(quotient_of_an_element, target)
    if target == "llvm":
        found = legato.compile(quotient_of_an_element, target)(np.array([0, 1, 4, 4, 7, 5], np.int32))
        assert found.tolist() == [2, 1, 2, 2]


@pytest.mark.parametrize("target", ["nvvm", "vulkan"])
def test_a_distance_of_indices_on_a_gpu(target):
    legato.lower(distance_of_indices, target)


@T.prim_func
def rows_of_sizes_of_two_arguments(a: T.handle, b: T.handle, y: T.handle):
    """The two readers of a row took its length from different arguments: fusion left a copy for each, and the schedule expects one."""
    m, k = T.int64(), T.int64()
    A = T.match_buffer(a, (k, m), "float32")  # noqa: F841 (it gives a size)
    B = T.match_buffer(b, (m, m), "float32")
    Y = T.match_buffer(y, (m, m), "float32")
    S = T.alloc_buffer((m,), "float32")
    U = T.alloc_buffer((m, m), "float32")
    R = T.alloc_buffer((m,), "float32")
    for i, j in T.grid(m, m):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vj] * B[vi, vj]
    for i, j in T.grid(m, m):
        with T.block("U"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = B[vi, vj] / (S[vi] + T.float32(1))
    for i, j in T.grid(m, m):
        with T.block("R"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + U[vi, vj] * U[vi, vj]
    for i, j in T.grid(m, m):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.tanh(B[vi, vj]) + U[vi, vj] / (R[vi] + T.float32(1))


def test_rows_of_sizes_of_two_arguments():
    b = np.random.default_rng(0).standard_normal((21, 21)).astype(np.float32)
    u = b / (np.square(b).sum(1, keepdims=True) + 1)
    wanted = np.tanh(b) + u / (np.square(u).sum(1, keepdims=True) + 1)
    np.testing.assert_allclose(legato.compile(rows_of_sizes_of_two_arguments)(np.zeros((2, 21), np.float32), b), wanted, 1e-5)
