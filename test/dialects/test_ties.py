"""Ties of results to outputs: what is made to be computed in its output, and what is not."""
import pytest

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.loading import make_context

HEAD = """
#id = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<4x6xf32>, %d: tensor<?x6xf32>, %out: tensor<{out}xf32>) -> tensor<{out}xf32> {{
  %one = arith.constant 1.0 : f32
  %n = arith.constant 2 : index
  %e = tensor.empty() : tensor<4x6xf32>
"""
EXP = """linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x : tensor<4x6xf32>) outs({init} : tensor<4x6xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  }} -> tensor<4x6xf32>
"""


def kernel(body: str, out: str, result: str) -> str:
    return HEAD.format(out=out) + body + f"  return {result} : tensor<{out}xf32>\n}}"


FILL = "  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>\n"
TIED = {
    "an op on an empty tensor": kernel("  %0 = " + EXP.format(init="%e"), "4x6", "%0"),
    "behind a fill": kernel(FILL + "  %0 = " + EXP.format(init="%f"), "4x6", "%0"),
    "collapsed": kernel("  %0 = " + EXP.format(init="%e") +
                        "  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>\n", "24", "%1"),
    "expanded": kernel(FILL + "  %0 = " + EXP.format(init="%f") + "  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 2, 6] : "
                       "tensor<4x6xf32> into tensor<2x2x6xf32>\n", "2x2x6", "%1"),
    "a slice of it computed elsewhere": kernel("  %0 = tensor.insert_slice %x into %e[0, 0] [4, 6] [1, 1] : tensor<4x6xf32> into "
                                               "tensor<4x6xf32>\n", "4x6", "%0"),
}
KEPT = {
    "what it overwrites is read again": kernel(FILL + "  %0 = " + EXP.format(init="%f") +
                                               "  %1 = linalg.add ins(%f, %0 : tensor<4x6xf32>, tensor<4x6xf32>) "
                                               "outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>\n", "4x6", "%1"),
    "a view of an input": kernel("  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>\n", "24", "%0"),
}


def ties(text: str) -> tuple[bool, str]:
    """Whether the one result is tied by ``tie_outputs``, and the kernel then."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        function = module.body.operations[0]
        assert not any(tir.is_tied(value, out) for value, out in tir.results_with_outputs(function))
        tir.tie_outputs(function)
        module.operation.verify()
        return all(tir.is_tied(value, out) for value, out in tir.results_with_outputs(function)), str(module)


@pytest.mark.parametrize("case", TIED)
def test_a_result_is_computed_in_its_output(case):
    assert ties(TIED[case])[0]


@pytest.mark.parametrize("case", KEPT)
def test_a_result_that_cannot_be_computed_in_its_output_stays(case):
    tied, text = ties(KEPT[case])
    assert not tied and text.count("%arg2") == 1  # as an argument


def test_an_output_is_reshaped_the_other_way():
    assert "tensor.expand_shape %arg2 [[0, 1]] output_shape [4, 6]" in ties(TIED["collapsed"])[1]
    assert "tensor.collapse_shape %arg2 [[0, 1], [2]]" in ties(TIED["expanded"])[1]
