"""relax-legalize: the fallback chain, refusals, and what goes wrong with rules."""

import pytest

from legato.core.errors import LegatoError, Refusal
from legato.core.mlir import arith, func, ir, linalg
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.passes.legalize.legalize import Legalize
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.generic import RULES
from legato.targets.rule import kernel, rewrite
from legato.targets.target import Target

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("/gelu/Exp")
  %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("/Tanh")
  return %1 : tensor<4xf32>
}
"""
GENERIC = Target("generic", rules=RULES)
TYPE = 'tensor<?x4xf32, #relax.dims<["k", 4]>>'


def legalize(*rules, parents=(GENERIC,), text=TEXT):
    module = Module.parse(text)
    target = Target("npu", parents=parents, rules=rules)
    context = PassContext(resolve_target=lambda _: target)
    PassPipeline([Legalize("npu")]).run(module, context)
    return str(module), {r.op: r for r in context.report["legalize"]}


@kernel("relax.exp")
def copy_instead(k, x, out):
    return linalg.copy(x, outs=[out])


@kernel("relax.exp")
def refuses(k, x, out):
    return Refusal("knows only exponents that are powers of two")


@kernel("relax.tanh", when=(lambda op: "rank is not 2" if op.input_types[0].rank != 2 else True,))
def only_matrices(k, x, out):
    raise AssertionError("the predicate keeps this rule away")


@rewrite("relax.tanh")
def as_sigmoid(op, x):
    return relax.sigmoid(x)


@kernel("relax.exp")
def wrong_type(k, x, out):
    return arith.ConstantOp(out.type.element_type, 1.0).result


@rewrite("relax.exp")
def wrong_shape(op, x):
    return relax.expand_dims(x, axis=[0])


@rewrite("relax.exp")
def wrong_dtype(op, x):
    return relax.astype(x, dtype="f16")


@kernel("relax.exp")
def raises(k, x, out):
    return {}["no such key"]


def test_the_nearest_rule_wins_and_the_report_says_so():
    text, report = legalize(copy_instead)
    assert "linalg.copy" in text and "math.exp" not in text
    assert (report["relax.exp"].target, report["relax.exp"].rule) == ("npu", "copy_instead")
    assert report["relax.exp"].source.startswith("legalize/test_legalize.py:")
    assert report["relax.tanh"].target == "generic" and report["relax.tanh"].name == "/Tanh"


def test_a_refusal_falls_back_and_leaves_nothing_behind():
    text, report = legalize(refuses, only_matrices)
    assert report["relax.exp"].target == "generic"
    assert report["relax.exp"].refused == [("npu", "refuses", "knows only exponents that are powers of two")]
    assert report["relax.tanh"].refused == [("npu", "only_matrices", "rank is not 2")]
    assert text.count("func.func private") == 2


def test_a_rewrite_gives_ops_that_are_legalized_in_turn():
    text, report = legalize(as_sigmoid)
    assert report["relax.tanh"].rule == "as_sigmoid" and report["relax.sigmoid"].target == "generic"
    assert '"relax.' not in text.replace('relax.ops = ["relax.', "")  # no op of the graph is left


def test_what_no_rule_takes_is_listed_in_one_error():
    with pytest.raises(LegatoError) as error:
        legalize(refuses, only_matrices, parents=())
    message = str(error.value)
    assert "2 op(s) have no legalization for target 'npu' (npu)" in message
    assert "relax.exp '/gelu/Exp': npu/refuses refused: knows only exponents that are powers of two" in message
    assert "relax.tanh '/Tanh': npu/only_matrices refused: rank is not 2" in message


@rewrite("relax.exp")
def forgets_to_mark_its_output(op, x):
    type_ = tir.plain_type(x.type)
    with ir.InsertionPoint.at_block_begin(op.op.operation.parent.block):
        kernel = func.FuncOp("mine", ir.FunctionType.get([type_, type_], [type_]), visibility="private")
        with ir.InsertionPoint(kernel.add_entry_block()):
            func.ReturnOp([kernel.arguments[0]])
    kernel.attributes["tir.prim_func"] = ir.UnitAttr.get()
    return func.CallOp([type_], "mine", [op.plain(x), op.plain(x)]).results


@pytest.mark.parametrize("rule, expected", [
    (forgets_to_mark_its_output, ["the rule forgets_to_mark_its_output (legalize/test_legalize.py:", "of target 'npu'",
                                  "relax.exp '/gelu/Exp'", "prim_func @mine", "the last 1 of 2 arguments must be marked tir.out"]),
    (wrong_type, ["the rule wrong_type", "relax.exp '/gelu/Exp'", "its body returns f32 but the op has tensor<4xf32>"]),
    (wrong_shape, ["the rule wrong_shape", "target 'npu'", "gives tensor<1x4xf32> for relax.exp '/gelu/Exp', whose results are tensor<4x"]),
    (wrong_dtype, ["the rule wrong_dtype", "gives tensor<4xf16> for relax.exp"]),
    (raises, ["the rule raises", "target 'npu'", "KeyError", "relax.exp '/gelu/Exp'", "(at legalize/test_legalize.py:"]),
])
def test_a_broken_rule_is_named(rule, expected):
    with pytest.raises(LegatoError) as error:
        legalize(rule)
    for part in expected:
        assert part in str(error.value)
    assert "\n" not in str(error.value)  # no frames of the compiler's


def test_without_the_conversion_engine_nothing_is_legalized(monkeypatch):
    monkeypatch.setattr("legato.passes.legalize.conversion.rewrite.apply_partial_conversion", lambda *_: None)
    with pytest.raises(LegatoError, match="no legalization"):
        legalize()


def test_a_thousand_ops_share_five_kernels():
    """How its work grows is counted in test/run/test_linear.py."""
    ops = ("exp", "tanh", "relu", "sigmoid", "sqrt")
    lines = [f'%{i + 1} = "relax.{ops[i % 5]}"(%{i}) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("layer{i}")' for i in range(1000)]
    body = "\n".join(lines).replace("(%0)", "(%x)", 1)
    module = Module.parse(f"func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{\n{body}\nreturn %1000 : tensor<4x8xf32> }}")
    PassPipeline([Legalize("npu")], verify=False).run(module, PassContext(resolve_target=lambda _: GENERIC))
    assert str(module).count(" call @") == 1000
    assert str(module).count("func.func private") == 5


def test_a_built_kernel_does_not_verify_the_rest(monkeypatch):
    """Ops are verified as often as the pass and its conversion do, not once for each kernel."""
    @rewrite("relax.negative")
    def built(op, x):
        return op.call_built(lambda ins, outs: [linalg.copy(ins[0], outs=[outs[0]])], [x], op.output_types, [[]])

    verified, verify = [], relax.OPS["exp"]._verify
    monkeypatch.setattr(relax.OPS["exp"], "_verify", lambda op: (verified.append(op), verify(op))[1])
    counts = []
    for number in (1, 20):
        body = ["func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {", '%e = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>']
        body += [f'%{n} = "relax.negative"(%{n - 1 if n else "e"}) : (tensor<4xf32>) -> tensor<4xf32>' for n in range(number)]
        verified.clear()
        legalize(built, text="\n".join([*body, f"return %{number - 1} : tensor<4xf32>", "}"]))
        counts.append(len(verified))
    assert counts[0] == counts[1] > 0


def test_a_symbol_that_data_defines_is_computed_once():
    """Behind the op that defines it, and not at all where nothing asks for it: a search for that op at each use is quadratic."""
    uses = "\n".join(f'  %e{i} = "relax.exp"(%{"y" if i == 0 else f"e{i - 1}"}) : ({TYPE}) -> {TYPE}' for i in range(20))
    text = f"""
func.func @main(%x: tensor<4xf32>, %n: tensor<2xi64>) -> {TYPE} {{
  %s = "relax.size_of"(%n) {{sizes = #relax.dims<["k", "unused"]>}} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["k", "unused", 0]>>
  %y = "relax.broadcast_to"(%x) {{shape = #relax.dims<["k", 4]>}} : (tensor<4xf32>) -> {TYPE}
{uses}
  return %e19 : {TYPE}
}}"""
    made, _ = legalize(text=text)
    main = made[made.index("@main"):]
    main = main[:main.index("\n  }")]
    assert main.count("call @kernel_exp") == 20 and main.count("tensor.dim") == 1, main
