"""From how many rows on the weight of a matmul is transposed is said by the target's machine."""
from dataclasses import replace

import pytest

from legato.analysis.structured import StructuredKernel
from legato.core.mlir import ir
from legato.dialects import Module, tir
from legato.passes.structured.convert_kernel_layout import convert
from legato.targets.cpu.machine import Machine

TEXT = """#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func private @matmul(%a: tensor<4x16xf64>, %b: tensor<32x16xf64>, %out: tensor<4x32xf64> {tir.out})
    -> tensor<4x32xf64> attributes {tir.prim_func} {
  %0 = linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<4x16xf64>, tensor<32x16xf64>)
      outs(%out : tensor<4x32xf64>) -> tensor<4x32xf64>
  return %0 : tensor<4x32xf64>
}"""


@pytest.mark.parametrize("rows, transposed", [(4, True), (5, False)])
def test_the_machine_says_from_how_many_rows(rows, transposed):
    module = Module.parse(TEXT)
    machine = replace(Machine.named("x86-64-v3"), transpose_rows=rows)
    (kernel,) = tir.prim_funcs(module.module)
    with module.context, ir.Location.unknown():
        assert convert(StructuredKernel(kernel), machine, []) is transposed
    assert ("linalg.generic" in str(module.module)) is transposed
