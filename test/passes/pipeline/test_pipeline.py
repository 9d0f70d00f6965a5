"""Pipelines in Python: lists of passes, what they print, verification, errors, reproducers."""
from dataclasses import dataclass

import numpy as np
import pytest

from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError, UnsupportedError
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.dialects import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, options_of
from legato.passes.pipeline.pipeline import PassPipeline, PipelineError, external
from legato.passes.pipeline.registry import all_passes
from legato.passes.pipeline.reproducer import read_header

TEXT = """
module @npu attributes {relax.codegen = "npu"} {
  func.func @f() { %c = arith.constant 1 : i32 return }
}
func.func @main(%x: i32) -> i32 { %c = arith.constant 1 : i32 return %x : i32 loc("out") }
"""


@dataclass(frozen=True)
class Tag(ModulePass):
    """Put a tag on every function."""

    name = "t-tag"
    text: str = "t"

    def run(self, module, context):
        context.report.setdefault("tagged", []).extend(function.name.value for function in module.functions())
        for function in module.functions():
            function.attributes["tag"] = ir.StringAttr.get(self.text)


@dataclass(frozen=True)
class Fail(ModulePass):
    name = "t-fail"
    kind: str = "pass"
    target: TargetText | None = None

    def run(self, module, context):
        if self.kind == "unsupported":
            raise UnsupportedError("three things")
        if self.kind == "mlir":
            ir.Module.parse("nonsense")
        raise PassFailed("cannot go on", module.function("main").body.blocks[0].operations[1])


def test_lists_text_and_scopes_mix_and_print_as_text():
    pipeline = PassPipeline(["canonicalize", Tag("a b"), external("npu", [Tag(), "cse"]), external(None, "cse")], extra_passes=[Tag])
    assert str(pipeline) == 'canonicalize,t-tag{text="a b"},external<"npu">(t-tag,cse),external(cse)'
    again = PassPipeline(str(pipeline), extra_passes=[Tag])
    assert again.steps == pipeline.steps and again.names() == ["canonicalize", "t-tag", "t-tag", "cse", "cse"]


def test_passes_run_in_order_and_share_a_context():
    module, context = Module.parse(TEXT), PassContext()
    PassPipeline(["canonicalize,cse", Tag("x"), external("npu", Tag("y"))], extra_passes=[Tag]).run(module, context)
    assert context.report["tagged"] == ["main", "f"]
    assert [name for name, _ in context.times] == ["canonicalize,cse", "t-tag", "t-tag", "verify"]
    assert 'tag = "x"' in str(module) and 'tag = "y"' in str(module)


def test_a_pass_that_fails_names_itself_the_op_and_the_place():
    with pytest.raises(PassFailed) as caught:
        PassPipeline([Fail()]).run(Module.parse(TEXT))
    assert str(caught.value) == 't-fail failed on func.return "out": cannot go on'
    with pytest.raises(PassFailed, match="t-fail failed at -:1:1: "):
        PassPipeline([Fail("mlir")]).run(Module.parse(TEXT))


@dataclass(frozen=True)
class ForgetOutputs(ModulePass):
    """Make kernels whose outputs nobody marks."""

    name = "t-forget-outputs"

    def run(self, module, context):
        for function in module.functions():
            function.attributes["tir.prim_func"] = ir.UnitAttr.get()


def test_kernels_that_break_the_conventions_are_found_behind_the_pass_that_made_them():
    text = "func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    message = r"t-forget-outputs failed: it left IR that is not valid: prim_func @k: .* must be marked tir.out, one for each result"
    with pytest.raises(PassFailed, match=message):
        PassPipeline([Tag(), ForgetOutputs(), Tag()], verify_each=True).run(Module.parse(text))
    with pytest.raises(PassFailed, match=r"the pipeline failed: it left IR that is not valid .*: prim_func @k"):
        PassPipeline([ForgetOutputs()]).run(Module.parse(text))


def test_other_errors_of_ours_come_through_as_they_are():
    with pytest.raises(UnsupportedError, match="three things") as caught:
        PassPipeline([Fail("unsupported")]).run(Module.parse(TEXT))
    assert caught.value.__notes__ == ["in the pass t-fail"]


def test_external_modules_are_put_back_when_a_pass_fails():
    module = Module.parse(TEXT)
    before = str(module)
    with pytest.raises(PassFailed):
        PassPipeline([Fail()]).run(module)
    assert str(module) == before


def test_targets_are_looked_up_before_anything_runs():
    pipeline = PassPipeline("external(t-fail{target=abacus{beads=3}})", extra_passes=[Fail])
    asked = []
    pipeline.check(PassContext(resolve_target=asked.append))
    assert asked == ["abacus{beads=3}"]
    with pytest.raises(LegatoError, match="cannot be looked up"):
        pipeline.check(PassContext())


def test_what_is_no_pass_is_refused():
    with pytest.raises(PipelineError, match='did you mean "t-tag"'):
        PassPipeline("t-tga", extra_passes=[Tag])
    with pytest.raises(PipelineError, match="not of int: 3"):
        PassPipeline([3])


def test_the_reproducer_holds_the_state_in_front_of_the_failing_pass(tmp_path):
    weights = WeightStore()
    weights.add("w", np.ones(3, np.float32))
    weights.add("not used", np.ones(3, np.float32))
    module = Module.parse('func.func @main() -> tensor<3xf32> {\n%0 = "relax.constant"() {weight = "w"} : () -> tensor<3xf32>\n'
                          "return %0 : tensor<3xf32> }", weights)
    path = tmp_path / "r.mlir"
    with pytest.raises(PassFailed) as caught:
        PassPipeline([Tag(), Fail()], reproducer=path, command="none").run(module)
    assert caught.value.reproducer == str(path)
    assert read_header(path.read_text(), "r").pipeline == "t-fail"
    again = Module.load(path)
    assert list(again.weights) == ["w"] and 'tag = "t"' in str(again)
    assert sorted(module.weights) == ["not used", "w"]


@pytest.mark.parametrize("one", all_passes(), ids=lambda one: one.name)
def test_every_pass_is_documented_and_a_value(one):
    assert one.help(), f"{one.__name__} has no docstring"
    assert one() == one() and str(one()) == one.name
    assert all(option.help for option in options_of(one)), f"an option of {one.name} has no help"
    assert one.name.startswith(("relax-", "tir-"))


def test_names_of_passes_are_kebab_case():
    class Bad(Tag):
        name = "Bad_name"

    with pytest.raises(PipelineError, match="kebab-case"):
        PassPipeline("cse", extra_passes=[Bad])


@pytest.mark.parametrize("depth", [300, 3000])
def test_nesting_is_bounded(depth):
    with pytest.raises(PipelineError, match="pipelines inside each other more than 100 deep"):
        PassPipeline("func.func(" * depth + "cse" + ")" * depth)
