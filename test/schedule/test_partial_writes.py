"""Blocks that access a part of their buffers, or leave elements as they were: cache_write and pad keep the rest, and read nothing of it."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def some(A: T.Buffer((4, 8), "float32"), W: T.Buffer((8, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    for i, j in T.grid(4, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            if A[vi, vj] > 0.5:
                C[vi, vj] = A[vi, vj] + W[vi, vj]


def part_of_a_product(rows, depth):
    @T.prim_func
    def product(A: T.Buffer((4, 8), "float32"), W: T.Buffer((8, 5), "float32"), C: T.Buffer((4, 5), "float32")):
        for i, j, k in T.grid(rows, 5, depth):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
    return product


first_rows, first_terms = part_of_a_product(3, 8), part_of_a_product(4, 3)


@T.prim_func
def added(A: T.Buffer((4, 8), "float32"), W: T.Buffer((8, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    for i, j, k in T.grid(4, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]


KERNELS = {some: lambda a, w: np.where(a[:, :5] > 0.5, a[:, :5] + w[:4], 0), first_terms: lambda a, w: a[:, :3] @ w[:3],
           first_rows: lambda a, w: np.pad(a[:3] @ w, ((0, 1), (0, 0))), added: lambda a, w, c: c + a @ w}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("step", ["cache_write", [2, 1, 1], [1, 4, 1], [1, 1, 4], [4, 8, 16]], ids=str)
def test_elements_that_a_block_leaves_stay(kernel, step):
    rng, sch = np.random.default_rng(0), Schedule(kernel.module())
    block = sch.get_block("C")
    if step == "cache_write":
        sch.cache_write(block, 0, "global")
    else:
        sch.pad(block, step[:len(sch.get_loops(block))])
    executable = legato.compile(sch.module, "llvm{check-bounds=true fill-memory=true}")
    arrays = [rng.random([int(n) for n in one.shape], dtype=np.float32) for one in executable.inputs]
    np.testing.assert_allclose(executable(*arrays), KERNELS[kernel](*arrays), rtol=1e-5)


@T.prim_func
def beyond_the_buffers(A: T.Buffer((2, 1), "float32"), C: T.Buffer((2, 1), "float32")):
    P = T.alloc_buffer((2, 8), "float32")
    for i, j in T.grid(2, 8):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vj < 1, A[vi, vj], T.float32(3))
    for i, j in T.grid(2, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            if vj < 1:
                C[vi, vj] = P[vi, vj] + 1.0


@pytest.mark.parametrize("block", ["P", "C"])
def test_pad_where_a_condition_keeps_to_a_smaller_buffer(block):
    """The copies took as many elements as the axes have values, beyond the buffer: what pad pads can be padded again."""
    sch = Schedule(beyond_the_buffers)
    sch.pad(sch.get_block(block), [4, 8])
    given = np.array([[2], [5]], np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module, "llvm{check-bounds=true fill-memory=true}")(given), given + 1)


@T.prim_func
def later_columns(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j, k in T.grid(4, 8, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            if vk > vi:
                C[vi, vj] = A[vi, vj]


def test_a_condition_that_fails_for_some_elements_leaves_them():
    """There is no step of the depth in which it holds for the last rows."""
    sch = Schedule(later_columns.module())
    sch.cache_write(sch.get_block("C"), 0, "global")
    assert "C_global_start" in str(sch.module)


@pytest.mark.parametrize("loop", [0, 2])
def test_a_block_that_writes_all_needs_no_copy_before(loop):
    """Nor where the loop over the rows, or over the depth, has a remainder."""
    sch = Schedule(first_terms.module())
    sch.split(sch.get_loops(sch.get_block("C"))[loop], [-1, 3 if loop == 0 else 2])
    sch.cache_write(sch.get_block("C"), 0, "global")
    assert len(sch.get_child_blocks(sch.get_loops(sch.get_block("C"))[0])) == 1 and "C_global_start" not in str(sch.module)


def test_the_copy_before_stays_before():
    sch = Schedule(some.module())
    behind = sch.cache_write(sch.get_block("C"), 0, "global")
    with pytest.raises(ScheduleError, match="block 'C_global_start' writes 'C_global', which block 'C' writes before it runs"):
        sch.reverse_compute_at(sch.get_block("C_global_start"), sch.get_loops(behind)[0])
