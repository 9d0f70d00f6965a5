"""``explain`` on graphs with branches: their ops have rules, reasons and kernels like all others, and patterns are asked of all of them."""
# pyright: reportInvalidTypeForm=false
import pytest

import legato
from legato.passes.pipeline.base import PassContext
from legato.patterns import composite, is_op, wildcard
from legato.script import relax as R


@R.function
def chooses(c: R.Tensor((), "bool"), x: R.Tensor(("n", 8), "float32")):
    s = R.sigmoid(x)
    if c:
        t = R.exp(x)
        y = R.tanh(t)
    else:
        e = R.erf(s)
        y = R.nn.softmax(e)
    z = R.add(y, s)
    return z


def never(k, x, out):
    return legato.Refusal("never today")


def test_rules_refuse_ops_in_branches_with_a_reason():
    told = legato.explain(chooses, rules=[legato.kernel("relax.exp", "relax.erf")(never)[0], legato.kernel("relax.erf")(never)])
    found = {r.op: r for r in told.records if r.type is None}
    assert [found[op].name for op in ("relax.exp", "relax.tanh", "relax.erf", "relax.softmax")] == ["t", "y", "e", "y"]
    assert found["relax.exp"].refused == [("llvm", "never", "never today")] == found["relax.erf"].refused
    assert {k.ops for k in told.kernels} >= {("relax.exp t", "relax.tanh y"), ("relax.erf e", "relax.softmax y")}
    assert str(told).count("llvm/never refused: never today") == 2


class Device(legato.Backend):
    name = "device"
    patterns = [composite("exp", is_op("relax.exp")(wildcard()), lambda match: "no exp here"),
                composite("tanh", is_op("relax.tanh")(is_op("relax.exp")(wildcard()))),
                composite("erf", is_op("relax.erf")(is_op("relax.sigmoid")(wildcard()))),
                composite("log", is_op("relax.log")(wildcard()))]

    def codegen(self, module, options):
        raise NotImplementedError


@pytest.fixture(scope="module")
def records():
    context = PassContext()
    legato.partition(chooses.module(), [Device], codegen=False, context=context)
    return [(r.pattern, r.ops, r.reason) for r in context.report["partition"]]


def test_a_pattern_is_missing_only_where_no_block_has_its_op(records):
    assert [(pattern, reason) for pattern, ops, reason in records if not ops] == [("log", "the graph has no relax.log that is not taken")]


def test_reasons_of_ops_in_branches(records):
    assert ("exp", ('relax.exp "t"',), "no exp here") in records
    assert ("tanh", ('relax.exp "t"', 'relax.tanh "y"'), None) in records
    assert ("erf", ('relax.erf "e"',), 'expected relax.sigmoid, found relax.sigmoid "s" outside of the branch or loop') in records


def test_patterns_without_an_op_share_a_line():
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        return y

    class Many(legato.Backend):
        name = "many"
        patterns = [(name, is_op(f"relax.{name}")(wildcard())) for name in ("sin", "cos", "tan", "log", "erf", "abs", "tanh")]

    text = str(legato.explain(main.module(), backends=[Many]))
    assert "many: the graph has nothing for the patterns sin, cos, tan and 4 more" in text and "relax.log" not in text
