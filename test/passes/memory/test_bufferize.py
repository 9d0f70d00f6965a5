"""Bufferization of large functions."""
import time

from legato.dialects import Module
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.pipelines import BUFFERIZE

KERNEL = """
func.func private @sum(%x: tensor<4xf32>, %y: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %0 = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
COUNT = 600


def test_calls_may_share_an_output_tensor():
    """As cse leaves them: were they not given tensors of their own, every pair of calls would be compared, which takes ten seconds."""
    pairs = [("x", "x", f"a{i}") for i in range(COUNT)]
    pairs += [(f"s{i - 1}" if i else "x", f"a{i}", f"s{i}") for i in range(COUNT)]
    type_ = "(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
    calls = "\n".join(f"%{result} = call @sum(%{x}, %{y}, %e) : {type_}" for x, y, result in pairs)
    module = Module.parse(f"{KERNEL} func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n%e = tensor.empty() : tensor<4xf32>\n"
                          f"{calls}\nreturn %s{COUNT - 1} : tensor<4xf32> }}")
    begin = time.process_time()
    PassPipeline(f"{BUFFERIZE},tir-extract-workspaces,cse").run(module)
    assert time.process_time() - begin < 3
    assert str(module).count("memref.alloc(") == 2 * COUNT
