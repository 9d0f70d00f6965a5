"""R.func_attr in a script: hints to TVM's passes are ignored in silence; any other mark is dropped with a warning at its line."""
import warnings

import numpy as np
import pytest

import legato
from legato.script import parse

TEXT = """
@I.ir_module
class Module:
    @R.function(private=True)
    def part(x: R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": 1, MARK: "npu.exp"})
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        return R.add(Module.part(x), Module.part(x))
"""


@pytest.mark.parametrize("mark, instead", [
    ("Composite", "give the backend to the compile"), ("relax.codegen", "give the backend to the compile"), ("my.mark", "a pass can mark")])
def test_a_mark_is_dropped_with_a_warning(mark, instead):
    with pytest.warns(UserWarning, match=f"R.func_attr: the mark '{mark}' is dropped; {instead}") as found:
        module = parse(TEXT.replace("MARK", repr(mark)), f"{mark}.py")
    assert {(w.filename, w.lineno) for w in found} == {(f"{mark}.py", 6)}
    np.testing.assert_allclose(legato.compile(module)(np.ones(4, np.float32)), np.exp(np.ones(4)) * 2, rtol=1e-5)


@pytest.mark.parametrize("hint", ["global_symbol", "op_pattern"])
def test_tvms_hints_are_ignored(hint):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(TEXT.replace("MARK", repr(hint)))
