"""``schedule=`` on a rule: the kernels that the rule makes are scheduled by a function, a Schedule or a script of the user's."""
# pyright: reportInvalidTypeForm=false
import json
from typing import Any

import numpy as np
import pytest

import legato
from legato import kernels, relax
from legato.script import tir as T
from legato.targets.catalog import Catalog
from legato.targets.rule import make_rules
from legato.tools import legato_opt

_, MATMUL = Catalog().resolve("llvm").ranked("legalize", "relax.matmul")[0]
X = np.random.default_rng(0).random((64, 32), dtype=np.float32) - np.float32(0.5)
W = np.random.default_rng(1).random((32, 16), dtype=np.float32)
EXPECTED = np.maximum(X @ W, 0)


@relax.function
def model(x: relax.Tensor(("n", 32), "float32"), w: relax.Tensor((32, 16), "float32")):
    return relax.nn.relu(relax.matmul(x, w))


@relax.function
def fixed(x: relax.Tensor((64, 32), "float32"), w: relax.Tensor((32, 16), "float32")):
    return relax.nn.relu(relax.matmul(x, w))


def product(k, a, b, out):
    return MATMUL(k, a, b, out)


def steps(sch):
    i, j, _ = sch.get_loops(sch.get_block("contract"))
    sch.parallel(i)
    sch.split(j, [None, 8])


def schedule():
    """A Schedule of the kernel that the rule makes for ``fixed``, with the steps taken."""
    sch = legato.Schedule(legato.lower(fixed, rules=[legato.kernel("relax.matmul")(product)], last="legalized"), "kernel_matmul")
    steps(sch)
    return sch


def ruled(given):
    return [legato.kernel("relax.matmul", schedule=given)(product)]


@pytest.mark.parametrize("form, said", [
    ("function", "steps (messages/test_rule_schedules.py:"), ("schedule", "the schedule of @kernel_matmul"), ("text", "a script"),
    ("path", "steps.mlir")])
@pytest.mark.parametrize("graph", [model, fixed])
def test_all_forms(form, said, graph, tmp_path):
    given: Any = steps if form == "function" else schedule()
    if form in ("text", "path"):
        given = given.trace
    if form == "path":
        (tmp_path / "steps.mlir").write_text(given)
        given = tmp_path / "steps.mlir"
    scheduled = str(legato.lower(graph, rules=ruled(given), last="scheduled"))
    assert "scf.forall" in scheduled or "scf.parallel" in scheduled
    assert "@schedule_of_kernel_matmul" in str(legato.lower(graph, rules=ruled(given), last="fused"))
    exe = legato.compile(graph, rules=ruled(given))
    np.testing.assert_allclose(exe(X, W), EXPECTED, rtol=1e-4, atol=1e-6)
    record = next(r for r in exe.explain().records if r.op == "relax.matmul")
    assert said in record.schedule
    assert f"@kernel_matmul, scheduled by {record.schedule}" in str(exe.explain())
    assert json.loads(exe.explain().json())["ops"][0]["schedule"] == record.schedule
    assert [k.form for k in exe.explain().kernels if k.kernel == "kernel_matmul"] == ["scheduled"]


def test_a_function_without_steps_leaves_the_kernel_to_the_target():
    exe = legato.compile(fixed, rules=ruled(lambda sch: None))
    assert [k.form for k in exe.explain().kernels] == ["structured"]
    np.testing.assert_allclose(exe(X, W), EXPECTED, rtol=1e-4, atol=1e-6)


def test_each_shape_has_its_own_kernel_and_steps():
    @relax.function
    def two(x: relax.Tensor((64, 32), "float32"), w: relax.Tensor((32, 16), "float32"), v: relax.Tensor((16, 8), "float32")):
        return relax.matmul(relax.matmul(x, w), v)

    seen = []

    def by_shape(sch):
        *_, j, _ = sch.get_loops(sch.get_block("contract"))
        seen.append(sch.get(j).opview.extent)
        sch.vectorize(sch.split(j, [None, 8])[1])

    v = np.random.default_rng(2).random((16, 8), dtype=np.float32)
    np.testing.assert_allclose(legato.compile(two, rules=ruled(by_shape))(X, W, v), X @ W @ v, rtol=1e-4, atol=1e-5)
    assert seen == [16, 8]


