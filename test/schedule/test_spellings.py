"""TVM's spellings of steps, and several kernels in one schedule."""
import re

import numpy as np
import pytest
from scheduled_kernels import F, loops, matmul_relu, names, read_twice, three_steps, values
from test_attached import Two

import legato
from legato import Schedule, ScheduleError
from legato.schedule.elsewhere import ELSEWHERE


def same(kernel, sch):
    got, want = values(kernel, sch.module)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert str(Schedule(kernel).replay(sch.trace)) == str(sch)


def test_arguments_by_name():
    sch = Schedule(matmul_relu)
    c = sch.get_block(name="C")
    i, j, _ = sch.get_loops(block=c)
    j0, j1 = sch.split(loop=j, factors=[None, 4])
    copy = sch.cache_read(block=c, read_buffer_index=("read", 0), storage_scope="local")
    sch.cache_write(block=c, write_buffer_index="C", storage_scope="local")
    sch.set_scope(block=c, buffer_index=0, storage_scope="global")
    sch.compute_at(block=copy, loop=i, preserve_unit_loops=True)
    assert [n[:2] for n in names(sch, "A_local")] == [("i", 16), ("ax0", 1), ("ax1", 24)]
    sch.transform_layout(block=c, buffer=("read", 0), index_map=lambda m, n: (n, m))
    sch.unroll(loop=j1)
    assert sch.get(j0) == j0.operation and j0.extent == 8
    same(matmul_relu, sch)


def test_a_copy_that_several_blocks_read():
    sch = Schedule(read_twice)
    c, d = sch.get_block("C"), sch.get_block("D")
    copy = sch.cache_read(block=c, read_buffer_index="A", storage_scope="local", consumer_blocks=[d])
    row = sch.get_loops(d)[0]
    sch.compute_at(c, row)
    sch.compute_at(copy, row)
    assert [n[:2] for n in names(sch, "A_local")] == [("i", 30), ("ax1", 40)] and str(sch).count("memref.load %0[") == 1
    same(read_twice, sch)


def test_buffers_that_are_not_there():
    sch = Schedule(matmul_relu)
    c = sch.get_block("C")
    with pytest.raises(ScheduleError, match="cache_read: block 'C' reads no buffer 'E'; it reads, from 0: A, B"):
        sch.cache_read(c, "E", "local")
    with pytest.raises(ScheduleError, match=r"a buffer is named by its number, its name, or \(\"read\", number\) here"):
        sch.cache_read(c, ("write", 0), "local")
    with pytest.raises(ScheduleError, match="a buffer is named by its number or its name, not None"):
        sch.cache_read(c, None, "local")
    with pytest.raises(ScheduleError, match="transform_layout: 'A' is a parameter of the kernel"):
        sch.transform_layout(c, ("read", 0), lambda i, j: (j, i))


def test_relations_of_blocks():
    sch = Schedule(three_steps)
    b, c, d = (sch.get_block(name) for name in "BCD")
    assert [x.name for x in sch.get_producers(c)] == ["B"] and [x.name for x in sch.get_consumers(c)] == ["D"]
    assert sch.get_producers(b) == [] and sch.get_consumers(d) == []
    assert [x.name for x in sch.get_output_blocks()] == ["D"]
    i, _ = sch.get_loops(b)
    assert [x.name for x in sch.get_child_blocks(i)] == ["B"]
    sch.compute_at(b, sch.get_loops(c)[0])
    assert [x.name for x in sch.get_child_blocks(sch.get_loops(c)[0])] == ["B", "C"]
    sch.compute_inline(sch.get_producers(d)[0])
    same(three_steps, sch)


def test_annotations():
    sch = Schedule(matmul_relu)
    i, _, _ = loops(sch, "C")
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.annotate(sch.get_block("C"), ann_key="meta", ann_val={"by": "hand", "tiles": [4, 4]})
    assert "pragma_auto_unroll_max_step = 16 : i64" in str(sch) and 'by = "hand"' in str(sch)
    sch.unannotate(i, "pragma_auto_unroll_max_step")
    assert "pragma_auto_unroll_max_step" not in str(sch)
    same(matmul_relu, sch)
    with pytest.raises(ScheduleError, match="the loop i has no annotation 'a'; it has: none"):
        sch.unannotate(i, "a")
    with pytest.raises(ScheduleError, match="is no text, number, truth value"):
        sch.annotate(i, "a", object())


def test_rfactor_leaves_the_blocks_handle_on_the_block_that_adds_up():
    sch = Schedule(matmul_relu)
    c = sch.get_block("C")
    _, _, k = sch.get_loops(c)
    _, k1 = sch.split(k, [None, 4])
    parts = sch.rfactor(k1, 0)
    assert parts.name == "C_rf" and c.name == "C" and [loop.name for loop in sch.get_loops(c)] == ["vi", "vj", "rf"]
    sch.parallel(sch.get_loops(c)[0])
    same(matmul_relu, sch)


def test_kernels_are_worked_on_by_name():
    sch = Schedule(Two)
    with pytest.raises(ScheduleError, match=r"say which kernel is scheduled: .* there are double, square"):
        sch.get_block("B")
    with pytest.raises(ScheduleError, match="there is no kernel 'half'; there are double, square"):
        sch.work_on("half")
    sch.work_on("double")
    one = sch.get_block("B")
    other = sch.get_block("B", func_name="square")
    with pytest.raises(ScheduleError, match="reverse_compute_at: takes loops and blocks of one kernel"):
        sch.reverse_compute_at(one, sch.get_loops(other)[0])
    sch.parallel(sch.get_loops(one)[0])
    sch.vectorize(sch.split(sch.get_loops(other)[0], [None, 8])[1])
    assert "sch_parallel" in sch.trace and "sch_split" not in sch.trace
    sch.work_on("square")
    assert "sch_parallel" not in sch.trace and "sch_split" in sch.trace
    x = np.linspace(-1, 1, 64, dtype=F)
    np.testing.assert_allclose(legato.compile(sch.module)(x), (2 * x) ** 2, rtol=1e-6)


def test_what_is_called_otherwise_here():
    sch = Schedule(matmul_relu)
    assert sch.get_sblock("C").name == "C"
    with pytest.raises(AttributeError, match=r"legato.Schedule has no sample_perfect_tile: a number to be searched is knob\("):
        sch.sample_perfect_tile(loops(sch, "C")[0], 2)
    with pytest.raises(AttributeError, match="no attribute 'tile'"):
        sch.tile()


def test_what_replaces_tvms_steps_is_there():
    """No step of ours is named as one that is elsewhere, and what the hints call, or name as a step, exists."""
    assert not [name for name in ELSEWHERE if hasattr(Schedule, name)]
    words = {word for hint in ELSEWHERE.values() for word in re.findall(r"\w+(?=\()|\w+_\w+", hint)}
    assert {word for word in words if not hasattr(Schedule, word)} == {"Schedule", "range", "len", "str"}


def test_a_schedule_is_shown_as_a_script(capsys):
    sch = Schedule(matmul_relu)
    sch.unroll(loops(sch, "C")[2])
    sch.show()
    assert "T.unroll(24)" in capsys.readouterr().out
