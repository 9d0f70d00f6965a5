"""Scripts on kernels: steps and upstream's ops in one script, by upstream's interpreter; what fails says which step, where and why."""
import numpy as np
import pytest
from scheduled_kernels import loops, matmul_relu, names, values

import legato
from legato import Schedule, ScheduleError

OP, INT = "!transform.any_op", "!transform.param<i64>"


def script(body, others="", argument="transform.readonly"):
    return (f"module attributes {{transform.with_named_sequence}} {{\n"
            f"transform.named_sequence @__transform_main(%kernel: {OP} {{{argument}}}) {{\n{body}\ntransform.yield\n}}\n{others}}}")


def step(name, operands, results=0, attributes=""):
    """A step of ours as text: ``%r:2 = "tir.sch_split"(%l) {...} : ...``; operands that begin with p are parameters."""
    types = ", ".join(INT if o.startswith("%p") else OP for o in operands)
    return f'"tir.sch_{name}"({", ".join(operands)}) {{{attributes}}} : ({types}) -> ({", ".join([OP] * results)})\n'


def block(name, root="%kernel", value="%b"):
    return f"{value} = " + step("get_block", [root], 1, f'name = "{name}"')


C = block("C") + "%l:3 = " + step("get_loops", ["%b"], 3)
D = block("D", value="%d") + "%m:2 = " + step("get_loops", ["%d"], 2)
NOTE = step("annotate", ["%l"], 0, 'key = "noted", value = 1 : i64')
KINDS = [("i", 16, "serial"), ("j", 32, "serial"), ("k", 24, "serial")]


def kinds(unrolled=(), parallel=()):
    return [(n, e, "unrolled" if n in unrolled else "parallel" if n in parallel else k) for n, e, k in KINDS]


MIXED = {
    "match": (
        f'%b = transform.structured.match ops{{["tir.block"]}} attributes {{name = "C"}} in %kernel : ({OP}) -> {OP}\n'
        + "%l:3 = " + step("get_loops", ["%b"], 3) + step("unroll", ["%l#2"]), kinds("k")),
    "parent": (block("C") + f'%l = transform.get_parent_op %b {{op_name = "tir.for", nth_parent = 2}} : ({OP}) -> {OP}\n'
               + step("unroll", ["%l"]), kinds("j")),
    "foreach": (
        f'%all = transform.structured.match ops{{["tir.block"]}} in %kernel : ({OP}) -> {OP}\n'
        f"transform.foreach %all : {OP} {{\n^bb0(%one: {OP}):\n"
        f'%up = transform.get_parent_op %one {{op_name = "tir.for", nth_parent = 2}} : ({OP}) -> {OP}\n' + step("unroll", ["%up"]) + "}",
        kinds("j")),
    "one handle for all loops": (block("C") + "%l = " + step("get_loops", ["%b"], 1) + NOTE, KINDS),
    "split_handle and merge_handles": (
        block("C") + "%l = " + step("get_loops", ["%b"], 1) + f"%i, %j, %k = transform.split_handle %l : ({OP}) -> ({OP}, {OP}, {OP})\n"
        f"%two = transform.merge_handles %i, %k : {OP}\n" + step("unroll", ["%two"]), kinds("ik")),
    "select": (block("C") + "%l = " + step("get_loops", ["%b"], 1) + f'%same = transform.select "tir.for" in %l : ({OP}) -> {OP}\n'
               + NOTE.replace("%l", "%same"), KINDS),
    "annotate and print": (C + f'%n = transform.param.constant 5 : i64 -> {INT}\ntransform.annotate %l#0 "my.note" = %n : {OP}, {INT}\n'
                           f"transform.print %l#2 : {OP}\n" + step("unroll", ["%l#0"]), kinds("i")),
    "suppressed failure": (
        f"transform.sequence %kernel : {OP} failures(suppress) {{\n^bb0(%again: {OP}):\n" + C.replace("%kernel", "%again")
        + step("parallel", ["%l#2"]) + "}\n" + C + step("parallel", ["%l#0"]), kinds(parallel="i")),
    "patterns and cse": (
        C + "%s:2 = " + step("split", ["%l#1"], 2, "factors = array<i64: 1, 32>") + f"transform.apply_cse to %kernel : {OP}\n"
        f"transform.apply_patterns to %kernel {{\ntransform.apply_patterns.canonicalization\n}} : {OP}\n"
        + step("reorder", ["%l#0", "%s#0", "%l#2", "%s#1"]) + D + step("reverse_compute_at", ["%d", "%s#0"]),
        [("i", 16, "serial"), ("j_0", 1, "serial"), ("k", 24, "serial"), ("j_1", 32, "serial")]),
}


