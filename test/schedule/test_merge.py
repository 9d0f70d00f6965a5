"""merge: the order of what different steps do to one element stays."""
import numpy as np
import pytest
from scheduled_kernels import loops, ramp
from test_order import rows

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


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("names", [("B", "before"), ("before", "row"), ("B", "before", "row")], ids="-".join)
def test_earlier_steps(names, level):
    sch = Schedule(shifted)
    merged = sch.merge(*(loops(sch, name)[level] for name in names))
    assert [sch.get_block(name).name for name in names] == list(names)
    assert len(sch.get_loops(sch.get_block(names[-1]))) == 2 and merged.name == "ij"[level] + "_m"
    given = ramp(8, 12)
    for got, want in zip(legato.compile(sch.module)(given), legato.compile(shifted)(given), strict=True):
        np.testing.assert_array_equal(got, want)
    assert str(Schedule(shifted).replay(sch.trace)) == str(sch)


@T.prim_func
def later(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")):
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


@pytest.mark.parametrize(("kernel", "names", "level", "message"), [
    (later, ("B", "turned"), 0, "block 'turned' may use of 'B' what block 'B' uses in a later step of i"),
    (later, ("turned", "overwritten"), 1, "block 'overwritten' may use of 'B' what block 'turned' uses in a later step of i, j"),
    (rows, ("S", "C"), 1, "block 'C' may use of 'S' what block 'S' uses in a later step of i, j"),
])
def test_later_steps(kernel, names, level, message):
    """What would run before what it waits for, or after what overwrites it."""
    sch = Schedule(kernel)
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        sch.merge(*(loops(sch, name)[level] for name in names))
    assert str(sch) == before


def test_a_sum_and_its_reader():
    """By rows it is finished."""
    sch = Schedule(rows)
    sch.merge(*(loops(sch, name)[0] for name in "SC"))
    assert [b.name for b in sch.get_child_blocks(loops(sch, "S")[0])] == ["S", "C"]
