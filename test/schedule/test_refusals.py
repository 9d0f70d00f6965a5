# ruff: noqa: RUF059 (loops that a test does not name)
"""Steps that are not legal: each is refused with its reason, and leaves the kernel as it was."""
import pytest
from scheduled_kernels import blur, loops, matmul_relu, row_sum, three_steps

from legato import Schedule, ScheduleError
from legato.script import tir as T


def refuse(kernel, message):
    def mark(function):
        REFUSED.append((kernel, function, message))
        return function

    return mark


REFUSED = []


@T.prim_func
def in_turns(X: T.Buffer((8,), "float32"), E: T.Buffer((8,), "float32")):
    A, C = T.alloc_buffer((8,), "float32"), T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = X[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            A[vi] = C[vi]
    for i in range(8):
        with T.block("E"):
            vi = T.axis.spatial(8, i)
            E[vi] = A[vi] + C[vi]


@T.prim_func
def sum_from_one(A: T.Buffer((8, 96), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 96):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 1.0
            B[vi] = B[vi] + A[vi, vk]


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


@refuse(row_sum, "a loop over spatial and reduce axes of block 'B' is among .*: in another order its init would not come first")
def start_elsewhere(sch):
    outer, inner = sch.split(sch.fuse(*loops(sch, "B")), [5, None])
    sch.reorder(inner, outer)


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


@refuse(row_sum, "block 'B' has several predicates")
def rfactor_within_two_conditions(sch):
    outer, inner = sch.split(loops(sch, "B")[1], [14, 8])
    sch.split(inner, [None, 3])
    sch.rfactor(outer, 0)


@refuse(sum_from_one, "the init of block 'B' is not a constant that changes nothing")
def rfactor_with_an_init_that_counts(sch):
    sch.rfactor(sch.split(loops(sch, "B")[1], [None, 8])[1], 0)


@T.prim_func
def sums_of_symbolic_rows(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@refuse(sums_of_symbolic_rows, "rfactor: block 'B' has an axis of unknown extent")
def rfactor_of_an_unknown_number(sch):
    sch.rfactor(sch.split(loops(sch, "B")[1], [None, 2])[1], 0)


@T.prim_func
def alternating(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(-10)
            B[vi] = T.max(B[vi], A[vi, vk] - B[vi])


@refuse(alternating, "rfactor: what block 'B' combines depends on what it has written before")
def rfactor_of_a_recurrence(sch):
    sch.rfactor(sch.split(loops(sch, "B")[1], [None, 4])[1], 0)


@T.prim_func
def where_smaller(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi < 4:
                B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 4, B[vi], T.float32(1))


@refuse(where_smaller, "compute_inline: block 'B' writes 'B' under a condition, or in a loop")
def inline_what_is_written_under_a_condition(sch):
    sch.compute_inline(sch.get_block("B"))


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


@refuse(matmul_relu, "block 'C' reads no buffer 2; it reads, from 0: A, ")
def cache_what_is_not_read(sch):
    sch.cache_read(sch.get_block("C"), 2, "local")


@refuse(blur, "reindex: block 'C' accesses 'B' at several places in one step")
def reindex_a_window(sch):
    sch.reindex(sch.get_block("C"), "B")


@refuse(matmul_relu, "transform_block_layout: the result d0 . 24 . d2 of the map mixes spatial and reduce axes of block 'C'")
def mix_axes(sch):
    sch.transform_block_layout(sch.get_block("C"), lambda i, j, k: (i * 24 + k, j))


@refuse(three_steps, "the map is not bijective for the extents 30, 40 of block 'B': an index of 40 values is not divided evenly")
def cut_axes_unevenly(sch):
    sch.transform_block_layout(sch.get_block("B"), lambda i, j: (i, j // 7, j % 7))


@refuse(three_steps, "transform_block_layout: the loop i is parallel, and the new loops are serial")
def layout_of_parallel_loops(sch):
    sch.parallel(loops(sch, "B")[0])
    sch.transform_block_layout(sch.get_block("B"), lambda i, j: (j, i))


@refuse(matmul_relu, "reorder_block_iter_var: .2, 0, 0. is no order of the numbers of the axes of block 'C': 0 .vi., 1 .vj., 2 .vk.")
def reorder_axes_twice(sch):
    sch.reorder_block_iter_var(sch.get_block("C"), [2, 0, 0])


@refuse(three_steps, "storage_align: 'D' is a parameter of the kernel, not a buffer of its own")
def align_an_output(sch):
    sch.storage_align(sch.get_block("D"), 0, -2, 32, 1)


@refuse(matmul_relu, "loop_partition: parts of 12 . 4 steps leave none of the 16 of the loop i")
def partition_too_much(sch):
    sch.loop_partition(loops(sch, "C")[0], [12, 4])


@refuse(matmul_relu, "whether vk begins in the steps of i_j_k_fused from 30 on is not known, and block 'C' has an init there")
def partition_fused_sums(sch):
    sch.loop_partition(sch.fuse(*loops(sch, "C")), [30])


@refuse(three_steps, "loop_partition: the loop i is parallel: loop_partition comes before other steps on it")
def partition_a_parallel_loop(sch):
    sch.parallel(loops(sch, "B")[0])
    sch.loop_partition(loops(sch, "B")[0], [8])


@refuse(three_steps, "decompose_padding: block 'B' does not choose between a constant and something else")
def decompose_no_padding(sch):
    sch.decompose_padding(sch.get_block("B"), loops(sch, "B")[0])


@refuse(matmul_relu, "write_at: reverse_compute_at: block 'C' is not finished within a step of k")
def write_before_the_end(sch):
    sch.write_at(loops(sch, "C")[2], sch.get_block("C"), 0, "local")


@refuse(matmul_relu, "read_at: block 'D' is not under the loop i")
def read_at_another_loop(sch):
    sch.read_at(loops(sch, "C")[0], sch.get_block("D"), 0, "local")


@refuse(blur, "merge: block 'C' may use of 'B' what block 'B' uses in a later step of i")
def merge_a_window_with_its_reader(sch):
    sch.split(loops(sch, "B")[0], [17, 2])
    sch.split(loops(sch, "C")[0], [17, 2])
    sch.merge(loops(sch, "B")[0], loops(sch, "C")[0])


@refuse(three_steps, "merge: the loop i stands between the loops i, i")
def merge_over_another(sch):
    sch.merge(loops(sch, "B")[0], loops(sch, "D")[0])


@refuse(matmul_relu, "merge: the loops j, i have different numbers of loops around them in their nests")
def merge_at_another_depth(sch):
    sch.merge(loops(sch, "C")[1], loops(sch, "D")[0])


@refuse(matmul_relu, "fuse: the axis vk of block 'C' is reduced over the loop k")
def fuse_a_parallel_loop_with_a_sum(sch):
    i, j, k = loops(sch, "C")
    sch.parallel(j)
    sch.fuse(j, k)


@refuse(three_steps, "fuse: the loops are of different kinds: i .blockIdx.x., j .serial.")
def fuse_threads(sch):
    i, j = loops(sch, "B")
    sch.bind(i, "blockIdx.x")
    sch.fuse(i, j)


@refuse(row_sum, "decompose_reduction: whether block 'B' is run depends on loops outside of u_1 and on loops that are not the init's")
def decompose_where_steps_are_left_out(sch):
    i, _ = loops(sch, "B")
    _, inner = sch.split(sch.add_unit_loop(i), [2, 2])
    sch.decompose_reduction(sch.get_block("B"), inner)


@refuse(three_steps, "blockize: the axis vi of block 'B' is not cut into tiles by the loops")
def blockize_fused_loops(sch):
    sch.blockize(sch.fuse(*loops(sch, "B")))


@refuse(blur, "pad: block 'C' does not access the buffer by one axis for each dimension")
def pad_a_window(sch):
    sch.pad(sch.get_block("C"), (64,))


@T.prim_func
def outer_product(A: T.Buffer((4, 1), "float32"), B: T.Buffer((1, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 1):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@refuse(outer_product, "pad: the loop k is parallel; the axis vk of block 'C' is reduced over it, and its steps would write the same place")
def pad_a_parallel_reduction(sch):
    sch.parallel(loops(sch, "C")[2])
    sch.pad(sch.get_block("C"), (1, 1, 4))


@refuse(matmul_relu, "compute_inline: 'C' is also written by block 'C'")
def inline_an_init(sch):
    sch.compute_inline(sch.decompose_reduction(sch.get_block("C"), loops(sch, "C")[0]))


@refuse(three_steps, "cache_write: 'C' is read by block 'D' in the same loops as block 'C': cache_write comes before")
def cache_what_is_read_in_the_same_loops(sch):
    sch.compute_at(sch.get_block("C"), loops(sch, "D")[0])
    sch.cache_write(sch.get_block("C"), 0, "local")


@refuse(three_steps, "cache_read: block 'D' does not read 'B', of which block 'C' gets a copy")
def cache_what_another_block_does_not_read(sch):
    sch.cache_read(sch.get_block("C"), "B", "local", [sch.get_block("D")])


@refuse(in_turns, "cache_read: block 'C' is not behind block 'E', in front of which 'A' is copied")
def cache_for_an_earlier_block(sch):
    sch.cache_read(sch.get_block("E"), "A", "local", [sch.get_block("C")])


@refuse(in_turns, "cache_read: 'A' is written by block 'D' between the blocks 'C' and 'E', which would read one copy")
def cache_what_changes_between_its_readers(sch):
    sch.cache_read(sch.get_block("C"), "A", "local", [sch.get_block("E")])


@refuse(three_steps, "cache_read: 'C' is written by block 'C' in the same loops as block 'D'")
def cache_what_is_written_in_the_same_loops(sch):
    sch.compute_at(sch.get_block("C"), loops(sch, "D")[0])
    sch.cache_read(sch.get_block("D"), 0, "local")


@pytest.mark.parametrize(("kernel", "step", "message"), REFUSED, ids=lambda c: getattr(c, "__name__", ""))
def test_refused_with_the_reason(kernel, step, message):
    sch = Schedule(kernel)
    with pytest.raises(ScheduleError, match=message):
        step(sch)
    assert str(Schedule(kernel).replay(sch.trace)) == str(sch), "the refused step changed the kernel"


def test_a_refused_step_leaves_the_kernel_as_it_was():
    sch = Schedule(matmul_relu)
    before, trace = str(sch), sch.trace
    for kernel, step, _ in REFUSED:
        if kernel is matmul_relu and step in (parallel_reduction, vectorize_across, factors, fuse_far, compute_output, consume_too_early):
            with pytest.raises(ScheduleError):
                step(sch)
    assert str(sch) == before
    assert [line for line in sch.trace.splitlines() if "get_" not in line] == trace.splitlines()


@T.prim_func
def every_other(x: T.Buffer((8,), "float32"), y: T.Buffer((4,), "float32")):
    a = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("a"):
            vi = T.axis.spatial(8, i)
            a[vi] = x[vi] + 1.0
    b = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            b[vi] = a[vi * 2]
    for i in range(4):
        with T.block("y"):
            vi = T.axis.spatial(4, i)
            y[vi] = b[vi] * 2.0


def test_an_allocation_stays_where_it_was():
    sch = Schedule(every_other)
    before = str(sch)
    with pytest.raises(ScheduleError, match="block 'b' does not access the buffer by one axis"):
        sch.reverse_compute_inline(sch.get_block("b"))
    assert str(sch) == before


