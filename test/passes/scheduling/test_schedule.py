# ruff: noqa: RUF059 (loops that a test does not name)
"""Schedule primitives: what each does to the loops, that the numbers stay, that the trace replays, and what is refused."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T

F = np.float32


@T.prim_func
def matmul_relu(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 32), "float32"), D: T.Buffer((16, 32), "float32")):
    C = T.alloc_buffer((16, 32), "float32")
    for i, j, k in T.grid(16, 32, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def three_steps(A: T.Buffer((30, 40), "float32"), D: T.Buffer((30, 40), "float32")):
    B = T.alloc_buffer((30, 40), "float32")
    C = T.alloc_buffer((30, 40), "float32")
    for i, j in T.grid(30, 40):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(30, 40):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
    for i, j in T.grid(30, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * C[vi, vj]


@T.prim_func
def row_sum(A: T.Buffer((8, 96), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 96):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def blur(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((34,), "float32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] * 0.5
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


REFERENCES = {
    matmul_relu: lambda a, b: np.maximum(a @ b, 0), three_steps: lambda a: (a * 2 + 1) ** 2, row_sum: lambda a: a.sum(-1),
    blur: lambda a: (a[:-2] + a[1:-1] + a[2:]) / 2,
}


def loops(sch, block):
    return sch.get_loops(sch.get_block(block))


def names(sch, block):
    return [(loop.name, loop.extent, loop.operation.opview.kind) for loop in loops(sch, block)]


def split(sch):
    i, j, k = loops(sch, "C")
    sch.split(j, [None, 8])
    sch.split(k, [2, 3, None])
    assert [n[:2] for n in names(sch, "C")] == [("i", 16), ("j_0", 4), ("j_1", 8), ("k_0", 2), ("k_1", 3), ("k_2", 4)]


def split_with_a_rest(sch):
    i, j = loops(sch, "B")
    sch.split(j, [None, 16])
    assert "arith.cmpi slt" in str(sch) and "scf.if" in str(sch)


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


def cache_read(sch):
    copied = sch.cache_read(sch.get_block("C"), 0, "shared")
    assert copied.name == "A_shared" and 'scope = "shared"' in str(sch)


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


CASES = [
    (matmul_relu, split), (three_steps, split_with_a_rest), (three_steps, fuse), (matmul_relu, reorder), (three_steps, parallel),
    (matmul_relu, unroll), (three_steps, bind), (matmul_relu, cache_read), (matmul_relu, cache_write), (three_steps, compute_at),
    (blur, compute_at_a_window), (matmul_relu, compute_a_reduction_at),
    (matmul_relu, reverse_compute_at), (three_steps, compute_inline), (three_steps, reverse_compute_inline),
    (matmul_relu, decompose_reduction), (row_sum, rfactor), (matmul_relu, set_scope), (matmul_relu, transform_layout),
]


def values(kernel, module, first=None):
    exe = legato.compile(module, first=first)
    rng = np.random.default_rng(0)
    arrays = [(rng.random(p.shape) - 0.5).astype(F) for p in exe.inputs]
    return exe(*arrays), REFERENCES[kernel](*arrays)


@pytest.mark.parametrize(("kernel", "primitive"), CASES, ids=lambda c: c.__name__)
def test_primitive(kernel, primitive):
    sch = Schedule(kernel)
    primitive(sch)
    got, want = values(kernel, sch.module)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    again = Schedule(kernel).replay(sch.trace)
    assert str(again) == str(sch) and again.trace == sch.trace


def refuse(kernel, message):
    def mark(function):
        REFUSED.append((kernel, function, message))
        return function

    return mark


REFUSED = []


@refuse(matmul_relu, "there is no block 'E' in @matmul_relu, whose blocks are: C, D")
def no_block(sch):
    sch.get_block("E")


@refuse(matmul_relu, "the axis vk of block 'C' is reduced over the loop k: its steps write the same place")
def parallel_reduction(sch):
    sch.parallel(loops(sch, "C")[2])


@refuse(matmul_relu, "does not write along the last dimension of its buffer over i")
def vectorize_across(sch):
    sch.vectorize(loops(sch, "C")[0])


@refuse(matmul_relu, "the factors .3, 4. make 12 steps, and the loop i has 16")
def factors(sch):
    sch.split(loops(sch, "C")[0], [3, 4])


@refuse(matmul_relu, "the loop k does not stand directly in i, alone")
def fuse_far(sch):
    i, j, k = loops(sch, "C")
    sch.fuse(i, k)


@refuse(matmul_relu, "the loop i is not one of the loops around")
def reorder_others(sch):
    sch.reorder(loops(sch, "C")[2], loops(sch, "D")[0])


@refuse(matmul_relu, "'D' is an output of the kernel, all of it has to be computed")
def compute_output(sch):
    sch.compute_at(sch.get_block("D"), loops(sch, "C")[0])


@refuse(matmul_relu, "block 'C' is not finished within a step of k")
def consume_too_early(sch):
    sch.reverse_compute_at(sch.get_block("D"), loops(sch, "C")[2])


@refuse(matmul_relu, "block 'C' is a reduction")
def inline_reduction(sch):
    sch.compute_inline(sch.get_block("C"))


@refuse(three_steps, "'D' is a parameter of the kernel")
def inline_output(sch):
    sch.compute_inline(sch.get_block("D"))


@refuse(matmul_relu, "also reduces over k, outside of j")
def decompose_inside(sch):
    i, j, k = loops(sch, "C")
    sch.reorder(k, i, j)
    sch.decompose_reduction(sch.get_block("C"), j)


@refuse(row_sum, "nothing is left to reduce in block 'B' in one step of k")
def rfactor_all(sch):
    sch.rfactor(loops(sch, "B")[1], 0)


@refuse(matmul_relu, "there are the threads .* not 'threadIdx.q'")
def bind_unknown(sch):
    sch.bind(loops(sch, "D")[0], "threadIdx.q")


@refuse(matmul_relu, "threadIdx.x is bound to the loop i already")
def bind_twice(sch):
    i, j = loops(sch, "D")
    sch.bind(i, "threadIdx.x")
    sch.bind(j, "threadIdx.x")


@refuse(matmul_relu, "the map puts two elements into one place")
def layout_that_loses(sch):
    sch.transform_layout(sch.get_block("C"), ("write", 0), lambda i, j: (i, j % 8))


@refuse(matmul_relu, "this loop or block is gone, an earlier step has put others in its place")
def gone(sch):
    i = loops(sch, "C")[0]
    sch.split(i, [None, 4])
    sch.parallel(i)


@refuse(matmul_relu, "block 'C' reads 2 buffers; there is no number 2")
def cache_what_is_not_read(sch):
    sch.cache_read(sch.get_block("C"), 2, "local")


@pytest.mark.parametrize(("kernel", "step", "message"), REFUSED, ids=lambda c: getattr(c, "__name__", ""))
def test_refused_with_the_reason(kernel, step, message):
    with pytest.raises(ScheduleError, match=message):
        step(Schedule(kernel))


def test_a_refused_step_leaves_the_kernel_as_it_was():
    sch = Schedule(matmul_relu)
    before, trace = str(sch), sch.trace
    for kernel, step, _ in REFUSED:
        if kernel is matmul_relu and step in (parallel_reduction, vectorize_across, factors, fuse_far, compute_output, consume_too_early):
            with pytest.raises(ScheduleError):
                step(sch)
    assert str(sch) == before
    assert [line for line in sch.trace.splitlines() if "get_" not in line] == trace.splitlines()


def test_an_attached_schedule_is_used_instead_of_the_targets_own():
    sch = Schedule(matmul_relu)
    reverse_compute_at(sch)
    attached = legato.attach_schedule(matmul_relu, "matmul_relu", sch.trace)
    assert "tir.schedule = @schedule_of_matmul_relu" in str(attached)
    again = legato.Module.parse(str(attached))
    got, want = values(matmul_relu, again)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    lowered = str(legato.lower(again, last="scheduled"))
    assert "transform." not in lowered and "memref<4x8xf32>" in lowered


def test_a_script_that_matches_nothing_is_an_error():
    sch = Schedule(matmul_relu)
    split(sch)
    with pytest.raises(ScheduleError, match=r"there is no block 'C' in @blur2|extent|no block"):
        Schedule(row_sum).replay(sch.trace)


def test_a_structured_kernel_is_scheduled_too():
    legalized = legato.lower(matmul_relu, last="fused")
    sch = Schedule(legalized)
    c = sch.get_block("contract")
    i, j, k = sch.get_loops(c)
    sch.split(j, [None, 8])
    sch.parallel(i)
    got, want = values(matmul_relu, sch.module, first="fused")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@T.prim_func
def conv(X: T.Buffer((1, 10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 32), "float32"), Y: T.Buffer((1, 8, 8, 32), "float32")):
    for n, h, w, f, kh, kw, c in T.grid(1, 8, 8, 32, 3, 3, 4):
        with T.block("conv"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


def test_a_convolution_with_its_tile_in_registers():
    """The schedule that reaches the peak: its local buffer is one tile, also where a loop of one step is around."""
    sch = Schedule(conv)
    block = sch.get_block("conv")
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
    x, k = np.random.rand(1, 10, 10, 4).astype(F), np.random.rand(3, 3, 4, 32).astype(F)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    np.testing.assert_allclose(legato.compile(sch.module)(x, k), np.einsum("nhwcij,ijcf->nhwf", windows, k), rtol=1e-4)
