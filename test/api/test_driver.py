"""legato.compile and legato.lower: what they take."""
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


def test_the_module_is_left_as_it_is():
    module = legato.Module.parse(TEXT)
    before = str(module)
    legato.compile(module)
    assert str(module) == before