def check(sch, wanted):
    assert names(sch, "C") == wanted
    got, want = values(matmul_relu, sch.module)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("body", "wanted"), MIXED.values(), ids=MIXED)
def test_steps_and_upstreams_ops_in_one_script(body, wanted):
    sch = Schedule(matmul_relu).replay(script(body))
    again = Schedule(matmul_relu).replay(sch.trace)
    assert str(again) == str(sch) and again.trace == sch.trace
    check(sch, wanted)
    assert str(sch).count("{noted = 1 : i64}") == (3 if "noted" in body else 0)


def test_alternatives_take_the_first_that_can_be_done():
    first = C.replace("%kernel", "%one") + step("unroll", ["%l#1"]) + step("parallel", ["%l#2"])
    second = C.replace("%kernel", "%two") + step("parallel", ["%l#0"])
    text = f"transform.alternatives %kernel : {OP} {{\n^bb0(%one: {OP}):\n{first}}}, {{\n^bb0(%two: {OP}):\n{second}}}"
    sch = Schedule(matmul_relu).replay(script(text, argument="transform.consumed"))
    assert str(Schedule(matmul_relu).replay(sch.trace)) == str(sch)
    assert 'kind = "unrolled"' not in str(sch) and str(sch).count('kind = "parallel"') == 1
    with pytest.raises(ScheduleError, match="used up the kernel's handle"):
        loops(sch, "C")
    third = block("E", "%two")
    with pytest.raises(ScheduleError, match=r"(?s)all alternatives failed.*is reduced over the loop k.*there is no block 'E'"):
        Schedule(matmul_relu).replay(script(text.replace(second, third), argument="transform.consumed"))


def test_a_script_includes_sequences():
    tile = f"transform.named_sequence @tile(%one: {OP} {{transform.readonly}}) {{\n" + C.replace("%kernel", "%one") \
        + step("parallel", ["%l#0"]) + "transform.yield\n}\n"
    text = script(f"transform.include @tile failures(propagate) (%kernel) : ({OP}) -> ()", tile)
    sch = Schedule(matmul_relu)
    sch.unroll(loops(sch, "C")[2])
    sch.replay(text)
    assert "transform.include @tile" in sch.trace and "tir.sch_unroll" in sch.trace
    assert str(Schedule(matmul_relu).replay(sch.trace)) == str(sch)
    check(sch, kinds("k", "i"))
    sch.replay(text.replace("#0", "#1"))  # another sequence of that name
    assert "@tile_1" in sch.trace
    assert str(Schedule(matmul_relu).replay(sch.trace)) == str(sch)
    with pytest.raises(legato.LegatoError, match="of several the one called @__transform_main is run; this text has: @a, @b"):
        Schedule(matmul_relu).replay(script("", tile).replace("__transform_main", "a").replace("@tile", "@b"))


def test_parameters_in_the_place_of_numbers():
    split = "%s:2 = " + step("split", ["%l#1", "%p"], 2, "factors = array<i64: -1, 0>")
    fixed = script(C + f"%p = transform.param.constant 4 : i64 -> {INT}\n" + split)
    assert names(Schedule(matmul_relu).replay(fixed), "C")[2] == ("j_1", 4, "serial")
    knob = script(C + f'%p = transform.tune.knob<"tile"> = 4 : i64 from options = [4 : i64, 8 : i64] -> {INT}\n' + split)
    assert names(Schedule(matmul_relu).replay(knob, tile=8), "C")[2] == ("j_1", 8, "serial")
    with pytest.raises(legato.LegatoError, match="the schedule has no parameter 'tiles'; it has: tile"):
        Schedule(matmul_relu).replay(knob, tiles=8)
    with pytest.raises(legato.LegatoError, match="the parameter 'tile' is one of 4, 8, not 5"):
        Schedule(matmul_relu).replay(knob, tile=5)
    with pytest.raises(legato.LegatoError, match="the parameter 'tile' has no value: give it one"):
        Schedule(matmul_relu).replay(knob.replace(" = 4 : i64 from", ""))
    with pytest.raises(ScheduleError, match='a parameter is "x"; a whole number is wanted'):
        Schedule(matmul_relu).replay(fixed.replace("4 : i64 ->", '"x" ->').replace(INT, "!transform.any_param"))
    with pytest.raises(legato.LegatoError, match="has a 0 in 'factors', and no parameter to stand there"):
        Schedule(matmul_relu).replay(fixed.replace("(%l#1, %p)", "(%l#1)").replace(f"({OP}, {INT})", f"({OP})"))


