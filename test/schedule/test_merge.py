"""merge: the order of what different steps do to one element stays."""
import numpy as np
import pytest
from test_reindex import ramp

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def shifted(A: T.Buffer((8, 12), "float32"), D: T.Buffer((8, 12), "float32"), E: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((9, 14), "float32")
    for i, j in T.grid(9, 14):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 7.0
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi + 1, vj + 2] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 12):
        with T.block("before"):     # what an earlier step has written
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi + 1, vj]
    for i, j in T.grid(8, 12):
        with T.block("row"):        # of the row before: any step of it
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = B[vi, 13 - vj]


def loops(sch, *names):
    return [sch.get_loops(sch.get_block(name)) for name in names]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("names", [("B", "before"), ("before", "row"), ("B", "before", "row")], ids="-".join)
def test_earlier_steps(names, level):
    sch = Schedule(shifted)
    merged = sch.merge(*(found[level] for found in loops(sch, *names)))
    assert [sch.get_block(name).name for name in names] == list(names)
    assert len(sch.get_loops(sch.get_block(names[-1]))) == 2 and merged.name == "ij"[level] + "_m"
    given = ramp(8, 12)
    for got, want in zip(legato.compile(sch.module)(given), legato.compile(shifted)(given), strict=True):
        np.testing.assert_array_equal(got, want)
    assert str(Schedule(shifted).replay(sch.trace)) == str(sch)


@T.prim_func
def later(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"), E: T.Buffer((8, 8), "float32"), S: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 8):
        with T.block("turned"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vj, vi]
    for i, j in T.grid(8, 8):
        with T.block("overwritten"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, 7 - vj] = A[vi, vj]
    for i, k in T.grid(8, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i, j in T.grid(8, 8):
        with T.block("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = B[vi, vj] * S[vi]


@pytest.mark.parametrize(("names", "level", "message"), [
    (("B", "turned"), 0, "block 'turned' may use of 'B' what block 'B' uses in a later step of i"),
    (("turned", "overwritten"), 1, "block 'overwritten' may use of 'B' what block 'turned' uses in a later step of i, j"),
    (("sum", "scaled"), 1, "block 'scaled' may use of 'S.*' what block 'sum' uses in a later step of i, k"),
])
def test_later_steps(names, level, message):
    """What would run before what it waits for, or after what overwrites it."""
    sch = Schedule(later)
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        sch.merge(*(found[level] for found in loops(sch, *names)))
    assert str(sch) == before


def test_a_sum_and_its_reader():
    """By rows it is finished."""
    sch = Schedule(later)
    sch.merge(*(found[0] for found in loops(sch, "sum", "scaled")))
    assert [b.name for b in sch.get_child_blocks(sch.get_loops(sch.get_block("sum"))[0])] == ["sum", "scaled"]
