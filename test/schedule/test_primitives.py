# ruff: noqa: RUF059 (loops that a test does not name)
"""Schedule primitives: what each does to the loops, that the numbers stay, and that the trace replays."""
import numpy as np
import pytest
from scheduled_kernels import F, blur, conv, loops, matmul_relu, names, row_sum, three_steps, values

import legato
from legato import Schedule
from legato.core.mlir import ir
from legato.schedule.index_map import places_of
from legato.script import tir as T


def split(sch):
    i, j, k = loops(sch, "C")
    sch.split(j, [None, 8])
    sch.split(k, [2, 3, None])
    assert [n[:2] for n in names(sch, "C")] == [("i", 16), ("j_0", 4), ("j_1", 8), ("k_0", 2), ("k_1", 3), ("k_2", 4)]


def split_with_a_rest(sch):
    i, j = loops(sch, "B")
    sch.split(j, [None, 16])
    assert "arith.cmpi slt" in str(sch) and "scf.if" in str(sch)


def merge(sch):
    """Nests of three blocks become one; the first one's loops stay, with their handles."""
    i, j = loops(sch, "B")
    merged = sch.merge(j, loops(sch, "C")[1], loops(sch, "D")[1])
    assert repr(merged) == repr(j) == "<for j_m>" and i.name == "i_m"
    assert [b.name for b in sch.get_child_blocks(j)] == ["B", "C", "D"]
    sch.parallel(i)


def merge_what_reads_rows(sch):
    """A row is finished where its reader, in the same step, begins."""
    sch.merge(loops(sch, "C")[0], loops(sch, "D")[0])
    assert [n[0] for n in names(sch, "D")] == ["i_m", "j"]


def loop_partition(sch):
    """The edges of a loop, each a loop of its own with blocks of its own; the middle is split as any loop."""
    i, j = loops(sch, "B")
    first, middle, last = sch.loop_partition(i, [2, None, 3])
    assert [(loop.name, loop.extent) for loop in (first, middle, last)] == [("i0", 2), ("i1", 25), ("i2", 3)]
    sch.split(middle, [None, 5])
    sch.parallel(last)
    assert [n[:2] for n in names(sch, "B_i1")] == [("i1_0", 5), ("i1_1", 5), ("j", 40)]
    sch.vectorize(sch.loop_partition(loops(sch, "B_i1")[-1], [4, 32], preserve_unit_iters=False)[1])


def partition_a_sum(sch):
    """Only the first part of the depth has the init."""
    sch.loop_partition(loops(sch, "C")[2], [1, 20], preserve_unit_iters=False)
    assert [sch.get(sch.get_block(f"C_k{n}")).opview.init_block is not None for n in range(3)] == [True, False, False]
    sch.decompose_reduction(sch.get_block("C_k0"), loops(sch, "C_k0")[0])


def fuse(sch):
    i, j = loops(sch, "B")
    sch.fuse(i, j)
    assert names(sch, "B") == [("i_j_fused", 1200, "serial")]


def reorder(sch):
    i, j, k = loops(sch, "C")
    sch.reorder(k, i)
    assert [n[0] for n in names(sch, "C")] == ["k", "j", "i"]
    assert i.name == "i"


def parallel(sch):
    i, j = loops(sch, "B")
    sch.parallel(i)
    sch.vectorize(j)
    assert [n[2] for n in names(sch, "B")] == ["parallel", "vectorized"]


def unroll(sch):
    i, j, k = loops(sch, "C")
    outer, inner = sch.split(k, [None, 4])
    sch.unroll(inner)
    assert names(sch, "C")[-1] == ("k_1", 4, "unrolled")


def bind(sch):
    i, j = loops(sch, "D")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    assert 'thread = "threadIdx.x"' in str(sch)


def split_what_is_bound(sch):
    """The outer loop takes the thread: the loop lost it, and was of the kind thread without one."""
    i, j = loops(sch, "D")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    outer, inner = sch.split(j, [None, 4])
    assert [loop.operation.opview.thread for loop in (outer, inner)] == ["threadIdx.x", None]
    assert sch.module.operation.verify()


def cache_read(sch):
    copied = sch.cache_read(sch.get_block("C"), 0, "shared")
    assert copied.name == "A_shared" and 'scope = "shared"' in str(sch)


