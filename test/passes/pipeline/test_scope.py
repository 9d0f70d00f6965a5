"""Every pass, ours and upstream's, leaves external modules byte for byte as they were; and weights named outside a pass's scope stay."""
import os
from dataclasses import dataclass

import numpy as np
import pytest

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.dialects import Module, make_context
from legato.passes.pipeline import upstream
from legato.passes.pipeline.base import ModulePass
from legato.passes.pipeline.pipeline import PassPipeline
from legato.passes.pipeline.registry import all_passes
from legato.passes.pipeline.scope import backend_of, external_modules, host_part
from legato.tools.opt_setup import pass_context
from legato.tools.user_file import UserCode

TEXT = """
module @first attributes {relax.codegen = "npu"} {
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.constant 1 : i32
    %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32> loc("relu_0")
  }
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 1 : i32
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
module @second attributes {relax.codegen = "ort"} { func.func @g() { return } }
func.func private @unused()
module { module attributes {relax.codegen = "npu"} { func.func @h() { %c = arith.constant 2 : i32 return } } }
"""
def texts(module):
    """The external modules, whatever their order: functions around them may have moved."""
    return sorted(op.get_asm(enable_debug_info=True, use_local_scope=True, assume_verified=True) for op in external_modules(module.module))


def came_through(name, context):
    """Whether the external modules are what they were, after a pass that runs or fails."""
    module = Module.parse(TEXT, context=context)
    before = texts(module)
    try:
        PassPipeline(name, verify=False).run(module, pass_context(UserCode()))
    except (LegatoError, ir.MLIRError, ValueError):
        pass  # the pass does not take this module: that is its right
    return texts(module) == before


def outcomes(names):
    """What becomes of the external modules, pass by pass, in another process: upstream's passes may crash. A crash ends the answers."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        context = make_context()
        for name in names:
            os.write(writer, f"{name} {came_through(name, context)}\n".encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answers:
        answered = [line.split() for line in answers]
    os.waitpid(child, 0)
    return dict(answered)


def test_every_pass_leaves_external_modules_alone():
    assert len(upstream.places()) >= 200
    names = [*upstream.places(), *(one.name for one in all_passes() if not one.sees_external)]
    found = outcomes(names)
    assert list(found) == names, f"crashed in {names[len(found)]}"
    assert [name for name, good in found.items() if good != "True"] == []


def test_the_list_is_what_the_wheel_has():
    with ir.Context():
        for name in upstream.places():
            assert upstream._known_to_mlir(name)
    assert not upstream.is_pass("no-such-pass")


def test_modules_come_back_to_their_places():
    module = Module.parse(TEXT)
    before = module.module.operation.get_asm(enable_debug_info=True)
    with host_part(module) as aside:
        assert [backend_of(op) for op in aside] == ["npu", "ort", "npu"]
        assert "relax.codegen" not in str(module)
    assert module.module.operation.get_asm(enable_debug_info=True) == before


def test_modules_come_back_where_their_neighbours_have_gone():
    module = Module.parse(TEXT)
    with host_part(module):
        for op in list(module.module.body.operations):
            op.operation.erase()
    assert [backend_of(op) for op in external_modules(module.module)] == ["npu", "ort", "npu"]


def test_weights_are_kept_while_another_scope_names_them():
    body = '{ %0 = "relax.constant"() {weight = "w"} : () -> tensor<2xf32> return %0 : tensor<2xf32> }'
    function = f"func.func @main() -> tensor<2xf32> {body}"
    text = f'{function} module attributes {{relax.codegen = "npu"}} {{ {function} }}'

    @dataclass(frozen=True)
    class Drop(ModulePass):
        name = "t-drop"

        def run(self, module, context):
            for function in module.functions():
                function.operation.erase()
            module.drop_unused_weights()

    for pipeline, kept in (("t-drop", True), ("external(t-drop)", True), ("t-drop,external(t-drop)", False)):
        weights = WeightStore()
        weights.add("w", np.zeros(2, np.float32))
        PassPipeline(pipeline, extra_passes=[Drop]).run(Module.parse(text, weights))
        assert ("w" in weights) == kept


@pytest.mark.parametrize(("name", "ops", "text"), [
    ("canonicalize", (), "canonicalize"), ("affine-loop-unroll", (), "func.func(affine-loop-unroll)"),
    ("cse", ("gpu.module", "gpu.func"), "gpu.module(gpu.func(cse))"), ("convert-gpu-to-nvvm", (), "gpu.module(convert-gpu-to-nvvm)"),
])
def test_passes_are_put_where_they_can_run(name, ops, text):
    assert upstream.anchored(name, "", ops) == text
