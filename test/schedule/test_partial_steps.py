"""Blocks that run for a part of what they read: moved to their producer's steps, they would run for all of it, and write more."""
import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.script import parse

PRODUCED = """
@T.prim_func
def partly(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    B = T.alloc_buffer((16, 12), "float32")
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            {inside}B[vi, vj] = A[vi, vj] * 2.0
"""
CONSUMED = """    for i in {rows}:
        for j in {columns}:
            with T.block("C"):
                vi = T.axis.spatial(16, {row})
                vj = T.axis.spatial(12, j)
                {where}
                C[vi, vj] = B[vi, vj] + 1.0
"""
DEFAULTS = {"rows": "range(16)", "columns": "range(12)", "row": "i", "where": "T.reads(B[vi, vj])"}
PARTS = {"fewer rows": {"rows": "range(9)"}, "fewer columns": {"columns": "range(5)"}, "an offset": {"rows": "range(2, 14)"},
         "a triangle": {"columns": "range(T.min(i + 1, 12))"}, "every other row": {"rows": "range(8)", "row": "i * 2"},
         "a predicate": {"where": "T.where(i < 10)"}, "a diagonal predicate": {"where": "T.where(i + j < 10)"}}


def schedule_of(inside="", **said):
    return Schedule(parse(PRODUCED.format(inside=inside) + CONSUMED.format(**{**DEFAULTS, **said})))


def result(module):
    return legato.compile(module)(np.arange(192, dtype=np.float32).reshape(16, 12))


@pytest.mark.parametrize("part", PARTS)
def test_a_block_that_runs_for_a_part_stays_where_it_is(part):
    sch = schedule_of(**PARTS[part])
    before = str(sch.module)
    with pytest.raises(ScheduleError, match="reverse_compute_inline: block 'C' may not run for all elements of 'B'"):
        sch.reverse_compute_inline(sch.get_block("C"))
    with pytest.raises(ScheduleError, match=r"reverse_compute_at: block 'C' (may not run for all elements of 'B'|has a predicate)"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])
    assert str(sch.module) == before


@pytest.mark.parametrize("rows, inside", [("range(16)", ""), ("range(10)", "T.where(i < 10)\n            ")])
@pytest.mark.parametrize("cut", ["whole", "split", "fuse"])
def test_a_block_that_runs_for_all_that_is_written_moves(cut, rows, inside):
    sch = schedule_of(inside=inside, rows=rows)
    want, c = result(sch.module), sch.get_block("C")
    i, j = sch.get_loops(c)
    if cut == "split":
        sch.split(i, [None, 7])
    if cut == "fuse":
        sch.split(sch.fuse(i, j), [None, 11])
    sch.reverse_compute_inline(c)
    np.testing.assert_array_equal(result(sch.module), want)
