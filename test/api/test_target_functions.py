"""Functions of a user's target: what they are given, and what becomes of their answers."""
import numpy as np
import pytest

import legato
from legato.analysis.structured import StructuredKernel
from legato.core.mlir import func
from legato.targets.builtin import LLVM
from legato.targets.classified import classified
from legato.targets.cpu.packing import Packing

TEXT = """func.func @main(%x: tensor<4x40xf32> {relax.name = "x"}) -> tensor<4x24xf32> {
  %w = "relax.constant"() {weight = "w"} : () -> tensor<40x24xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<4x40xf32>, tensor<40x24xf32>) -> tensor<4x24xf32>
  return %0 : tensor<4x24xf32> }"""
WEIGHT = np.random.default_rng(3).standard_normal((40, 24), dtype=np.float32)
X = np.random.default_rng(4).standard_normal((4, 40), dtype=np.float32)
TILED = ('%m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op\n'
         "%t, %a, %b = transform.structured.tile_using_for %m tile_sizes [2, 8] : "
         "(!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)")


@pytest.fixture(scope="module")
def model():
    module = legato.Module.parse(TEXT)
    module.weights.add("w", WEIGHT)
    return module


def check(model, target):
    np.testing.assert_allclose(legato.compile(model, target)(X), X @ WEIGHT, rtol=1e-4, atol=1e-4)


def test_the_schedule_function_gets_the_prim_func(model):
    seen = []

    def schedule(function, machine):
        """As a user writes it who reads the kernel's IR."""
        seen.append((type(function), function.name.value, len(function.arguments), machine.vector_bits))
        ops = [op.operation.name for op in function.body.blocks[0].operations]
        return TILED if "linalg.matmul" in ops else None

    target = legato.Target("mine", parents=("llvm",), options={"cpu": "x86-64-v3"}, schedule_function=schedule,
                           packing_function=lambda function, machine: None)
    text = str(legato.lower(model, target, last="scheduled"))
    assert seen == [(func.FuncOp, "kernel_matmul", 3, 256)]
    assert text.count("scf.for") == 2 and "tensor<2x8xf32>" in text
    check(model, target)


def test_the_packing_function_gets_the_prim_func(model):
    def packing(function, machine):
        op = next(op.operation for op in function.body.blocks[0].operations if op.operation.name == "linalg.matmul")
        return Packing(1, op, 1, (40, 24), (0, 1), (1, 0), 8)

    target = legato.Target("mine", parents=("llvm",), packing_function=packing)
    assert "tensor<3x40x1x8xf32>" in str(legato.lower(model, target, last="fused"))
    check(model, target)
    scalar = legato.Target("scalar", parents=(target,), schedule_function=lambda function, machine: None)
    check(model, scalar)  # no schedule folds the unpacking into its reads


def test_a_function_falls_back_on_the_one_of_llvm(model):
    schedule, packing = LLVM.schedule_function, LLVM.packing_function
    assert schedule is not None and packing is not None
    target = legato.Target("mine", parents=("llvm",), schedule_function=lambda function, machine: schedule(function, machine),
                           packing_function=lambda function, machine: packing(function, machine))
    assert str(legato.lower(model, target, last="scheduled")) == str(legato.lower(model, "llvm", last="scheduled"))


def test_a_classified_function_gets_the_classification(model):
    seen = []

    @classified
    def schedule(kernel, machine):
        seen.append((type(kernel), kernel.kind, kernel.function.name.value))

    check(model, legato.Target("mine", parents=("llvm",), schedule_function=schedule, packing_function=lambda *_: None))
    assert seen == [(StructuredKernel, "contraction", "kernel_matmul")]
