"""A rule that builds before it refuses leaves nothing in the IR: neither ops, nor kernels, nor declarations."""
import numpy as np
import pytest

import legato
from legato import Refusal, relax
from legato.core.mlir import arith, ir, math, memref
from legato.dialects import relax as graph

X = np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8)


@relax.function
def erf(x: relax.Tensor((4, 8), "float32")):
    return relax.erf(x)


@relax.function
def exp(x: relax.Tensor((4, 8), "float32")):
    return relax.exp(x)


KERNEL = """func.func private @left_over(%x: tensor<4x8xf32>, %o: tensor<4x8xf32> {tir.out}) -> tensor<4x8xf32> attributes {tir.prim_func} {
  %0 = linalg.copy ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}"""


def builds_ops(op, x):
    graph.tanh(graph.multiply(x, graph.constant(np.float32(1.128379))))
    return Refusal("not today")


def calls_a_kernel(op, x):
    op.call_prim_func(KERNEL)
    return Refusal("not today")


def calls_a_packed_function(op, x):
    op.call_packed("npu.left_over")
    return Refusal("not today")


@pytest.mark.parametrize("function", [builds_ops, calls_a_kernel, calls_a_packed_function])
def test_rewrites(function):
    rule = legato.rewrite("relax.erf")(function)
    plain = str(legato.lower(erf, last="legalized").module)
    assert str(legato.lower(erf, last="legalized", rules=[rule]).module) == plain
    told = legato.explain(erf, rules=[rule])
    assert [r.op for r in told.records if r.type is None] == ["relax.erf"]
    assert ("llvm", function.__name__, "not today") in told.records[0].refused
    np.testing.assert_array_equal(legato.compile(erf, rules=[rule])(X), legato.compile(erf)(X))


def builds_statements(op, x):
    place = memref.alloca(ir.MemRefType.get([1], x.type), [], [])
    memref.store(math.exp(x), place, [arith.ConstantOp(ir.IndexType.get(), 0).result])
    return Refusal("not today")


def test_intrinsics():
    from legato.targets.rule import intrinsic

    rule = intrinsic("math.exp")(builds_statements)
    text = str(legato.lower(exp, rules=[rule]).module)
    assert text == str(legato.lower(exp).module)
    told = legato.explain(exp, rules=[rule])
    assert any(refused[2] == "not today" for r in told.records for refused in r.refused)


def test_a_rule_that_changes_the_graph_and_refuses_is_an_error():
    def rewires(op, x):
        op.op.operation.operands[0] = graph.tanh(x)
        return Refusal("not today")

    with pytest.raises(legato.LegatoError, match=r"the rule rewires .* on relax.erf.*: it has changed relax.erf"):
        legato.compile(erf, rules=[legato.rewrite("relax.erf")(rewires)])
