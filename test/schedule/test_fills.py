"""Fills of reductions with several results: blocks of their own where one has the reduced axis, or starts from something else."""
import numpy as np
import pytest

import legato
from legato import Schedule

KERNEL = """
#whole = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
func.func private @kernel(%a: tensor<5x7xf32>, %b: tensor<5xf32>, %first: TYPE {tir.out}, %sums: tensor<5xf32> {tir.out})
    -> (TYPE, tensor<5xf32>) attributes {tir.prim_func} {
  %c = arith.constant 2.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%first : TYPE) -> TYPE
  %1 = START
  %2:2 = linalg.generic {indexing_maps = [#whole, MAP, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x7xf32>) outs(%0, %1 : TYPE, tensor<5xf32>) {
  ^bb0(%x: f32, %k: f32, %s: f32):
    %3 = arith.addf %k, %x : f32
    %4 = arith.addf %s, %x : f32
    linalg.yield %3, %4 : f32, f32
  } -> (TYPE, tensor<5xf32>)
  return %2#0, %2#1 : TYPE, tensor<5xf32>
}
func.func @main(%a: tensor<5x7xf32>, %b: tensor<5xf32>) -> (TYPE, tensor<5xf32>) {
  %0 = tensor.empty() : TYPE
  %1 = tensor.empty() : tensor<5xf32>
  %2:2 = call @kernel(%a, %b, %0, %1) : (tensor<5x7xf32>, tensor<5xf32>, TYPE, tensor<5xf32>) -> (TYPE, tensor<5xf32>)
  return %2#0, %2#1 : TYPE, tensor<5xf32>
}"""
FILL = "linalg.fill ins(%c : f32) outs(%sums : tensor<5xf32>) -> tensor<5xf32>"
NEGATIVE = """linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%b : tensor<5xf32>) outs(%sums : tensor<5xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.negf %x : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>"""
CASES = {    # the first result has the reduced axis; what the second one starts from; blocks
    "both are sums": (False, FILL, ["reduce"]), "one has the reduced axis": (True, FILL, ["fill", "fill_1", "reduce"]),
    "one starts from a tensor": (False, NEGATIVE, ["fill", "map", "reduce"]), "both": (True, NEGATIVE, ["fill", "map", "reduce"])}


@pytest.mark.parametrize("case", CASES)
def test_where_a_reduction_begins(case):
    is_kept, start, names = CASES[case]
    text = KERNEL.replace("TYPE", "tensor<5x7xf32>" if is_kept else "tensor<5xf32>").replace("MAP", "#whole" if is_kept else "#rows")
    sch = Schedule(legato.Module.parse(text.replace("START", start)))
    for name in names:
        sch.get_block(name)
    if names == ["reduce"]:
        sch.decompose_reduction(sch.get_block("reduce"), sch.get_loops(sch.get_block("reduce"))[-1])
    a, b = np.random.default_rng(0).standard_normal((5, 7), np.float32), np.arange(5, dtype=np.float32)
    first, sums = legato.compile(sch.module, "llvm{fill-memory=true}")(a, b)
    np.testing.assert_allclose(first, a + 2 if is_kept else a.sum(1) + 2, rtol=1e-5)
    np.testing.assert_allclose(sums, a.sum(1) + (2 if start == FILL else -b), rtol=1e-5, atol=1e-6)