def read_at_and_write_at(sch):
    """The copies stand at the beginning and at the end of a step, and handles to the block and its loops stay."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (i0, i1), (k0, k1) = sch.split(i, [None, 8]), sch.split(k, [None, 8])
    sch.reorder(i0, k0, i1, j, k1)
    copied, back = sch.read_at(k0, block, 0, "shared"), sch.write_at(i0, block, 0, "local")
    assert (copied.name, back.name) == ("A_shared", "C_local")
    assert [n[:2] for n in names(sch, "A_shared")] == [("i_0", 2), ("k_0", 3), ("ax0", 8), ("ax1", 8)]
    assert [n[:2] for n in names(sch, "C_local")] == [("i_0", 2), ("ax0", 8), ("ax1", 32)]
    sch.vectorize(sch.get_loops(copied)[-1])


def reindex(sch):
    turned = sch.reindex(sch.get_block("C"), ("read", 1))
    assert [n[:2] for n in names(sch, turned.name)] == [("ax0", 32), ("ax1", 24)] and "memref<32x24xf32>" in str(sch)


def cache_write(sch):
    copied = sch.cache_write(sch.get_block("D"), 0, "local")
    assert copied.name == "D_local" and str(sch).count("tir.block") == 3


def compute_at(sch):
    block = sch.get_block("B")
    sch.compute_at(block, loops(sch, "C")[0])
    assert [n[:2] for n in names(sch, "B")] == [("i", 30), ("ax1", 40)]


def compute_at_a_window(sch):
    outer, inner = sch.split(loops(sch, "C")[0], [None, 8])
    sch.compute_at(sch.get_block("B"), outer)
    assert names(sch, "B")[-1][:2] == ("ax0", 10)


def compute_a_reduction_at(sch):
    i, j = loops(sch, "D")
    j0, j1 = sch.split(j, [None, 8])
    sch.compute_at(sch.get_block("C"), j0)
    assert [n[:2] for n in names(sch, "C")] == [("i", 16), ("j_0", 4), ("ax1", 8), ("ax2", 24)]


def reverse_compute_at(sch):
    i, j, k = loops(sch, "C")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 8])
    sch.reorder(i0, j0, i1, j1, k)
    sch.reverse_compute_at(sch.get_block("D"), j0)
    assert [n[:2] for n in names(sch, "D")] == [("i_0", 4), ("j_0", 4), ("ax0", 4), ("ax1", 8)]


def compute_inline(sch):
    sch.compute_inline(sch.get_block("B"))
    sch.compute_inline(sch.get_block("C"))
    assert str(sch).count("tir.block") == 1 and "tir.alloc_buffer" not in str(sch)


def reverse_compute_inline(sch):
    sch.reverse_compute_inline(sch.get_block("C"))
    assert str(sch).count("tir.block") == 2


def decompose_reduction(sch):
    i, j, k = loops(sch, "C")
    sch.reorder(i, k, j)
    init = sch.decompose_reduction(sch.get_block("C"), k)
    assert init.name == "C_init" and [n[0] for n in names(sch, "C_init")] == ["i", "j_init"]


def decompose_reduction_with_rests(sch):
    i, j, k = loops(sch, "C")
    sch.split(i, [None, 3])
    sch.split(j, [None, 5])
    sch.split(k, [None, 7])
    sch.decompose_reduction(sch.get_block("C"), loops(sch, "C")[0])
    assert [n[:2] for n in names(sch, "C_init")] == [("i_0_init", 6), ("i_1_init", 3), ("j_0_init", 7), ("j_1_init", 5)]


def split_inside_of_a_block(sch):
    sch.blockize(loops(sch, "B")[1])
    sch.split(loops(sch, "B")[1], [None, 7])
    assert str(sch).count("scf.if") == 1


def rfactor(sch):
    i, k = loops(sch, "B")
    k0, k1 = sch.split(k, [None, 16])
    steps = sch.rfactor(k1, 0)
    assert steps.name == "B_rf" and "memref<16x8xf32>" in str(sch)
    assert [n[:2] for n in names(sch, "B")] == [("vi", 8), ("rf", 16)]


def set_scope(sch):
    sch.set_scope(sch.get_block("C"), 0, "shared")
    assert 'scope = "shared"' in str(sch)


def transform_layout(sch):
    sch.transform_layout(sch.get_block("C"), ("write", 0), lambda i, j: (j // 8, i, j % 8))
    assert "memref<4x16x8xf32>" in str(sch)


def test_layouts_that_skew_axes_are_found_without_their_points():
    """The least and greatest places of maps that exchange and skew axes; none for those that may put two elements into one place."""
    with ir.Context():
        def places(text):
            return places_of(ir.AffineMapAttr.parse(f"affine_map<{text}>").value, [4, 1 << 40])

        assert places("(i, j) -> (j, i)") == [(0, (1 << 40) - 1), (0, 3)]
        assert places("(i, j) -> (i, 2 * i - j + 7)") == [(0, 3), (8 - (1 << 40), 13)]
        assert places("(i, j) -> (4 * j + i)") == [(0, (1 << 42) - 1)]
        assert places("(i, j) -> (i, 2 * j)") == [(0, 3), (0, (1 << 41) - 2)]
        for text in ("(i, i)", "(3 * j + i)", "(i + j, i - j)", "(i * 9 + j)", "(i, j mod 4)"):
            assert places(f"(i, j) -> {text}") is None


def transform_block_layout(sch):
    i, j, k = loops(sch, "C")
    block = sch.get_block("C")
    sch.transform_block_layout(block, lambda i, j, k: (i * 32 + j, k % 4, k // 4))
    assert [n[:2] for n in names(sch, "C")] == [("ax0", 512), ("ax1", 4), ("ax2", 6)] and (repr(block), repr(i)) == ("<block C>", "<gone>")


def reorder_block_iter_var(sch):
    block = sch.get_block("C")
    sch.reorder_block_iter_var(block, [2, 0, 1])
    assert sch.get(block).opview.axes == ["vk", "vi", "vj"] and [n[0] for n in names(sch, "C")] == ["i", "j", "k"]


def tile_product(sch):
    init, left, right, product, result = sch.tile_product(sch.get_block("C"), [5, 16, 7])
    assert names(sch, "C") == [(n, e, "serial") for n, e in zip("bijlmnk", (1, 4, 2, 4, 5, 16, 7))]
    sch.reverse_compute_inline(sch.get_block("D"))
    sch.vectorize(sch.get_loops(product)[5])
    sch.unroll(sch.get_loops(result)[3])


CASES = [
    (matmul_relu, split), (three_steps, split_with_a_rest), (three_steps, merge), (matmul_relu, merge_what_reads_rows),
    (three_steps, loop_partition), (matmul_relu, partition_a_sum),
    (three_steps, fuse), (matmul_relu, reorder), (three_steps, parallel),
    (matmul_relu, unroll), (three_steps, bind), (three_steps, split_what_is_bound), (matmul_relu, cache_read), (matmul_relu, cache_write),
    (matmul_relu, read_at_and_write_at), (matmul_relu, reindex),
    (matmul_relu, transform_block_layout), (matmul_relu, reorder_block_iter_var),
    (three_steps, compute_at),
    (blur, compute_at_a_window), (matmul_relu, compute_a_reduction_at),
    (matmul_relu, reverse_compute_at), (three_steps, compute_inline), (three_steps, reverse_compute_inline),
    (matmul_relu, decompose_reduction), (matmul_relu, decompose_reduction_with_rests), (three_steps, split_inside_of_a_block),
    (row_sum, rfactor), (matmul_relu, set_scope), (matmul_relu, transform_layout),
    (matmul_relu, tile_product),
]


@pytest.mark.parametrize(("kernel", "primitive"), CASES, ids=lambda c: c.__name__)
def test_primitive(kernel, primitive):
    sch = Schedule(kernel)
    primitive(sch)
    got, want = values(kernel, sch.module)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    again = Schedule(kernel).replay(sch.trace)
    assert str(again) == str(sch) and again.trace == sch.trace


@T.prim_func
def one_term(A: T.Buffer((1, 8), "float32"), D: T.Buffer((8,), "float32")):
    for k, i in T.grid(1, 8):
        with T.block("D"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + A[vk, vi]


@pytest.mark.parametrize("factors", [[2, None], [1, None]])
def test_a_parallel_loop_of_one_step_split_into_more(factors):
    """It may be parallel though it reduces; the two steps that it becomes, of which one does nothing, are not."""
    sch = Schedule(one_term)
    loop, _ = sch.get_loops(sch.get_block("D"))
    sch.parallel(loop)
    outer, _ = sch.split(loop, factors)
    assert sch.get(outer).opview.kind == ("parallel" if factors[0] == 1 else "serial")
    terms = np.arange(8, dtype=F)
    np.testing.assert_array_equal(legato.compile(sch.module)(terms[None]), terms)


def test_a_loop_of_one_step_fused():
    """No axis over it takes the value of the fused loop, which may be parallel though that axis reduces."""
    sch = Schedule(one_term)
    sch.parallel(sch.fuse(*sch.get_loops(sch.get_block("D"))))
    terms = np.arange(8, dtype=F)
    np.testing.assert_array_equal(legato.compile(sch.module)(terms[None]), terms)


def test_a_convolution_with_its_tile_in_registers():
    """The schedule that reaches the peak: its local buffer is one tile, also where a loop of one step is around."""
    sch = Schedule(conv)
    block = sch.get_block("Y")
    n, h, w, f, kh, kw, c = sch.get_loops(block)
    copy = sch.cache_write(block, 0, "local")
    w0, w1 = sch.split(w, [None, 4])
    f0, f1 = sch.split(f, [None, 16])
    sch.reorder(n, f0, h, w0, kh, kw, c, w1, f1)
    sch.reverse_compute_at(copy, w0)
    init = sch.decompose_reduction(block, kh)
    for one in (block, init, copy):
        *_, rows, columns = sch.get_loops(one)
        sch.unroll(rows)
        sch.vectorize(columns)
    assert "memref.alloc() {alignment = 64 : i64} : memref<1x1x4x16xf32>" in str(legato.lower(sch.module, last="scheduled"))
    x, k = np.random.rand(2, 6, 6, 3).astype(F), np.random.rand(3, 3, 3, 16).astype(F)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    np.testing.assert_allclose(legato.compile(sch.module)(x, k), np.einsum("nhwcij,ijcf->nhwf", windows, k), rtol=1e-4)
