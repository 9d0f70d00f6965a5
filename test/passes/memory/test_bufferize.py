"""Bufferization of large functions: no value has so many uses that comparing every pair of them takes long."""
import pytest

from legato.core.ir_helpers import everything
from legato.dialects import Module
from legato.passes.memory.bufferize.prepare_main import READS
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.pipelines import BUFFERIZE

KERNEL = """
func.func private @sum(%x: tensor<4xf32>, %y: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %0 = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
COUNT = 300
TYPE = "(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"


def sums(pairs, returned):
    """The module of calls of @sum: (left, right, result). All calls share an output tensor, as cse leaves it."""
    calls = "\n".join(f"%{result} = call @sum(%{x}, %{y}, %e) : {TYPE}" for x, y, result in pairs)
    return Module.parse(f"{KERNEL} func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n%e = tensor.empty() : tensor<4xf32>\n"
                        f"%c = arith.constant dense<1.0> : tensor<4xf32>\n{calls}\nreturn %{returned} : tensor<4xf32> }}")


def most_uses(module):
    """The greatest number of uses of a tensor in main."""
    main = list(module.functions())[1]
    values = [*main.arguments, *(result for op in everything(main.operation) for result in op.results)]
    return max(sum(1 for _ in value.uses) for value in values if "tensor" in str(value.type))


def test_calls_may_share_an_output_tensor():
    pairs = [("x" if i == 0 else f"s{i - 1}", f"s{i - 2}" if i > 1 else "x", f"s{i}") for i in range(COUNT)]
    module = sums(pairs, f"s{COUNT - 1}")
    assert most_uses(module) == COUNT
    PassPipeline("tir-prepare-main").run(module)
    assert most_uses(module) == 3
    PassPipeline(f"{BUFFERIZE},tir-extract-workspaces,cse").run(module)
    assert str(module).count("memref.alloc(") == COUNT
    assert "memref.copy" not in str(module)


@pytest.mark.parametrize("shared", ["x", "c"])
def test_calls_may_share_an_input(shared):
    """Each call reads an argument, or a constant, and no call a copy of it."""
    module = sums([(f"s{i - 1}" if i else "x", shared, f"s{i}") for i in range(COUNT)], f"s{COUNT - 1}")
    PassPipeline("tir-prepare-main").run(module)
    assert most_uses(module) == READS
    PassPipeline(f"{BUFFERIZE},tir-extract-workspaces,cse").run(module)
    text = str(module)
    assert text.count("memref.alloc(") == COUNT
    assert not any(left in text for left in ("memref.copy", "to_tensor", "to_buffer"))
    assert text.count("memref.get_global") == (shared == "c")
    assert text.count("memref.global") == 1
    module.module.operation.verify()
