"""What tir-default-schedules makes of a kernel to try a schedule is taken by the passes that follow, where the kernel is still the same."""
import pytest

from legato.core.errors import LegatoError
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects import Module
from legato.passes.gpu import lower_threads
from legato.passes.loops import apply_schedules
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.catalog import Catalog

SOFTMAX = """
func.func private @rows(%x: tensor<5x100xf32>, %y: tensor<5x100xf32> {tir.out}) -> tensor<5x100xf32> attributes {tir.prim_func} {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<5x100xf32>) outs(%y : tensor<5x100xf32>) -> tensor<5x100xf32>
  return %0 : tensor<5x100xf32>
}
func.func private @exp(%x: tensor<70xf32>, %y: tensor<70xf32> {tir.out}) -> tensor<70xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<70xf32>) outs(%y : tensor<70xf32>) -> tensor<70xf32>
  return %0 : tensor<70xf32>
}
"""
TRIES = "func.func(linalg-generalize-named-ops),tir-default-schedules{target=%s}"
FOLLOWS = "tir-apply-schedules,tir-lower-threads{target=%s}"


def scheduled(target):
    """A module behind the trials, and the context that keeps their results."""
    module, context = Module.parse(SOFTMAX), PassContext(Catalog().resolve)
    PassPipeline(TRIES % target).run(module, context)
    return module, context


def completed(module, target, context):
    PassPipeline(FOLLOWS % target).run(module, context)
    return module.module.operation.get_asm(enable_debug_info=True)


def redone(*_):
    raise AssertionError("done anew")


@pytest.mark.parametrize("target", ["nvvm", "vulkan"])
def test_the_work_is_done_once_and_is_the_same(target, monkeypatch):
    module, context = scheduled(target)
    again = completed(module.clone(), target, fresh := PassContext(Catalog().resolve))

    monkeypatch.setattr(lower_threads, "lower_kernel", redone)
    monkeypatch.setattr(apply_schedules, "run_one", redone)
    assert completed(module, target, context) == again
    assert context.report["lower-threads"] == fresh.report["lower-threads"] and context.warnings == fresh.warnings


def test_a_kernel_that_has_changed_since_is_done_anew():
    module, context = scheduled("nvvm")
    for op in find(module.module.operation, "math.exp"):
        op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<fast>", op.context)
    again = completed(module.clone(), "nvvm", PassContext(Catalog().resolve))
    assert "fastmath" in again and completed(module, "nvvm", context) == again


def test_another_machine_is_another_result(monkeypatch):
    module, context = scheduled("nvvm")
    PassPipeline("tir-apply-schedules").run(module, context)
    monkeypatch.setattr(lower_threads, "lower_kernel", redone)
    with pytest.raises(LegatoError, match="done anew"):
        PassPipeline("tir-lower-threads{target=vulkan}").run(module, context)


def test_a_module_of_another_mlir_context_gets_none_of_it():
    module, context = scheduled("nvvm")
    other, fresh = scheduled("nvvm")
    assert completed(other, "nvvm", context) == completed(module, "nvvm", fresh)
