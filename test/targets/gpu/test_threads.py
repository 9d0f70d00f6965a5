"""Kernels with loops bound to threads compute what numpy does, on the CPU with a thread for each thread of a block (see ``emulate``)."""
import numpy as np
import pytest
from emulate import barriers_of, emulated, inputs
from thoroughly import pairs, sampled, thorough
from threads_kernels import REFERENCES, matmul, matmul_tiled, transposed

import legato
from legato.core.ir_helpers import find
from legato.driver import llvm_ir
from legato.script import T

SIZES = {"n": 5, "m": 13, "k": 19}
BARRIERS = {"reversed_rows": 1, "rotated": 2, "double_buffer": 1, "matmul": 2, "matmul_tiled": 2, "matmul_any": 2, "softmax": 2,
            "under_condition": 1, "once": 1, "tree": 1, "histogram": 2, "from_the_step_before": 1, "every_other": 2, "fetched_twice": 1,
            "sizes_of_buffers": 1, "transposed": 1}


@pytest.mark.parametrize("kernel", REFERENCES, ids=lambda k: k.__name__)
def test_kernel(kernel):
    exe = emulated(kernel)
    arrays = inputs(exe, **SIZES)
    np.testing.assert_allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-5, atol=1e-5)
    assert barriers_of(kernel) == BARRIERS.get(kernel.__name__, 0)


def test_tiles_keep_their_padding():
    """What a kernel adds to rows in shared memory, which puts them into different banks."""
    assert "workgroup(%arg14 : memref<16x17xf32" in str(legato.lower(transposed, "nvvm", last="scheduled"))


@pytest.mark.parametrize("kernel,number", sampled([
    (k, n) for k in REFERENCES if k is not matmul_tiled for n in range(BARRIERS.get(k.__name__, 0))], 2, 2),
    ids=lambda v: v if isinstance(v, int) else v.__name__)
def test_without_a_barrier_it_goes_wrong(kernel, number):
    """Every barrier is needed, and the emulation sees it when one is missing: with some seeds, most times that these are tried."""
    def goes_wrong(seed):
        exe = emulated(kernel, without=[number], seed=seed)
        arrays = inputs(exe, **SIZES)
        return not np.allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-4, atol=1e-4)

    assert any(goes_wrong(seed) for seed in range(60))


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1000])
def test_sizes_that_are_no_multiples(n):
    add_one = next(k for k in REFERENCES if k.__name__ == "add_one")
    exe = emulated(add_one)
    x = np.linspace(-2, 2, n, dtype=np.float32)
    np.testing.assert_allclose(exe(x), np.exp(x) + np.float32(1), rtol=1e-5)


OPERATIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def rows(threads, columns, dtype, op):
    """The reduction of each row by so many threads."""
    limits = np.iinfo(dtype) if np.dtype(dtype).kind == "i" else np.finfo(dtype)
    number = int if np.dtype(dtype).kind == "i" else float
    initial = number({"sum": 0, "prod": 1, "max": limits.min, "min": limits.max}[op])

    @T.prim_func
    def reduced(A: T.Buffer((3, columns), dtype), B: T.Buffer((3,), dtype)):
        for bx in T.thread_binding(3, thread="blockIdx.x"):
            for ko in range((columns + threads - 1) // threads):
                for tx in T.thread_binding(threads, thread="threadIdx.x"):
                    with T.block("B"):
                        vi = T.axis.spatial(3, bx)
                        vk = T.axis.reduce(columns, ko * threads + tx)
                        T.where(ko * threads + tx < columns)
                        with T.init():
                            B[vi] = initial
                        if op == "sum":
                            B[vi] = B[vi] + A[vi, vk]
                        elif op == "prod":
                            B[vi] = B[vi] * A[vi, vk]
                        elif op == "max":
                            B[vi] = T.max(B[vi], A[vi, vk])
                        else:
                            B[vi] = T.min(B[vi], A[vi, vk])

    return reduced


def check_rows(threads, columns, dtype, op):
    exe = emulated(rows(threads, columns, dtype, op))
    random = np.random.default_rng(threads)
    if np.dtype(dtype).kind == "f":
        a = (random.random((3, columns)) + (0.5 if op == "prod" else -0.5)).astype(dtype)
    else:
        a = random.integers(-5, 6, (3, columns)).astype(dtype)
    wide = a.astype(np.float64) if np.dtype(dtype).kind == "f" else a
    want = OPERATIONS[op].reduce(wide, axis=-1, dtype=wide.dtype)
    tolerance = {"float16": 2e-2, "float32": 1e-4}.get(dtype, 1e-10)
    np.testing.assert_allclose(exe(a).astype(want.dtype), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("threads,columns", [(1, 5), (2, 9), (3, 3), (7, 20), (31, 64), (32, 100), (33, 50), (64, 64), (96, 200), (100, 99),
                                             (256, 1000), (1000, 1500), (1024, 1024)])
def test_sums_by_any_number_of_threads(threads, columns):
    """A tree, a butterfly in one warp, or in several."""
    check_rows(threads, columns, "float32", "sum")


@pytest.mark.parametrize("threads, dtype, op", pairs(
    [20, 64], ["float16", "float32", "int64", *thorough(["float64", "int8", "int32"])], OPERATIONS))
def test_reductions_of_all_types(threads, dtype, op):
    check_rows(threads, 30, dtype, op)


@T.prim_func
def groups(A: T.Buffer(("m", 70), "float32"), B: T.Buffer(("m",), "float32"), C: T.Buffer(("m",), "float32")):
    """Four rows in a block; the last block has less. Two results of one reduction, the second added to what was there."""
    m = A.shape[0]
    for bx in T.thread_binding((m + 3) // 4, thread="blockIdx.x"):
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            for ko in range(5):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    with T.block("both"):
                        vi = T.axis.spatial(m, bx * 4 + ty)
                        vk = T.axis.reduce(70, ko * 16 + tx)
                        T.where(bx * 4 + ty < m and ko * 16 + tx < 70)
                        with T.init():
                            B[vi] = T.float32(0)
                            C[vi] = T.float32(3)
                        B[vi] = B[vi] + A[vi, vk] * A[vi, vk]
                        C[vi] = T.max(C[vi], A[vi, vk] * 4.0)


@T.prim_func
def plane(A: T.Buffer((3, 10, 12), "float32"), B: T.Buffer((3,), "float32")):
    """Two axes are reduced, in a block of 12 by 10 threads and 2 in z, of which one is wanted."""
    for bx in T.thread_binding(3, thread="blockIdx.x"):
        for tz in T.thread_binding(2, thread="threadIdx.z"):
            for ty in T.thread_binding(10, thread="threadIdx.y"):
                for tx in T.thread_binding(12, thread="threadIdx.x"):
                    if tz == 1:
                        with T.block("B"):
                            vi, vj, vk = T.axis.remap("SRR", [bx, ty, tx])
                            with T.init():
                                B[vi] = T.float32(1)
                            B[vi] = B[vi] + A[vi, vj, vk]


@T.prim_func
def mean_and_rest(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    """A result that each thread has for itself."""
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            total = T.alloc_buffer((1,), scope="local")
            with T.block("total"):
                vz = T.axis.spatial(1, 0)
                vk = T.axis.reduce(64, tx)
                with T.init():
                    total[vz] = T.float32(0)
                total[vz] = total[vz] + A[bx, vk]
            B[bx, tx] = A[bx, tx] - total[0] / 64.0


def test_groups_of_threads_reduce_apart():
    exe = emulated(groups)
    (a,) = inputs(exe, m=10)
    squares, largest = exe(a)
    np.testing.assert_allclose(squares, (a * a).sum(-1), rtol=1e-5)
    np.testing.assert_allclose(largest, np.maximum(3, (a * 4).max(-1)), rtol=1e-6)


def test_several_axes_are_reduced_at_once():
    exe = emulated(plane)
    (a,) = inputs(exe)
    np.testing.assert_allclose(exe(a), a.sum((1, 2)) + 1, rtol=1e-5)


def test_a_result_for_each_thread():
    exe = emulated(mean_and_rest)
    (a,) = inputs(exe)
    np.testing.assert_allclose(exe(a), a - a.mean(-1, keepdims=True), atol=1e-6)


def test_what_is_moved_at_once_is_aligned():
    """Vectors of four become one load, or store, of 16 bytes; the quotients of a cooperative fetch are the same in all lanes."""
    text = str(legato.lower(matmul_tiled, "nvvm", last="outlined"))
    assert "vector.load %arg0" in text and "alignment = 16 : i64} : memref<128x64xf32>, vector<4xf32>" in text
    assert text.count("vector.store") == 6 and "workgroup(%arg3 : memref<64x8xf32, #gpu.address_space<workgroup>>" in text


@T.prim_func
def naive(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def scheduled_matmul():
    """As TVM's tutorials do it."""
    sch = legato.Schedule(naive)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    bi, ti, ii = sch.split(i, [2, 8, 4])
    bj, tj, jj = sch.split(j, [2, 8, 4])
    ko, ki = sch.split(k, [4, 8])
    sch.reorder(bi, bj, ti, tj, ko, ki, ii, jj)
    local = sch.cache_write(block, 0, "local")
    tiles = [sch.cache_read(block, n, "shared") for n in range(2)]
    for loop, thread in ((bi, "blockIdx.y"), (bj, "blockIdx.x"), (ti, "threadIdx.y"), (tj, "threadIdx.x")):
        sch.bind(loop, thread)
    sch.reverse_compute_at(local, tj)
    for tile in tiles:
        sch.compute_at(tile, ko)
        fetched = sch.fuse(*sch.get_loops(tile)[-2:])
        _, ty, tx, lanes = sch.split(fetched, [None, 8, 8, 4])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(lanes)
    sch.decompose_reduction(block, ko)
    return sch


def test_a_schedule_with_threads():
    sch = scheduled_matmul()
    exe = emulated(sch.module)
    a, b = inputs(exe)
    np.testing.assert_allclose(exe(a, b), a @ b, rtol=1e-5)
    lowered = legato.lower(sch.module, "nvvm", last="outlined")
    text = str(lowered)
    assert "memref<32x8xf32, #gpu.address_space<workgroup>>" in text and "memref.alloca() {alignment = 16 : i64} : memref<4x4xf32>" in text
    assert len(find(lowered.operation, "gpu.barrier")) == 2 and text.count("vector.load") == 2


@T.prim_func
def row_sums(A: T.Buffer((6, 130), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 130):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]


def bound_reduction():
    sch = legato.Schedule(row_sums)
    i, k = sch.get_loops(sch.get_block("B"))
    _, ki = sch.split(k, [None, 32])
    sch.bind(i, "blockIdx.x")
    sch.bind(ki, "threadIdx.x")
    return sch.module


def rfactored_reduction():
    sch = legato.Schedule(row_sums)
    _, ki = sch.split(sch.get_loops(sch.get_block("B"))[1], [5, 26])
    parts = sch.rfactor(ki, 0)
    i, k = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    sch.set_scope(parts, 0, "shared")
    sch.compute_at(parts, i)
    _, steps, thread = sch.get_loops(parts)
    sch.reorder(thread, steps)
    sch.bind(thread, "threadIdx.x")
    return sch.module


@pytest.mark.parametrize("schedule,barriers", [(bound_reduction, 0), (rfactored_reduction, 5)])
def test_a_scheduled_reduction(schedule, barriers):
    """In one warp by shuffles; by 26 threads in shared memory."""
    exe = emulated(schedule())
    (a,) = inputs(exe)
    np.testing.assert_allclose(exe(a), a.sum(-1), rtol=1e-5)
    assert barriers_of(schedule()) == barriers


@T.prim_func
def exponentials(A: T.Buffer((10, 50), "float32"), B: T.Buffer((10, 50), "float32")):
    for i, j in T.grid(10, 50):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj])


def test_a_scheduled_elementwise_kernel():
    """Its indices are quotients of what a block's index is in; it shares no memory, and needs no barrier."""
    sch = legato.Schedule(exponentials)
    bx, tx, lanes = sch.split(sch.fuse(*sch.get_loops(sch.get_block("B"))), [None, 32, 4])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(lanes)
    exe = emulated(sch.module)
    (a,) = inputs(exe)
    np.testing.assert_allclose(exe(a), np.exp(a), rtol=1e-5)
    assert barriers_of(sch.module) == 0


def test_an_attached_schedule_is_taken():
    """As text, in place of the target's own mapping."""
    sch = legato.Schedule(row_sums)
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "blockIdx.x")
    module = legato.attach_schedule(row_sums, "row_sums", sch.trace)
    text = str(legato.lower(module, "nvvm", last="outlined"))
    assert "blocks in (%c6, %c1, %c1) threads in (%c1, %c1, %c1)" in text


def test_on_the_cpu_the_threads_run_one_after_the_other():
    sch = scheduled_matmul()
    exe = legato.compile(sch.module)
    a, b = inputs(exe)
    np.testing.assert_allclose(exe(a, b), a @ b, rtol=1e-5)


def test_as_far_as_llvm_ir():
    """Two barriers; two buffers of 1 KB, aligned; the number of threads."""
    code = llvm_ir(legato.lower(matmul, "nvvm"))
    assert code.count("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)") == 2
    shared = [line for line in code.splitlines() if "addrspace(3) global" in line]
    assert len(shared) == 2 and all("[256 x float]" in line and line.endswith("align 128") for line in shared)
    assert '"nvvm.maxntid"="16,16,1"' in code


CPU = ("once", "softmax", "rfactored", "from_the_step_before", "cube")


@pytest.mark.parametrize("kernel", [k for k in REFERENCES if k.__name__ in CPU], ids=lambda k: k.__name__)
def test_on_the_cpu(kernel):
    exe = legato.compile(kernel)
    arrays = inputs(exe, **SIZES)
    np.testing.assert_allclose(exe(*arrays), REFERENCES[kernel](*arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [k for k in REFERENCES if k.__name__ in ("matmul", "rotated", "under_condition", "double_buffer")],
                         ids=lambda k: k.__name__)
def test_threads_that_wait_for_each_other_are_refused_on_the_cpu(kernel):
    """Where the steps of one loop would have to run in turns."""
    with pytest.raises(legato.LegatoError, match=r"the steps of the loop t[xy], bound to threadIdx.[xy], use each other's elements"):
        legato.compile(kernel)