def test_a_rewrite_to_a_kernel_written_by_hand():
    @T.prim_func
    def clipped(X: T.Buffer((64, 16), "float32"), Y: T.Buffer((64, 16), "float32")):
        for i, j in T.grid(64, 16):
            with T.block("clip"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    def over_rows(sch):
        sch.parallel(sch.get_loops(sch.get_block("clip"))[0])

    rule = legato.rewrite("relax.relu", schedule=over_rows)(lambda op, x: op.call_prim_func(clipped))
    exe = legato.compile(fixed, rules=[rule])
    np.testing.assert_allclose(exe(X, W), EXPECTED, rtol=1e-4, atol=1e-6)
    found = next(r for r in exe.explain().records if r.op == "relax.relu").schedule
    assert found is not None and found.startswith("over_rows")


def test_a_target_has_such_rules(tmp_path, capfd):
    user = tmp_path / "device.py"
    user.write_text("""
import legato
from legato import kernels

legato.register_target(legato.Target("device", parents=("llvm",)))

def over_rows(sch):
    sch.parallel(sch.get_loops(sch.get_output_blocks()[-1])[0])

@legato.legalize("relax.relu", target="device", schedule=over_rows)
def clipped(k, x, out):
    return kernels.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0)))
""")
    graph = tmp_path / "graph.mlir"
    graph.write_text(str(fixed.module()))
    legalize = ["--load", str(user), str(graph), "--relax-legalize=target=device"]
    assert legato_opt.main(legalize) == 0
    assert "tir.schedule = @schedule_of_kernel_relu" in capfd.readouterr().out
    assert legato_opt.main([*legalize, "--explain"]) == 0
    assert "@kernel_relu, scheduled by over_rows (" in capfd.readouterr().out


@pytest.mark.parametrize("given, message", [
    (3, "schedule= is a function that is given a Schedule"),
    (lambda sch: sch.get_block("nope"), "there is no block 'nope' in @kernel_matmul, whose blocks are: contract"),
    (lambda sch: 1 / 0, r"the schedule <lambda> \(messages/test_rule_schedules.py:\d+\) raised ZeroDivisionError"),
    (lambda sch: sch.pack(sch.get_block("contract"), 1, (16, 16)), "packs a parameter, which the callers would have to do by graph ops"),
    ("module {}", "a schedule is a transform.named_sequence"),
])
def test_what_is_no_schedule_names_the_rule(given, message):
    who = r"(?s)the rule product \(messages/test_rule_schedules.py:\d+\).* on relax.matmul: .*"
    with pytest.raises(legato.LegatoError, match=who + message):
        legato.compile(fixed, rules=ruled(given))


def test_a_schedule_of_another_kernel_names_the_step():
    with pytest.raises(legato.LegatoError, match=r"(?s)no block 'contract'.*in the schedule @schedule_of_kernel_relu"):
        legato.compile(fixed, rules=[legato.kernel("relax.relu", schedule=schedule())(
            lambda k, x, out: kernels.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0))))])


def test_forms_that_cannot_work():
    sch = schedule()
    with pytest.raises(legato.LegatoError, match=r"a schedule is an argument of a rule: @legato.kernel\(..., schedule=...\)"):
        legato.compile(fixed, rules={"relax.matmul": sch})
    with pytest.raises(legato.LegatoError, match="its schedule is given beside it, by schedule="):
        legato.compile(fixed, rules={"relax.matmul": lambda k, a, b, out: sch})
    with pytest.raises(legato.LegatoError, match="it has a schedule=, and makes no kernel for it"):
        legato.compile(fixed, rules=[legato.rewrite("relax.relu", schedule=steps)(lambda op, x: op.call_packed("npu.relu"))])
    with pytest.raises(legato.LegatoError, match=r"math\.exp is computed inside of kernels that are scheduled already"):
        make_rules(("math.exp",), "intrinsic", lambda op, x: x, schedule=steps)
