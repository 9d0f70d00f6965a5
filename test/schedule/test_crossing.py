"""Steps of a loop in which a block reads what another block writes in other steps: their order matters, and each of them counts once."""
import numpy as np
import pytest
from thoroughly import sampled

import legato
from legato import Schedule, ScheduleError
from legato.script import parse

PAIR = """
@T.prim_func
def pair(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16), "float32")
    {before}
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = {read}
"""
ZEROS = """for i, j in T.grid(16, 16):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0.0
"""
STEPS = {"parallel i": lambda s, i, j: s.parallel(i), "parallel j": lambda s, i, j: s.parallel(j),
         "vectorize j": lambda s, i, j: s.vectorize(j), "reorder": lambda s, i, j: s.reorder(j, i),
         "parallel fused": lambda s, i, j: s.parallel(s.fuse(i, j))}
# what is read -> the steps that keep its value
READS = {"B[T.max(vi - 1, 0), T.min(vj + 1, 15)]": [], "B[T.max(vi - 1, 0), vj]": ["parallel j", "vectorize j", "reorder"],
         "B[vi, T.min(vj + 1, 15)]": ["parallel i", "reorder"], "B[15 - vi, vj]": ["parallel j", "vectorize j", "reorder"],
         "B[vi, vj]": list(STEPS), "A[15 - vi, vj] + B[vi, vj]": list(STEPS)}
X = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)


def schedule_of(read, before=ZEROS):
    return Schedule(parse(PAIR.format(read=read, before=before)))


@pytest.mark.parametrize("step", sampled(STEPS, 2))
@pytest.mark.parametrize("read", READS)
def test_what_another_step_has_written_is_read_in_order(read, step):
    sch = schedule_of(read)
    want, before = legato.compile(sch.module)(X), str(sch.module)
    loops = sch.get_loops(sch.get_block("C"))
    if step in READS[read]:
        STEPS[step](sch, *loops)
        np.testing.assert_array_equal(legato.compile(sch.module)(X), want)
        return
    if step == "parallel fused":
        loops = [sch.fuse(*loops)]
        before = str(sch.module)
    with pytest.raises(ScheduleError, match=r"block 'C' may read of 'B' what another block writes in (another step of|other steps of)"):
        sch.parallel(*loops) if len(loops) == 1 else STEPS[step](sch, *loops)
    assert str(sch.module) == before


def test_a_buffer_of_the_loop_alone_is_no_exception():
    sch = schedule_of("B[T.max(vi - 1, 0), vj]", before="")
    with pytest.raises(ScheduleError, match="parallel: block 'C' may read of 'B' what another block writes in another step of i"):
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])
    total = Schedule(parse(PAIR.format(read="B[vi, vj]", before="").replace("A[vi, vj] * 2.0", "A[vi, vj] + B[T.max(vi - 1, 0), vj]")))
    with pytest.raises(ScheduleError, match="parallel: block 'B' may read of 'B' what another step of i has written"):
        total.parallel(total.get_loops(total.get_block("B"))[0])


SPACED = """
@T.prim_func
def spaced(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i, j in T.grid(8, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj * 8 + vi] = A[vj * 8 + vi] * 2.0
    for {again}i in T.grid({times}16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = {value}
"""


@pytest.mark.parametrize("again, times, number", [("", "", 0), ("r, ", "3, ", 0), ("r, ", "3, ", 1)])
def test_an_element_is_changed_as_often_as_before(again, times, number):
    sch = Schedule(parse(SPACED.format(again=again, times=times, value="C[vi] + B[vi]")))
    before = str(sch.module)
    with pytest.raises(ScheduleError, match=r"reverse_compute_at: block 'C' changes what it reads, and steps of [ij], .* several times"):
        sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[number])
    assert str(sch.module) == before


def test_a_tile_is_changed_in_its_step():
    sch = Schedule(parse(SPACED.format(again="", times="", value="C[vi] + B[vi]").replace("vj * 8 + vi", "vi * 2 + vj")))
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])
    c = np.ones(16, np.float32)
    np.testing.assert_array_equal(legato.compile(sch.module)(X[0], c), c + 2 * X[0])


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_steps_without_an_order_write_their_own_elements(kind):
    text = SPACED.format(again="", times="", value="B[vi] + 1.0")
    first, last = Schedule(parse(text)), Schedule(parse(text))
    loop = first.get_loops(first.get_block("B"))[0]
    getattr(first, kind)(loop)
    with pytest.raises(ScheduleError, match=r"the loop i is (parallel|vectorized), and its steps would write the same elements"):
        first.reverse_compute_at(first.get_block("C"), loop)
    loop = last.get_loops(last.get_block("B"))[0]
    last.reverse_compute_at(last.get_block("C"), loop)
    with pytest.raises(ScheduleError, match=f"{kind}: block 'C' may read of 'B' what another block writes in another step of i"):
        getattr(last, kind)(loop)