def test_a_schedule_with_a_knob_is_tuned_as_text():
    sch = Schedule(matmul_relu)
    tile = sch.knob("tile", [4, 8, 16], 8)
    sch.split(loops(sch, "C")[1], [None, tile])
    assert names(sch, "C")[2] == ("j_1", 8, "serial")
    for width in (4, 8, 16):
        again = Schedule(matmul_relu).replay(sch.trace, tile=width)
        check(again, [("i", 16, "serial"), ("j_0", 32 // width, "serial"), ("j_1", width, "serial"), ("k", 24, "serial")])
        assert f"= {width} : i64 from options" in again.trace


WRONG = {
    "gone": (C + "%s:2 = " + step("split", ["%l#1"], 2, "factors = array<i64: -1, 8>") + step("unroll", ["%l#1"]),
             'unroll: this loop or block is gone, an earlier step has put others in its place\n  in the step: "tir.sch_unroll"(%1#1)'),
    "nothing": (f'%x = transform.structured.match ops{{["linalg.matmul"]}} in %kernel : ({OP}) -> {OP}\ntransform.print %x : {OP}',
                "nothing in @matmul_relu matches\n  in the step: %0 = transform.structured.match"),
    "a block for a loop": (block("C") + step("unroll", ["%b"]), "unroll: takes a loop, this is block 'C'\n"),
    "a kernel for a loop": (step("unroll", ["%kernel"]), "unroll: takes a loop, this is @matmul_relu\n"),
    "several": (block("C") + "%l = " + step("get_loops", ["%b"], 1) + "%s:2 = " + step("split", ["%l"], 2, "factors = array<i64: -1, 8>"),
                "split: takes one loop or block, and its handle stands for 3: the loop i, the loop j, the loop k (transform.split_handle"),
    "number of handles": (block("C") + "%l:2 = " + step("get_loops", ["%b"], 2), "the step gives 3 handles, and the script takes 2\n"),
    "consumed": (block("C") + f'%f = transform.get_parent_op %b {{op_name = "func.func"}} : ({OP}) -> {OP}\n'
                 f'%g = transform.apply_registered_pass "cse" to %f : ({OP}) -> {OP}\n' + "%l = " + step("get_loops", ["%b"], 1),
                 "op uses a handle invalidated by a previously executed transform op\n  in the step: %3 = \"tir.sch_get_loops\"(%0)"),
    "upstream's failure": (block("C") + f'%l = transform.get_parent_op %b {{op_name = "scf.for"}} : ({OP}) -> {OP}',
                           "could not find a parent op that matches all requirements\n  in the step: %1 = transform.get_parent_op %0"),
    "not legal": (C + step("parallel", ["%l#2"]), "parallel: the axis vk of block 'C' is reduced over the loop k: its steps write the same "
                  'place (rfactor makes them independent)\n  in the step: "tir.sch_parallel"(%1#2) : (!transform.any_op) -> () (line 5)\n'
                  "  in the schedule @__transform_main of @matmul_relu"),
}


@pytest.mark.parametrize(("body", "message"), WRONG.values(), ids=WRONG)
def test_what_fails_says_which_step_and_why_and_leaves_the_kernel(body, message):
    sch = Schedule(matmul_relu)
    before, trace = str(sch), sch.trace
    with pytest.raises(ScheduleError) as raised:
        sch.replay(script(body))
    assert message in str(raised.value)
    assert str(sch) == before and sch.trace == trace
    assert names(sch, "C") == KINDS


def test_a_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_text(script(C + step("parallel", ["%l#2"])))
    with pytest.raises(ScheduleError, match=r"\(.*mine.mlir:5:1\)"):
        Schedule(matmul_relu).replay(path)


BAD_TEXT = {
    "no sequence": ("module {}", "this text has: none"),
    "no MLIR": ("tile it", "this is no schedule: "),
    "attribute": (script(block("C") + step("unroll", ["%b"], 0, "by = 4 : i64")), "'tir.sch_unroll' op has no attribute 'by'"),
    "missing": (script(block("C") + "%s:2 = " + step("split", ["%b"], 2)), "needs the attribute 'factors'"),
    "kind": (script(block("C") + "%s = " + step("split", ["%b"], 1, 'factors = "4"')),
             "'factors' is a list of numbers (array<i64: 4, -1>)"),
    "results": (script(C + "%s:3 = " + step("split", ["%l#0"], 3, "factors = array<i64: -1, 4>")),
                "gives 2 loops, one for each factor, has 3"),
    "handles": (script(C + step("compute_at", ["%b"])), "takes 2 handles, has 1"),
}


@pytest.mark.parametrize(("text", "message"), BAD_TEXT.values(), ids=BAD_TEXT)
def test_text_that_is_no_schedule(text, message):
    with pytest.raises(legato.LegatoError) as raised:
        Schedule(matmul_relu).replay(text)
    assert message in str(raised.value)
