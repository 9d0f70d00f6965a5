"""Structured kernels whose reduction does not read what it writes: the value of the last step stays, and it is written into the output."""
import numpy as np
import pytest

import legato

KERNEL = """
#rows = affine_map<(d0, d1) -> (d1, d0)>
#out = affine_map<(d0, d1) -> (d0)>
func.func @main(%a: tensor<{rows}x{columns}xf32> {{relax.name = "A"}}) -> (tensor<{columns}xf32> {{relax.name = "C"}}) {{
  %0 = tensor.empty() : tensor<{columns}xf32>
  %1 = call @last(%a, %0) : (tensor<{rows}x{columns}xf32>, tensor<{columns}xf32>) -> tensor<{columns}xf32>
  return %1 : tensor<{columns}xf32>
}}
func.func private @last(%a: tensor<{rows}x{columns}xf32>, %out: tensor<{columns}xf32> {{bufferization.writable = true, tir.out}})
    -> tensor<{columns}xf32> attributes {{tir.names = ["A", "C"], tir.prim_func}} {{
  %0 = linalg.generic {{indexing_maps = [#rows, #out], iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<{rows}x{columns}xf32>) outs(%out : tensor<{columns}xf32>) {{
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }} -> tensor<{columns}xf32>
  return %0 : tensor<{columns}xf32>
}}
"""


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64}", "llvm{threads=2}"])
@pytest.mark.parametrize("rows, columns", [(8, 8), (5, 3), (1, 7), (40, 33)])
def test_the_last_step_is_what_the_output_holds(rows, columns, target):
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    executable = legato.compile(legato.Module.parse(KERNEL.format(rows=rows, columns=columns)), target)
    np.testing.assert_array_equal(executable(x), x[-1])
