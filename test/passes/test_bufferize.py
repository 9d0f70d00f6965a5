"""tir-bufferize on large functions."""
import time

from legato.dialects import Module
from legato.passes.bufferize import Bufferize
from legato.passes.pipeline import Pipeline


def test_calls_may_share_an_output_tensor():
    """As cse leaves them: were the calls not given tensors of their own, every pair would be compared, which takes a minute."""
    lines = [f"%{i + 1} = call @k(%{i}, %e) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>" for i in range(400)]
    body = "\n".join(lines).replace("(%0,", "(%x,", 1)
    module = Module.parse(f"""
        func.func private @k(%x: tensor<4x8xf32>, %out: tensor<4x8xf32> {{tir.out, bufferization.writable = true}}) -> tensor<4x8xf32>
            attributes {{tir.prim_func}} {{
          %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
          return %0 : tensor<4x8xf32>
        }}
        func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
          %e = tensor.empty() : tensor<4x8xf32>
          {body}
          return %400 : tensor<4x8xf32>
        }}""")
    begin = time.process_time()
    Pipeline([Bufferize()]).run(module)
    assert time.process_time() - begin < 3
    assert str(module).count("memref.alloc(") == 400
