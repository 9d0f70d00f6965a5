"""A saved pipeline that names a pass without those that complete its work has a warning."""
import pytest

import legato
from legato.driver import lower
from legato.report import Report
from legato.script import R

BEHIND = "func.func(canonicalize,linalg-fuse-elementwise-ops,canonicalize,cse),tir-tie-outputs"


@R.function
def chain(x: R.Tensor((8, 8), "float32")):
    return R.exp(R.tanh(R.nn.relu(x)))


@pytest.mark.parametrize("text, missing", [
    ("tir-fuse,symbol-dce", "linalg-fuse-elementwise-ops and tir-tie-outputs"),
    ("tir-fuse,symbol-dce,func.func(canonicalize,linalg-fuse-elementwise-ops)", "tir-tie-outputs"),
    (f"{BEHIND},tir-fuse,symbol-dce", "linalg-fuse-elementwise-ops and tir-tie-outputs"),
    (f"tir-fuse,symbol-dce,{BEHIND}", None),
    ("tir-fuse", None),    # to see what it does
])
def test_fusion_without_the_passes_that_complete_it(text, missing):
    context = legato.PassContext()
    legato.Pipeline(text).run(lower(chain.module(), last="legalized", report=Report()), context)
    said = [w for w in context.warnings if w.startswith("tir-fuse is not followed by ")]
    assert [w.split(",")[0] for w in said] == ([f"tir-fuse is not followed by {missing}"] if missing else [])
