"""The conventions of prim_funcs."""

import pytest

from legato.core.errors import LegatoError
from legato.dialects import Module, tir

KERNEL = """
func.func private @double(%n: index, %x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def check(text):
    tir.check_prim_funcs(Module.parse(text))


def test_a_prim_func():
    check(KERNEL)
    check("func.func @main() { return }")
    check('func.func private @packed(tensor<4xf32>, tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {relax.packed = "f"}')


def declaration(arguments, results, visibility="private "):
    return f"func.func {visibility}@k({arguments}) -> {results} attributes {{tir.prim_func}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (KERNEL.replace("private ", ""), "prim_func @double must be private"),
        (KERNEL.replace("{tir.prim_func}", "{tir.prim_func, tir.fixed}"), 'is marked tir.fixed: write tir.state = "written"'),
        (
            declaration("tensor<4xf32>, tensor<4xf32>", "tensor<4xf32>"),
            "prim_func @k: the last 1 of 2 arguments must be marked tir.out, one for each result; marked are: none",
        ),
        (
            declaration("tensor<4xf32> {tir.out}, tensor<4xf32>", "tensor<4xf32>"),
            "the last 1 of 2 arguments must be marked tir.out, one for each result; marked are: 0",
        ),
        (
            declaration("tensor<4xf32> {tir.out}", "tensor<3xf32>"),
            "argument 0 is the output tensor<4xf32>, but the result is tensor<3xf32>",
        ),
        (
            declaration('tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32> {tir.out}', "tensor<4xf32>"),
            "argument 0 must have a plain type, tensor<\\?xf32>",
        ),
        (declaration("tensor<4xui8> {tir.out}", "tensor<4xui8>"), "argument 0 must have a plain type, tensor<4xi8>, is tensor<4xui8>"),
        (declaration("tensor<4xi1> {tir.out}", "tensor<4xi1>"), "argument 0 must have a plain type, tensor<4xi8>, is tensor<4xi1>"),
        (declaration("f32, tensor<4xf32> {tir.out}", "tensor<4xf32>"), "argument 0 must be a ranked tensor or an index, is f32"),
        (declaration("index {tir.out}", "index"), "argument 0 must be a ranked tensor or an index, is index"),
        (
            "func.func private @k(tensor<4xf32> {tir.out})",
            "prim_func @k has arguments marked tir.out, but is not marked as one of: tir.prim_func",
        ),
    ],
)
def test_what_breaks_the_conventions(text, message):
    with pytest.raises(LegatoError, match=message):
        check(text)


def test_the_kernel_is_named_as_the_model_names_it():
    with pytest.raises(LegatoError, match=r'prim_func @double "layer/Add" must be private'):
        check(KERNEL.replace("private ", "").rstrip() + ' loc("layer/Add")')
