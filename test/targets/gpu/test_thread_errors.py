"""What cannot be on a GPU is refused, at the user's line, with what to do."""
import pytest

import legato
from legato.core.diagnostics import PassFailed
from legato.script import T


@T.prim_func
def too_many(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for ty in T.thread_binding(64, thread="threadIdx.y"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[ty, tx] = A[ty, tx]


@T.prim_func
def too_deep(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for tz in T.thread_binding(128, thread="threadIdx.z"):
        B[tz] = A[tz]


@T.prim_func
def two_blocks_at_once(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="blockIdx.x"):
            B[i, j] = A[i, j]


@T.prim_func
def two_indices_of_a_thread(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            B[i, j] = A[i, j]


@T.prim_func
def more_inside(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    s = T.alloc_buffer((8,), scope="shared")
    for _ in T.thread_binding(4, thread="threadIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            s[j] = A[j]
            B[j] = s[7 - j]


@T.prim_func
def in_parallel(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in T.parallel(8):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            B[i, tx] = A[i, tx]


@T.prim_func
def in_lanes(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.vectorized(8):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                B[tx, i] = A[bx + tx, i]


@T.prim_func
def too_much(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32")):
    s = T.alloc_buffer((128, 128), scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            for j in range(128):
                s[bx + tx, j] = A[tx, j]
            for j in range(128):
                B[tx, j] = s[j, tx]


@T.prim_func
def of_unknown_size(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    n = A.shape[0]
    s = T.alloc_buffer((n,), scope="shared")
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(n // 32):
                s[j * 32 + tx] = A[j * 32 + tx]
            for j in range(n // 32):
                B[j * 32 + tx] = s[n - 1 - j * 32 - tx]


@T.prim_func
def of_unknown_length(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for tx in T.thread_binding(A.shape[0], thread="threadIdx.x"):
        B[tx] = A[tx]


@T.prim_func
def from_memory(A: T.Buffer((4,), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in range(4):
        for bx in T.thread_binding(T.cast(A[i], "int64"), thread="blockIdx.x"):
            B[i, bx] = 1


@T.prim_func
def race_in_shared(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    last = T.alloc_buffer((1,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        last[0] = A[tx]
        B[tx] = last[0]


@T.prim_func
def race_in_some_calls(a: T.handle, B: T.Buffer((32,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    last = T.alloc_buffer((1,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        if tx < n:
            last[0] = A[tx]
        B[tx] = last[0]


@T.prim_func
def race_of_blocks(A: T.Buffer((8, 32), "float32"), B: T.Buffer((32,), "float32")):
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[tx] = A[bx, tx]


@T.prim_func
def from_other_block(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    x = T.alloc_buffer((8, 32), "float32")
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            x[bx, tx] = A[bx, tx]
            B[bx, tx] = x[(bx + 1) % 8, tx]


@T.prim_func
def two_ways(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    s = T.alloc_buffer((32,), scope="shared")
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            if tx < 16:
                s[tx] = A[tx]
            else:
                B[tx] = s[tx - 16]


@T.prim_func
def unlike_loops(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    s = T.alloc_buffer((32,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        s[tx] = A[tx]
        for _ in range(tx):
            s[tx] = s[31 - tx] + 1.0
        B[tx] = s[tx]


@T.prim_func
def as_long_as(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    s = T.alloc_buffer((32,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        s[tx] = A[tx]
        while s[tx] < 10.0:
            s[tx] = s[31 - tx] + 1.0
        B[tx] = s[tx]


@T.prim_func
def local_outside(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    x = T.alloc_buffer((1,), scope="local")
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            x[0] = A[tx]
        B[0] = x[0]


@T.prim_func
def local_of_another(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    x = T.alloc_buffer((33,), scope="local")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        x[tx] = A[tx]
        B[tx] = x[tx + 1]


@T.prim_func
def shared_of_another(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    s = T.alloc_buffer((4, 8), "float32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            s[bx, tx] = A[bx, tx]
        for i in range(4):
            B[i, tx] = s[i, tx]


@T.prim_func
def shared_by_one(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    s = T.alloc_buffer((8,), "float32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        s[tx] = A[tx]
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            B[bx, tx] = s[tx]


@T.prim_func
def started_by_other_blocks(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for bx in T.thread_binding(n, thread="blockIdx.x"):
        for by in T.thread_binding(8, thread="blockIdx.y"):
            B[bx, by] = 0.0
        for j, k in T.grid(8, 8):
            B[bx, j] = B[bx, j] + A[bx, k]


@T.prim_func
def shared_reversed(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    s = T.alloc_buffer((4, 8), "float32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            s[bx, tx] = A[bx, tx]
        for by in T.thread_binding(4, thread="blockIdx.x"):
            B[by, tx] = s[3 - by, tx]


@T.prim_func
def shared_between_launches(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    s = T.alloc_buffer((32,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        s[tx] = A[tx]
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[tx] = s[31 - tx]


@T.prim_func
def global_inside(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        x = T.alloc_buffer((1,), "float32")
        x[0] = A[tx]
        B[tx] = x[0]


@T.prim_func
def unknown_scope(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    x = T.alloc_buffer((32,), scope="wmma.accumulator")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        x[tx] = A[tx]
        B[tx] = x[tx]


@T.prim_func
def reduced_by_blocks(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        with T.block("B"):
            vi, vk = T.axis.spatial(1, 0), T.axis.reduce(32, bx)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vk]


@T.prim_func
def reduced_otherwise(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            vi, vk = T.axis.spatial(1, 0), T.axis.reduce(32, tx)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] - A[vk]


@T.prim_func
def reduced_around(A: T.Buffer((4, 8, 32), "float32"), B: T.Buffer((4,), "float32")):
    for ko in range(8):
        for i in range(4):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vo, vk = T.axis.remap("SRR", [i, ko, tx])
                    with T.init():
                        B[vi] = 0.0
                    B[vi] = B[vi] + A[vi, vo, vk]


@T.prim_func
def reduced_between(A: T.Buffer((4, 8, 32), "float32"), B: T.Buffer((4,), "float32")):
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for ko in range(8):
            for i in range(4):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("B"):
                        vi, vo, vk = T.axis.remap("SRR", [i, ko, tx])
                        with T.init():
                            B[vi] = 0.0
                        B[vi] = B[vi] + A[vi, vo, vk]


@T.prim_func
def one_thread_for_two_axes(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(8, tx // 4)
            vk = T.axis.reduce(4, tx % 4)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def beside_launches(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    for i in range(4):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[i, tx] = A[i, tx]
        B[i, 0] = 1.0


ERRORS = {
    too_many: r"at most 1024 threads; the loops bound to threadIdx ask for 64 \* 64 = 4096",
    too_deep: r"128 is no number of threads on threadIdx.z: there can be 1 to 64",
    two_blocks_at_once: r"the loops i and j, one inside of the other, are both bound to blockIdx.x: .*another axis",
    two_indices_of_a_thread: r"the loops i and j, .* both bound to threadIdx.x, and memref.load .* takes the value of i",
    more_inside: r"the loop j needs 8 threads on threadIdx.x, and stands in the loop _, which has 4",
    in_parallel: r"the loop tx is bound to threadIdx.x, inside of the parallel loop i",
    in_lanes: r"the loop tx is bound to threadIdx.x, inside of the vectorized loop i",
    too_much: r"the shared buffers of a block take 65536 bytes \(s: 65536\), and there are 49152",
    of_unknown_size: r"the size of the shared buffer s, memref<\?xf32>, is not known when the kernel is compiled",
    of_unknown_length: r"the extent of the loop tx, bound to threadIdx.x, is not known: .* bind the outer one to blockIdx",
    from_memory: r"memref.load stands in a loop around loops bound to threads|the extent of the loop bx, bound to blockIdx.x, comes from",
    race_in_shared: r"the threads \(threadIdx.x = 0\) and \(threadIdx.x = 1\) write the same element of last at the same time",
    race_in_some_calls: r"the threads \(threadIdx.x = 0\) and \(threadIdx.x = 1\) write the same element of last at the same time",
    race_of_blocks: r"the threads \(blockIdx.x = 0\) and \(blockIdx.x = 1\) write the same element of B at the same time",
    from_other_block: r"the blocks \(blockIdx.x = 0\) and \(blockIdx.x = 1\) meet in x, .*: blocks do not wait for each other",
    two_ways: r"some threads take one way of a condition and others the other, and they meet in s",
    unlike_loops: r"the loop _ has more steps in some threads than in others, and threads meet in it",
    as_long_as: r"threads meet in s, and need a barrier, inside of scf.while",
    local_outside: r"the local buffer x is written in a loop bound to threadIdx.x and read outside of it",
    local_of_another: r"the local buffer x is read where another thread writes it",
    shared_between_launches: r"the shared buffer s is used in several nests",
    shared_of_another: r"the shared buffer s is written in other loops bound to blockIdx.x than it is read in: each block has its own",
    shared_by_one: r"the shared buffer s is written in other loops bound to blockIdx.x than it is read in",
    started_by_other_blocks: r"B is written in other loops bound to blockIdx.y than it is read in: blocks do not wait for each other",
    shared_reversed: r"the blocks \(blockIdx.x = 0\) and \(blockIdx.x = 3\) meet in the shared buffer s, of which each has its own",
    global_inside: r"the buffer x is global, and made inside of loops bound to threads: give it the scope shared or local",
    unknown_scope: r"the buffer x has the scope 'wmma.accumulator', which this target does not have; it has: global, shared",
    reduced_by_blocks: r"block 'B' is reduced over blockIdx.x: blocks cannot add up what they have",
    reduced_otherwise: r"block 'B' is reduced over threads, and what it writes to B is not the sum, product, maximum or minimum",
    reduced_around: r"block 'B' is reduced over threads, and its axis vo also over the loop ko around the launch",
    reduced_between: r"block 'B' is reduced over threads, and the loop i, which is not reduced, stands inside of one that is",
    one_thread_for_two_axes: r"block 'B' is reduced over threadIdx.x, which also gives the values of an axis that is not reduced",
    beside_launches: r"memref.store stands in a loop around loops bound to threads, which runs on the host",
}


@pytest.mark.parametrize("kernel", ERRORS, ids=lambda k: k.__name__)
def test_refused(kernel):
    with pytest.raises(PassFailed, match=ERRORS[kernel]) as raised:
        legato.lower(kernel, "nvvm", last="outlined")
    assert "test_thread_errors.py:" in str(raised.value)  # the user's line


def test_unknown_axes_are_refused_by_the_script():
    with pytest.raises(legato.LegatoError, match=r"there are the threads blockIdx.x, .*; not 'threadIdx.w'"):
        @T.prim_func
        def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for tx in T.thread_binding(8, thread="threadIdx.w"):
                B[tx] = A[tx]
