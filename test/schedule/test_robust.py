"""What goes wrong inside of a run: exceptions, repetition, many steps, an interpreter that we do not know of."""
import gc

import pytest
from scheduled_kernels import loops, matmul_relu, names, three_steps
from test_scripts import C, script, step

import legato
from legato import Schedule, ScheduleError
from legato.core.mlir import interpreter, ir
from legato.schedule import primitives


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyboardInterrupt(), SystemExit(3)], ids=lambda e: type(e).__name__)
def test_an_exception_in_a_primitive_arrives_as_it_is_and_leaves_the_kernel(monkeypatch, error):
    def fail(kernel, what, ops, **attributes):
        raise error

    sch = Schedule(matmul_relu)
    before = str(sch)
    with monkeypatch.context() as patch:
        patch.setitem(primitives.PRIMITIVES, "unroll", fail)
        with pytest.raises(type(error)) as raised:
            sch.replay(script(C + "%s:2 = " + step("split", ["%l#1"], 2, "factors = array<i64: -1, 8>") + step("unroll", ["%l#0"])))
    assert raised.value is error and 'in the step: "tir.sch_unroll"' in error.__notes__[0]
    assert str(sch) == before
    sch.replay(script(C + step("unroll", ["%l#0"])))
    assert names(sch, "C")[0] == ("i", 16, "unrolled")


def test_an_exception_among_alternatives_is_not_taken_for_a_failure(monkeypatch):
    def fail(kernel, what, ops, **attributes):
        raise ValueError("a bug")

    monkeypatch.setitem(primitives.PRIMITIVES, "unroll", fail)
    text = script("transform.sequence %kernel : !transform.any_op failures(suppress) {\n^bb0(%again: !transform.any_op):\n"
                  + C.replace("%kernel", "%again") + step("unroll", ["%l#2"]) + "}")
    with pytest.raises(ValueError, match="a bug"):
        Schedule(matmul_relu).replay(text)


def test_the_same_script_twice():
    sch = Schedule(matmul_relu)
    i, j, _ = loops(sch, "C")
    sch.parallel(i)
    again = Schedule(matmul_relu).replay(sch.trace).replay(sch.trace)
    assert str(again) == str(sch) and again.trace.count("tir.sch_parallel") == 2
    sch.split(j, [None, 8])
    once = Schedule(matmul_relu).replay(sch.trace)
    before = str(once)
    with pytest.raises(ScheduleError, match="the step gives 4 handles, and the script takes 3"):
        once.replay(sch.trace)
    assert str(once) == before == str(sch)


def test_steps_in_another_order_are_refused_with_the_reason():
    sch = Schedule(three_steps)
    b, d = sch.get_block("B"), sch.get_block("D")
    i, _ = sch.get_loops(d)
    with pytest.raises(ScheduleError, match="compute_at: 'B' is also read outside of the loop i"):
        sch.compute_at(b, i)
    sch.compute_inline(sch.get_block("C"))
    sch.compute_at(b, i)
    with pytest.raises(ScheduleError, match="block 'B' is under the loop i already"):
        sch.compute_at(b, i)


def test_handles_of_others():
    sch, other = Schedule(matmul_relu), Schedule(matmul_relu)
    for wrong in (other.get_block("C"), None, "C", 0):
        with pytest.raises(ScheduleError, match="get_loops: takes handles of this schedule, from get_block and get_loops; not"):
            sch.get_loops(wrong)
    with pytest.raises(ScheduleError, match="fuse: takes handles, has none"):
        sch.fuse()
    c = sch.get_block("C")
    sch.replay(script(C))
    with pytest.raises(ScheduleError, match="this loop or block is gone"):
        sch.get_loops(c)
    assert repr(c) == "<gone>"


def test_ten_thousand_steps():
    lines = C + "".join(step("annotate", [f"%l#{n % 3}"], 0, f'key = "n", value = {n} : i64') + step("unroll", [f"%l#{n % 3}"])
                        for n in range(5000))
    sch = Schedule(matmul_relu).replay(script(lines))
    assert sch.trace.count("tir.sch_") == 10_002
    direct = Schedule(matmul_relu)
    around = loops(direct, "C")
    for n in range(5000):
        direct.annotate(around[n % 3], "n", n)
        direct.unroll(around[n % 3])
    assert str(direct) == str(sch) and direct.trace == sch.trace


def test_many_loops_made_of_each_other():
    """What an index is computed from is a graph: going through it path by path would take for ever."""
    sch = Schedule(matmul_relu)
    i, _ = loops(sch, "D")
    i0 = i1 = i
    for _n in range(60):
        i0, i1 = sch.split(i, [None, 4])
        sch.reorder(i1, i0)
        sch.parallel(i0)
        i = sch.fuse(i1, i0)
    before = str(sch)
    assert str(Schedule(matmul_relu).replay(sch.trace)) == before
    del sch, i, i0, i1
    gc.collect()


def test_an_interpreter_of_somebody_elses():
    kernel = matmul_relu.module()
    with kernel.context, ir.Location.unknown():
        text = ir.Module.parse(script(C))
        function = kernel.function("matmul_relu")
        with pytest.raises(ValueError, match=r"tir.sch_get_block is run by legato.Schedule, tir-apply-schedules and legato-opt only"):
            interpreter.apply_named_sequence(function, text.body.operations[0], text)


def test_a_module_without_kernels():
    with pytest.raises(ScheduleError, match="the module has no kernels to schedule"):
        Schedule(legato.Module.parse("func.func @main() { return }"))
    with pytest.raises(ScheduleError, match="there is no kernel 'a'; there are none"):
        Schedule(legato.Module.parse("func.func @main() { return }"), "a")
