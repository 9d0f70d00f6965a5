"""tile_product on kernels whose rows, columns, depth and batch are several axes each: against numpy, and what it refuses."""
import numpy as np
import pytest
from thoroughly import first_of

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

F = np.float32


@T.prim_func
def strided(X: T.Buffer((2, 11, 9, 3), "float32"), W: T.Buffer((3, 2, 3, 5), "float32"), Y: T.Buffer((2, 5, 8, 5), "float32")):
    for n, h, w, f, kh, kw, c in T.grid(2, 5, 8, 5, 3, 2, 3):
        with T.block("P"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = 0.0
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh * 2 + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


def strided_reference(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))[:, ::2]
    return np.einsum("nhwcij,ijcf->nhwf", windows, w)


@T.prim_func
def transposed(A: T.Buffer((3, 7, 10), "float32"), B: T.Buffer((3, 13, 7), "float32"), C: T.Buffer((3, 10, 13), "float32")):
    for b, i, j, k in T.grid(3, 10, 13, 7):
        with T.block("P"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] = A[vb, vk, vi] * B[vb, vj, vk] + C[vb, vi, vj]


@T.prim_func
def columns_first(A: T.Buffer((6, 9), "float32"), B: T.Buffer((9, 11), "float32"), C: T.Buffer((11, 6), "float32")):
    for i, j, k in T.grid(6, 11, 9):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vj, vi] = 1.5
            C[vj, vi] = C[vj, vi] + A[vi, vk] * B[vk, vj]


@T.prim_func
def symbolic(A: T.Buffer(("b", "n", "k"), "float32"), B: T.Buffer(("k", 6), "float32"), C: T.Buffer(("b", "n", 6), "float32")):
    for b, i, j, k in T.grid(A.shape[0], A.shape[1], 6, A.shape[2]):
        with T.block("P"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vk, vj]


@T.prim_func
def broadcast(A: T.Buffer((2, 1, 7, 5), "float32"), B: T.Buffer((1, 3, 5, 6), "float32"), C: T.Buffer((2, 3, 7, 6), "float32")):
    for a, b, one, i, j, k in T.grid(2, 3, 1, 7, 6, 5):
        with T.block("P"):
            va, vb, v1, vi, vj, vk = T.axis.remap("SSSSSR", [a, b, one, i, j, k])
            with T.init():
                C[va, vb, vi, vj] = 0.0
            C[va, vb, vi, vj] = C[va, vb, vi, vj] + A[va, v1, vi, vk] * B[v1, vb, vk, vj]


CASES = {
    "strided": (strided, strided_reference, [((2, 11, 9, 3), (3, 2, 3, 5))]),
    "transposed": (transposed, lambda a, b: np.einsum("bki,bjk->bij", a, b), [((3, 7, 10), (3, 13, 7))]),
    "columns_first": (columns_first, lambda a, b: 1.5 + np.einsum("ik,kj->ji", a, b), [((6, 9), (9, 11))]),
    "broadcast": (broadcast, np.matmul, [((2, 1, 7, 5), (1, 3, 5, 6))]),
    "symbolic": (symbolic, np.matmul, [((2, 5, 4), (4, 6)), ((3, 1, 9), (9, 6)), ((0, 3, 2), (2, 6)), ((1, 17, 0), (0, 6))]),
}


def check(sch, kernel, reference, shapes):
    """The scheduled kernel computes what numpy does, and its trace makes it again."""
    exe = legato.compile(sch.module)
    random = np.random.default_rng(0)
    for each in shapes:
        arrays = [random.standard_normal(shape).astype(F) for shape in each]
        np.testing.assert_allclose(exe(*arrays), reference(*arrays), rtol=1e-4, atol=1e-5)
    assert str(Schedule(kernel).replay(sch.trace)) == str(sch)


@pytest.mark.parametrize("tiles", [[4, 5, 3], [16, 8, 64]], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_tiles_compute_the_product(name, tiles):
    kernel, reference, shapes = CASES[name]
    sch = Schedule(kernel)
    sch.tile_product(sch.get_block("P"), tiles)
    check(sch, kernel, reference, shapes)


@pytest.mark.parametrize("slices", first_of([3, 2]))
@pytest.mark.parametrize("name", [name for name in CASES if name != "columns_first"])
def test_slices_of_the_depth_add_up_to_the_product(name, slices):
    kernel, reference, shapes = CASES[name]
    sch = Schedule(kernel)
    *_, part, _ = made = sch.tile_product(sch.get_block("P"), [4, 5, 2], slices=slices)
    assert len(made) == 6 and sch.get_loops(part)[3].name == "s"
    check(sch, kernel, reference, shapes)


def test_operands_keep_what_is_next_to_each_other():
    """A tile of the first operand lies as the operand does; the second one's always has the columns last."""
    sch = Schedule(transposed)
    _, left, right, *_ = sch.tile_product(sch.get_block("P"), [4, 8, 2])
    assert [loop.name for loop in sch.get_loops(left)[-2:]] == ["k", "m"] and "memref<2x4xf32>" in str(sch)
    assert [loop.name for loop in sch.get_loops(right)[-2:]] == ["n", "k"] and "memref<2x8xf32>" in str(sch)


def test_what_is_no_product_is_refused():
    @T.prim_func
    def sums(A: T.Buffer((6, 9), "float32"), C: T.Buffer((6,), "float32")):
        for i, k in T.grid(6, 9):
            with T.block("P"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]

    sch = Schedule(sums)
    for tiles, reason in (([4, 4, 4], "tile_product: block 'P' is no sum of products of two elements: it does not read two elements"),
                          ([4, 4], r"takes three sizes, of rows, columns and depth; not \[4, 4\]")):
        with pytest.raises(ScheduleError, match=reason):
            sch.tile_product(sch.get_block("P"), tiles)
    started = Schedule(columns_first)
    for slices, reason in ((0, "takes a positive number of slices of the depth, not 0"), (2, "starts from another value than 0")):
        with pytest.raises(ScheduleError, match=reason):
            started.tile_product(started.get_block("P"), [4, 4, 4], slices=slices)
    split = Schedule(transposed)
    split.split(split.get_loops(split.get_block("P"))[1], [None, 4])
    with pytest.raises(ScheduleError, match="each axis of block 'P' has to be one loop over all its values"):
        split.tile_product(split.get_block("P"), [4, 4, 4])
