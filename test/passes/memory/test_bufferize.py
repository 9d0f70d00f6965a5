"""Bufferization of large functions: no value has so many uses that comparing every pair of them takes long."""
from types import MappingProxyType

import pytest

from legato.core.ir_helpers import everything
from legato.dialects import Module
from legato.passes.memory.bufferize.reads import READS
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


def calls_with(first, calls, returned, outputs=MappingProxyType({})):
    """The module of ``first`` and then calls of @sum, each into an output of its own or into one of ``outputs``."""
    lines = [f"%{result} = call @sum(%{x}, %{y}, %{outputs.get(result, 'e')}) : {TYPE}" for x, y, result in calls]
    types = ", ".join(["tensor<4xf32>"] * len(returned))
    return Module.parse(f"{KERNEL} func.func @main(%x: tensor<4xf32>) -> ({types}) {{\n%e = tensor.empty() : tensor<4xf32>\n{first}\n"
                        + "\n".join(lines) + f"\nreturn {', '.join('%' + name for name in returned)} : {types} }}")


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


RESULT = f"%r = call @sum(%x, %x, %e) : {TYPE}"
VIEW = f"""{RESULT}
%square = tensor.expand_shape %r [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
%v = tensor.collapse_shape %square [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>"""


@pytest.mark.parametrize(("shared", "first"), [("r", RESULT), ("v", VIEW)])
@pytest.mark.parametrize("returned_too", [False, True])
def test_calls_may_share_a_result(shared, first, returned_too):
    """Each call reads the result of one call, or a view of it, which main may return as well."""
    chain = [(f"s{i - 1}" if i else "x", shared, f"s{i}") for i in range(COUNT)]
    module = calls_with(first, chain, [f"s{COUNT - 1}", *(["r"] if returned_too else [])])
    PassPipeline("tir-prepare-main").run(module)
    assert most_uses(module) <= READS + 1
    PassPipeline(f"{BUFFERIZE},tir-extract-workspaces,cse").run(module)
    text = str(module)
    assert text.count("memref.alloc(") == COUNT + 1
    assert not any(left in text for left in ("memref.copy", "to_tensor", "to_buffer"))
    module.module.operation.verify()


def test_a_result_that_is_written_to_keeps_its_readers():
    """A call that writes to the shared result comes between its readers: it gets another buffer, since the others read what was there."""
    chain = [("r", "r", f"s{i}") for i in range(COUNT)]
    chain.insert(COUNT // 2, ("x", "x", "written"))
    module = calls_with(RESULT, chain, [f"s{COUNT - 1}", "written"], outputs={"written": "r"})
    PassPipeline("tir-prepare-main").run(module)
    assert most_uses(module) > COUNT
    PassPipeline(f"{BUFFERIZE},tir-extract-workspaces,cse").run(module)
    assert str(module).count("memref.alloc(") == COUNT + 2
