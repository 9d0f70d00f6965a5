"""legato.compile and legato.lower: what they take."""
import inspect

import pytest

import legato

TEXT = """func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> (tensor<4xf32> {relax.name = "y"}) {
  %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


@pytest.mark.parametrize("module", ["model.onnx", b"", None, 3])
def test_what_is_no_module_is_refused(module):
    with pytest.raises(legato.LegatoError, match=r"legato\.from_onnx makes one of a file or a ModelProto"):
        legato.compile(module)


@pytest.mark.parametrize(("target", "message"), [
    (None, "a target is a text such as"), (3, "a target is a text such as"), ("", "'' is no target"), ("llvm{", "is no target"),
    ("lvm", "did you mean 'llvm'"), ("llvm{cpu=zzz}", "unknown CPU 'zzz'"), ("llvm{threads=0}", "threads=0: code runs on at least one"),
    ("llvm{threads=x}", "wants int, found 'x'"), ("generic", "has no pipeline of its own"),
])
def test_what_is_no_target_is_refused(target, message):
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(legato.Module.parse(TEXT), target)


def test_an_unknown_stage_is_refused():
    with pytest.raises(legato.LegatoError, match="has no stage 'fussed'; did you mean 'fused'"):
        legato.lower(legato.Module.parse(TEXT), last="fussed")


@pytest.mark.parametrize("call", [legato.compile, legato.lower, legato.explain, legato.view])
def test_the_module_is_left_as_it_is(call):
    module = legato.Module.parse(TEXT)
    before = str(module)
    call(module)
    assert str(module) == before


def test_functions_on_modules_say_what_they_do_to_them():
    functions = [value for name in legato.__all__ if inspect.isfunction(value := getattr(legato, name))]
    taking = [one for one in functions if "module" in inspect.signature(one).parameters]
    assert {legato.compile, legato.lower, legato.partition, legato.view} < {*taking}
    for function in [*taking, legato.replace, legato.Pipeline.run]:
        text = inspect.getdoc(function) or ""
        assert any(words in text for words in ("copy", "in place", "is not changed")), f"{function.__name__}: a copy, or in place?"


@pytest.mark.parametrize("call", [legato.compile, legato.lower, legato.explain])
@pytest.mark.parametrize("given", [{"costs": [object()]}, {"backend_options": {"onnxruntime": ""}}])
def test_what_goes_with_backends_is_refused_without(call, given):
    with pytest.raises(legato.LegatoError, match=f"{next(iter(given))}= is about the parts that backends take, and no backends= are given"):
        call(legato.Module.parse(TEXT), **given)


def test_backends_take_parts_of_graphs_only():
    module = legato.Module.parse(TEXT)
    with pytest.raises(legato.LegatoError, match="from_stage=fused is past that"):
        legato.compile(legato.lower(module, last="fused"), from_stage="fused", backends=["onnxruntime"])
    legato.lower(legato.lower(module, last="relax"), from_stage="relax", backends=[])


def test_a_target_of_its_own_is_not_legatos():
    with pytest.raises(legato.LegatoError, match=r'no pipeline of its own.*Legato\'s own is named by its text: target="llvm"'):
        legato.compile(legato.Module.parse(TEXT), legato.Target("llvm"))
    assert repr(legato.Target("npu", parents=("llvm",))) == "<legato.Target npu: 0 rules, parents llvm>"
