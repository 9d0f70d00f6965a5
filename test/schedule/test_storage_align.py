"""storage_align: allocations grow where they are lowered, on CPUs and GPUs, and scripts keep it as TVM writes it."""
import numpy as np
import pytest
from scheduled_kernels import loops, matmul_relu, three_steps, values

import legato
from legato import Schedule
from legato.dialects.tir.strides import aligned_shape
from legato.script import tir as T


def test_shapes():
    """Only the last dimension grows for the axis before it; else the smallest shape of those that fit."""
    assert aligned_shape([30, 40], 0, 32, 9) == [30, 41] and aligned_shape([30, 40], 1, 32, 1) == [30, 40]
    assert aligned_shape([8, 32], 0, 32, 1) == [8, 33]
    assert aligned_shape([8, 33], 0, 32, 1) == [8, 33]
    assert aligned_shape([4, 8, 16], 1, 32, 8) == [4, 8, 40]
    for shape, axis, factor, offset in (([4, 8, 16], 0, 32, 1), ([4, 8, 16], 0, 12, 8), ([2, 3, 4, 5], 0, 16, 4), ([2, 9, 9, 9], 0, 64, 6),
                                       ([2, 9, 8, 9], 0, 16, 1)):
        found = aligned_shape(shape, axis, factor, offset)
        assert np.prod(found[axis + 1:]) % factor == offset and found[:axis + 1] == shape[:axis + 1]
        assert all(new >= old for new, old in zip(found, shape)) and np.prod(found) < 3 * np.prod(shape)


def test_scratch_of_a_cpu():
    sch = Schedule(three_steps)
    sch.storage_align(sch.get_block("B"), 0, 0, 32, 9)
    sch.storage_align(sch.get_block("C"), "C", -2, 16, 12)
    lowered = str(legato.lower(sch.module, last="scheduled"))
    assert "memref<30x41xf32>" in lowered and "memref<30x44xf32>" in lowered
    np.testing.assert_allclose(*values(three_steps, sch.module), rtol=1e-5)
    again = Schedule(three_steps).replay(sch.trace)
    assert str(again) == str(sch) and "align = array<i64: 0, 32, 9>" in str(sch)


def in_shared_memory(aligned):
    """A product by threads that share tiles of 8 x 8 and 8 x 16 elements."""
    sch = Schedule(matmul_relu)
    block = sch.get_block("C")
    left, right = sch.cache_read(block, 0, "shared"), sch.cache_read(block, 1, "shared")
    i, j, k = sch.get_loops(block)
    (i0, i1), (j0, j1), (k0, k1) = sch.split(i, [None, 8]), sch.split(j, [None, 16]), sch.split(k, [None, 8])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    for loop, thread in zip((i0, j0, i1, j1), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")):
        sch.bind(loop, thread)
    for copy in (left, right):
        sch.compute_at(copy, k0)
        *_, rows, columns = sch.get_loops(copy)
        outer, inner = sch.split(sch.fuse(rows, columns), [8, None])
        sch.bind(outer, "threadIdx.y")
        sch.bind(inner, "threadIdx.x")
    if aligned:
        sch.storage_align(left, 0, -2, 32, 1)
        sch.storage_align(right, 0, -2, 32, 4)
    for loop, thread in zip(loops(sch, "D"), ("blockIdx.x", "threadIdx.x")):
        sch.bind(loop, thread)
    return sch


def test_shared_memory():
    """The tiles are as large as a block needs, with rows of 33 and 36 elements."""
    for aligned, shapes in ((False, ("8x8", "8x16")), (True, ("8x33", "8x36"))):
        sch = in_shared_memory(aligned)
        lowered = str(legato.lower(sch.module, "nvvm{chip=sm_80}", last="outlined"))
        assert all(f"memref<{shape}xf32, #gpu.address_space<workgroup>>" in lowered for shape in shapes)
        np.testing.assert_allclose(*values(matmul_relu, sch.module), rtol=1e-4, atol=1e-5)


@T.prim_func
def as_tvm_writes_it(A: T.Buffer((8, 32), "float32"), C: T.Buffer((32, 8), "float32")):
    T.func_attr({"tir.is_scheduled": True})
    B = T.alloc_buffer((8, 32), "float32")
    for i, j in T.grid(8, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]], "note": 3})
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(32, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi]


def test_scripts():
    """The annotation is read and printed."""
    text = str(as_tvm_writes_it.module())
    assert "align = array<i64: 0, 32, 1>" in text and "buffer_dim_align" not in text and "note = 3" in text
    printed = Schedule(as_tvm_writes_it).script()
    assert 'T.block_attr({"note": 3, "buffer_dim_align": [[0, 0, 32, 1]]})' in printed
    assert "memref<8x33xf32>" in str(legato.lower(as_tvm_writes_it, last="scheduled"))
    given = np.arange(256, dtype=np.float32).reshape(8, 32)
    np.testing.assert_array_equal(legato.compile(as_tvm_writes_it)(given), given.T)


@pytest.mark.parametrize(("axis", "factor", "offset", "message"), [
    (2, 8, 1, "'C' has 2 axes, and no axis 2"), (0, 0, 1, "the factor is 1 or more, not 0"),
    (-1, 8, 4, "a step along the last axis of 'C' is one element, which is not 4 modulo 8"),
])
def test_refused(axis, factor, offset, message):
    sch = Schedule(matmul_relu)
    before = str(sch)
    with pytest.raises(legato.ScheduleError, match=message):
        sch.storage_align(sch.get_block("C"), 0, axis, factor, offset)
    assert str(sch) == before


def test_layouts_come_first():
    sch = Schedule(matmul_relu)
    block = sch.get_block("C")
    sch.storage_align(block, 0, 0, 8, 1)
    with pytest.raises(legato.ScheduleError, match="transform_layout comes before storage_align"):
        sch.transform_layout(block, 0, lambda i, j: (j, i))
