"""R.func_attr, T.func_attr and annotations in a script: hints to TVM's passes are ignored in silence; what else is dropped is said, at its
line."""
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


KERNEL = """
@T.prim_func
def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({MARK: True})
    for i in T.serial(4, annotations={"kept": 1, "unroll": float}):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.block_attr({"rule": int, "tile": [2, 2]})
            B[vi] = A[vi] + T.float32(1)
"""


def test_a_kernels_marks_are_dropped_with_a_warning():
    with pytest.warns(UserWarning) as found:
        kernel = parse(KERNEL.replace("MARK", "'my.mark'"), "kernel.py")
    told = {(w.filename, w.lineno, str(w.message).partition(" is dropped")[0]) for w in found}
    assert told == {("kernel.py", 4, "T.func_attr: the mark 'my.mark'"), ("kernel.py", 5, "the annotation 'unroll'"),
                    ("kernel.py", 8, "the annotation 'rule'")}
    assert "kept = 1" in str(kernel) and "tile = [2, 2]" in str(kernel)
    np.testing.assert_array_equal(legato.compile(kernel)(np.zeros(4, np.float32)), np.ones(4))


@pytest.mark.parametrize("hint", ["global_symbol", "tir.noalias", "tirx.noalias", "tir.is_entry_func"])
def test_tvms_hints_of_kernels_are_ignored(hint):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = parse(KERNEL.replace("MARK", repr(hint)).replace(', "unroll": float', "").replace('"rule": int, ', ""))
    assert 'tir.state = "written"' in str(kernel)


@pytest.mark.parametrize("mark", ["tir.is_scheduled", "tirx.is_scheduled"])
def test_scheduled_kernels_keep_their_loops(mark):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = parse(KERNEL.replace("MARK", repr(mark)).replace(', "unroll": float', "").replace('"rule": int, ', ""))
    assert 'tir.state = "scheduled"' in str(kernel)
