"""decompose_padding: what is filled and what is copied are together what the block wrote."""
import pytest
from scheduled_kernels import compiled, padded, ramp

from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def pads_otherwise(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((10, 12), "float32")):
    P = T.alloc_buffer((10, 12), "float32")
    for i, j in T.grid(10, 12):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi < 1 or 8 < vi or vj * 2 < 3 or vj > 9, T.float32(-1), X[vi - 1, 9 - vj] + 1.0)
    for i, j in T.grid(10, 12):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = P[vi, vj] * 2.0


def outer(sch):
    return 0


def inner(sch):
    return 1


def split(sch):
    sch.split(sch.get_loops(sch.get_block("P"))[0], [None, 4])
    return 0


def split_inside(sch):
    sch.split(sch.get_loops(sch.get_block("P"))[1], [None, 5])
    return 1


def fused(sch):
    sch.fuse(*sch.get_loops(sch.get_block("P")))
    return 0


def of_threads(sch):
    i, j = sch.get_loops(sch.get_block("P"))
    sch.parallel(i)
    sch.unroll(j)
    return 0


def under_its_reader(sch):
    sch.compute_at(sch.get_block("P"), sch.split(sch.get_loops(sch.get_output_blocks()[0])[0], [None, 3])[0])
    return 1


@pytest.mark.parametrize("prepare", [outer, inner, split, split_inside, fused, of_threads, under_its_reader], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kernel", [padded, pads_otherwise], ids=["inside", "outside"])
def test_padding(kernel, prepare):
    """At any of the loops around the block, whatever they are; the block stays, and chooses nothing any more."""
    sch = Schedule(kernel)
    block = sch.get_block("P")
    number = prepare(sch)
    loop = sch.get_loops(block)[number]
    assert sch.can_decompose_padding(block, loop)
    made = sch.decompose_padding(block, loop)
    assert (made.name, block.name) == ("P_pad_const", "P") and "if_then_else" not in sch.script()
    compiled(kernel, sch, ramp(8, 8))


def test_loops_become_shorter():
    """No condition is left where the block's loops are its axes."""
    sch = Schedule(padded)
    block = sch.get_block("P")
    loops = sch.get_loops(block)
    sch.decompose_padding(block, loops[0])
    assert [loop.extent for loop in sch.get_loops(block)] == [8, 8] and "scf.if" not in str(sch)
    assert "P[vi + 1, vj + 2] = A[vi, vj]" in sch.script()
    assert [loop.extent for loop in sch.get_loops(sch.get_block("P_pad_const"))] == [10, 12]


@T.prim_func
def no_padding(X: T.Buffer((8,), "float32"), Y: T.Buffer((8, 8), "float32"), Z: T.Buffer((8,), "float32"), V: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("triangle"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.if_then_else(vi < vj, X[vi], T.float32(0))
    for i in range(8):
        with T.block("nothing"):
            vi = T.axis.spatial(8, i)
            Z[vi] = T.if_then_else(vi < 3 and vi > 5, X[vi], T.float32(0))
    for i in range(8):
        with T.block("both"):
            vi = T.axis.spatial(8, i)
            V[vi] = T.if_then_else(vi < 3, X[vi], X[0])


@pytest.mark.parametrize(("name", "message"), [
    ("triangle", "a condition of block 'triangle' does not compare one axis of known extent with a number"),
    ("nothing", "nothing of block 'nothing' is inside"),
    ("both", "block 'both' does not write a constant outside of what comparisons of its axes say"),
])
def test_refused(name, message):
    sch = Schedule(no_padding)
    block = sch.get_block(name)
    loop = sch.get_loops(block)[0]
    before = str(sch)
    assert not sch.can_decompose_padding(block, loop)
    with pytest.raises(ScheduleError, match=message):
        sch.decompose_padding(block, loop)
    assert str(sch) == before


def test_a_loop_around_a_reader():
    """The reader would find the constant where a later step of the block writes what it reads now."""
    sch = Schedule(padded)
    under_its_reader(sch)
    block = sch.get_block("P")
    with pytest.raises(ScheduleError, match="'P' is also read under the loop i_0: a loop around block 'P' alone is needed"):
        sch.decompose_padding(block, sch.get_loops(block)[0])
    assert not sch.can_decompose_padding(block, sch.get_loops(block)[0])
