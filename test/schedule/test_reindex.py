"""reindex: the block accesses a copy by plain axes, and computes what it did."""
import numpy as np
import pytest
from scheduled_kernels import compiled, conv, matmul_relu, of_symbols, padded, ramp

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


def test_windows_of_a_convolution():
    """Window by window, and the filters with their axis first, as TVM's reindex orders them."""
    sch = Schedule(conv)
    block = sch.get_block("Y")
    windows, filters, result = (sch.reindex(block, at) for at in (("read", 0), ("read", 1), ("write", 0)))
    assert [h.name for h in (windows, filters, result)] == ["X_reindex", "W_reindex", "Y_reindex"]
    assert [loop.extent for loop in sch.get_loops(windows)] == [2, 4, 4, 3, 3, 3]
    assert "X_reindex[v0, v1, v2, v3, v4, v5] = X[v0, v1 + v3, v2 + v4, v5]" in sch.script()
    assert "W_reindex[v0, v1, v2, v3] = W[v1, v2, v3, v0]" in sch.script()
    compiled(conv, sch, ramp(2, 6, 6, 3), ramp(3, 3, 3, 16))


def test_what_is_read_under_a_condition_is_copied_where_it_exists():
    """The copy has steps for which the block reads nothing: it must not read in front of the buffer, or behind it."""
    sch = Schedule(padded)
    sch.reindex(sch.get_block("P"), ("read", 0))
    assert "T.if_then_else(v0 - 1 >= 0 and v0 - 1 < 8 and v1 - 2 >= 0 and v1 - 2 < 8, A[v0 - 1, v1 - 2], 0.0)" in sch.script()
    compiled(padded, sch, ramp(8, 8))


@T.prim_func
def quotients(X: T.Buffer((6, 5, 2), "float32"), Y: T.Buffer((30, 2), "float32"), Z: T.Buffer((5, 12), "float32")):
    for i, j in T.grid(30, 2):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi // 5, vi % 5, 1 - vj] + 1.0
    for i, j in T.grid(30, 2):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi % 5, vi // 5 * 2 + vj] = X[vi // 5, vi % 5, vj] * X[vi // 5, vi % 5, vj]


def test_indices_with_quotients():
    """Also where the block writes by them, each element once, and where it reads the same element twice."""
    sch = Schedule(quotients)
    sch.reindex(sch.get_block("Y"), ("read", 0))
    sch.reindex(sch.get_block("Z"), "X")
    sch.reindex(sch.get_block("Z"), "Z")
    assert "X_reindex[v0, v1] = X[v0 // 5, v0 % 5, 1 - v1]" in sch.script()
    for got, want in zip(legato.compile(sch.module)(ramp(6, 5, 2)), legato.compile(quotients)(ramp(6, 5, 2))):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_symbolic_sizes(size):
    sch = Schedule(of_symbols)
    sch.reindex(sch.get_block("B"), "A")
    sch.reindex(sch.get_block("B"), "B")
    assert "A_reindex[v0, v1, v2] = A[v0, v1 * 2 + v2]" in sch.script()
    given = ramp(size, 8)
    np.testing.assert_array_equal(compiled(of_symbols, sch, given), 2 * given.reshape(size, 4, 2).transpose(1, 0, 2))


@T.prim_func
def sum_and_more(A: T.Buffer((6, 8), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("start"):
            vi = T.axis.spatial(12, i)
            B[vi] = T.float32(3)
    for i, k in T.grid(6, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi * 2] = B[vi * 2] + A[vi, vk]


def test_a_block_that_adds_to_what_is_there():
    """The new buffer begins with the elements that the block adds to; the others stay."""
    sch = Schedule(sum_and_more)
    assert sch.reindex(sch.get_block("B"), "B").name == "B_reindex"
    assert [loop.extent for loop in sch.get_loops(sch.get_block("B_reindex_start"))] == [6]
    given = ramp(6, 8)
    found = compiled(sum_and_more, sch, given)
    np.testing.assert_array_equal(found[::2], 3 + given.sum(1))
    np.testing.assert_array_equal(found[1::2], 3)


def test_an_init_that_stands_elsewhere():
    """Behind decompose_reduction the block adds to what its init wrote: each is copied for itself."""
    sch = Schedule(conv)
    block = sch.get_block("Y")
    init = sch.decompose_reduction(block, sch.get_loops(block)[0])
    sch.reindex(block, ("write", 0))
    sch.reindex(init, ("write", 0))
    compiled(conv, sch, ramp(2, 6, 6, 3), ramp(3, 3, 3, 16))


def test_a_partial_step():
    """A predicate of a split, whose steps beyond the end would read behind the buffer."""
    sch = Schedule(conv)
    block = sch.get_block("Y")
    _, h, *_ = sch.get_loops(block)
    sch.split(h, [None, 3])
    sch.reindex(block, "X")
    sch.reindex(block, "Y")
    compiled(conv, sch, ramp(2, 6, 6, 3), ramp(3, 3, 3, 16))


@T.prim_func
def several_writes(I: T.Buffer((4,), "int32"), A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[(vi + vj) // 2] = A[vi, vj]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[I[vi], vi]


@pytest.mark.parametrize(("block", "buffer", "message"), [
    ("B", "B", "block 'B' may write one element of 'B' for several values of vi, vj"),
    ("C", "A", "an index of 'A' in block 'C' is not computed by .* from the block's axes alone"),
    ("C", "B", "block 'C' reads no buffer 'B'; it reads, from 0: "),
    ("C", 0, "takes .* or a buffer's name, not 0"),
])
def test_refused(block, buffer, message):
    sch = Schedule(several_writes)
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        sch.reindex(sch.get_block(block), buffer)
    assert str(sch) == before


def test_what_pad_crops():
    """The copy behind a padded block reads the first elements of its buffer by that buffer's name."""
    sch = Schedule(matmul_relu)
    sch.pad(sch.get_block("C"), (24, 32, 32))
    assert "C[v0, v1] = C_pad[v0, v1]" in sch.script()
    sch.merge(*(sch.get_loops(sch.get_block(name))[0] for name in ("C_crop", "D")))
    sch.reindex(sch.get_block("C_crop"), ("read", 0))
    compiled(matmul_relu, sch, ramp(16, 24), ramp(24, 32))
