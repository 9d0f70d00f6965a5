"""IR of every stage is reduced to what fails."""
import numpy as np
import pytest
from thoroughly import sampled

import legato
from legato.core.weights import WeightStore
from legato.dialects import Module

GRAPH = """
func.func @main(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"})
    -> (tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "y"}, tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "z"}) {
  %w = "relax.constant"() {weight = "w"} : () -> tensor<64x64xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>> loc("a")
  %1 = "relax.relu"(%0) : (tensor<?x64xf32, #relax.dims<["n", 64]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  %2 = "relax.softmax"(%1) {axis = 1 : i64} : (tensor<?x64xf32, #relax.dims<["n", 64]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  %3 = "relax.add"(%2, %0) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<?x64xf32, #relax.dims<["n", 64]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %3, %1 : tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<?x64xf32, #relax.dims<["n", 64]>>
}"""  # noqa: E501


def graph():
    weights = WeightStore()
    weights.add("w", np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    return Module.parse(GRAPH, weights)


def names(module):
    return [op.operation.name for function in module.functions() if function.body.blocks for op in function.entry_block.operations]


def test_one_op_of_a_graph_is_left():
    found = legato.reduce(graph(), lambda module: "relax.softmax" in str(module))
    assert names(found.model) == ["relax.softmax", "func.return"] and "tensor<1x1xf32>" in str(found.model)
    assert len(found.model.weights) == 0 and found.finished


def test_weights_are_cut_and_then_zeros():
    found = legato.reduce(graph(), lambda module: {"relax.matmul", "relax.constant"} <= set(names(module))).model
    assert sorted(names(found)) == ["func.return", "relax.constant", "relax.matmul"]
    assert "dense<0.000000e+00> : tensor<1x1xf32>" in str(found)


@pytest.mark.parametrize(("stage", "op"), sampled([
    ("legalized", "math.exp"), ("scheduled", "vector.transfer_write"), ("bufferized", "memref.dim"), ("llvm", "llvm.fmul")], 3, 2))
def test_kernels_of_each_stage(stage, op):
    module = legato.lower(graph(), "llvm{cpu=x86-64-v3}", last=stage)
    before = str(module).count("\n")
    found = legato.reduce(module, lambda module: op in str(module)).model
    assert op in str(found) and found.operation.verify() and str(found).count("\n") < before / 4


def test_a_branch_takes_the_place_of_its_if():
    text = """func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %c -> (tensor<4xf32>) {
    %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}"""
    found = legato.reduce(Module.parse(text), lambda module: "relax.exp" in str(module)).model
    assert "scf.if" not in str(found) and "tensor<1xf32>" in str(found)


def test_a_pass_that_fails():
    """The reason stays the same: ``fails`` looks at the message."""
    text = """func.func private @f(%x: tensor<8xf32>, %y: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func} {
  %0 = tensor.empty() : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tensor.empty() : tensor<8xf32>
  %1 = call @f(%e, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = "relax.log"(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}"""

    def fails(module):
        @legato.kernel("relax.log")
        def rule(op, target):
            return legato.Refusal("no logarithms today")

        try:
            legato.lower(module, last="legalized", rules=[rule])
        except legato.LegatoError:
            return "relax.log" in str(module)
        return "relax.log" in str(module) and "relax.exp" in str(module)

    found = legato.reduce(Module.parse(text), fails).model
    assert "relax.log" in str(found) and str(found).count("\n") <= 8
