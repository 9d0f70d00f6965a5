"""What tir-launch-loops makes computes the same as before: its launches are run on the CPU, thread after thread."""
from dataclasses import replace

import numpy as np
import pytest

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import index
from legato.core.mlir import ir, scf
from legato.driver import llvm_ir
from legato.targets.builtin import NVVM
from legato.targets.catalog import Catalog
from legato.targets.gpu.machine import Gpu

HEAD = "func.func @main(%x: tensor<6x40xf32> {relax.name = \"x\"}, %w: tensor<40x24xf32> {relax.name = \"w\"}) -> "
RESHAPED = '%r = "relax.reshape"(%x) {shape = #relax.dims<[6, 5, 8]>} : (tensor<6x40xf32>) -> tensor<6x5x8xf32>'
BODIES = {
    "elementwise": ('tensor<6x40xf32>', '"relax.tanh"(%x) : (tensor<6x40xf32>)', lambda x, w: np.tanh(x)),
    "cube": ("tensor<5x6x8xf32>", '"relax.permute_dims"(%r) {axes = array<i64: 1, 0, 2>} : (tensor<6x5x8xf32>)',
             lambda x, w: x.reshape(6, 5, 8).transpose(1, 0, 2)),
    "reduction": ("tensor<40xf32>", '"relax.sum"(%x) {axis = array<i64: 0>} : (tensor<6x40xf32>)', lambda x, w: x.sum(0)),
    "middle": ("tensor<6xf32>", '"relax.max"(%x) {axis = array<i64: 1>} : (tensor<6x40xf32>)', lambda x, w: x.max(1)),
    "all": ("tensor<f32>", '"relax.mean"(%x) : (tensor<6x40xf32>)', lambda x, w: x.mean()),
    "matmul": ("tensor<6x24xf32>", '"relax.matmul"(%x, %w) : (tensor<6x40xf32>, tensor<40x24xf32>)', lambda x, w: x @ w),
    "softmax": ("tensor<6x40xf32>", '"relax.softmax"(%x) : (tensor<6x40xf32>)',
                lambda x, w: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "cumsum": ("tensor<6x40xf32>", '"relax.cumsum"(%x) {axis = 1 : i64} : (tensor<6x40xf32>)', lambda x, w: x.cumsum(1)),
}


def launches(module):
    """All gpu.launch ops."""
    found = []

    def visit(op):
        if op.name == "gpu.launch":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def serialize(launch):
    """A launch becomes two loops: blocks in x, and threads in x."""
    blocks, threads = launch.operands[0], launch.operands[3]
    with ir.InsertionPoint(launch), launch.location:
        outer = scf.ForOp(index(0), blocks, index(1))
        with ir.InsertionPoint(outer.body):
            inner = scf.ForOp(index(0), threads, index(1))
            scf.YieldOp([])
        with ir.InsertionPoint(inner.body):
            end = scf.YieldOp([]).operation
    block = launch.regions[0].blocks[0]
    block.arguments[0].replace_all_uses_with(outer.induction_variable)
    block.arguments[3].replace_all_uses_with(inner.induction_variable)
    for op in list(block.operations)[:-1]:
        op.operation.move_before(end)
    launch.erase()


@pytest.mark.parametrize("name", BODIES)
def test_launches_compute_the_same(name):
    result, op, reference = BODIES[name]
    module = legato.Module.parse(HEAD + f"{result} {{\n {RESHAPED}\n %0 = {op} -> {result}\n return %0 : {result} }}")
    lowered = legato.lower(module, "nvvm{schedules=false}", last="bufferized")
    target = replace(NVVM, make_machine=lambda options: Gpu(block=32))
    before, _, _ = dict(target.pipeline())["outlined"].partition(",func.func(gpu-launch-sink")
    legato.Pipeline(before).run(lowered, legato.PassContext(resolve_target=lambda _: target))
    with lowered.context, ir.Location.unknown():
        found = launches(lowered)
        assert found
        assert name == "cumsum" or "scf.parallel" not in str(lowered), "parallel loops run on one thread"
        for launch in found:
            serialize(launch)
        lowered.operation.verify()
    context = legato.PassContext(resolve_target=Catalog().resolve)
    legato.Pipeline(dict(Catalog().resolve("llvm").pipeline())["llvm"]).run(lowered, context)
    random = np.random.default_rng(0)
    x, w = random.random((6, 40), dtype=np.float32), random.random((40, 24), dtype=np.float32)
    np.testing.assert_allclose(jit(lowered.module, lowered.weights)(x, w), reference(x, w), rtol=1e-5)


def test_approximations_are_instructions_that_llvm_has():
    """Translation would crash on others."""
    ops = ("exp", "log", "sin", "cos", "sqrt", "rsqrt", "tanh")
    lines = [f'%{i + 1} = "relax.{op}"(%{i}) : (tensor<8xf32>) -> tensor<8xf32>' for i, op in enumerate(ops)]
    body = "\n".join(lines).replace("%0)", "%x)")
    text = f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{body}\nreturn %{len(ops)} : tensor<8xf32> }}"
    code = llvm_ir(legato.lower(legato.Module.parse(text), "nvvm{approx=true}"))
    for name in ("ex2.approx.f32", "lg2.approx.f", "sin.approx.f", "cos.approx.f", "sqrt.approx.f"):
        assert f"@llvm.nvvm.{name}(" in code
    assert "tanh.approx.f32 " in code and "__nv_" not in code


def test_what_the_device_has_needs_no_library():
    """Exact instructions, of code without approximations, too."""
    ops = ("abs", "ceil", "floor", "round", "trunc", "sqrt")
    lines = [f'%{i + 1} = "relax.{op}"(%{i}) : (tensor<8xf32>) -> tensor<8xf32>' for i, op in enumerate(ops)]
    body = "\n".join(lines).replace("%0)", "%x)")
    text = f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{body}\nreturn %{len(ops)} : tensor<8xf32> }}"
    assert "__nv_" not in llvm_ir(legato.lower(legato.Module.parse(text), "nvvm"))
