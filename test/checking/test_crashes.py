"""Code that crashes, does not end, or cannot be compiled ends in a failed check, and not this process."""
import os
import signal
import time
from dataclasses import dataclass

import pytest
from checked_models import rows

import legato
from legato.checking.child import ChildDied, ForkedChild
from legato.core.mlir import arith, ir, llvm

MODEL = """
func.func @main(%a: tensor<f32> {relax.name = "a"}, %b: tensor<5xf32> {relax.name = "b"}) -> tensor<5xf32> {
  %0 = "relax.exp"(%b) : (tensor<5xf32>) -> tensor<5xf32> loc("grown")
  %1 = "relax.add"(%a, %0) : (tensor<f32>, tensor<5xf32>) -> tensor<5xf32> loc("sum")
  return %1 : tensor<5xf32>
}"""


def loops():
    """A model whose kernels are loops on buffers."""
    return legato.lower(rows(), "llvm", last="bufferized")


@dataclass(frozen=True)
class Wild(legato.ModulePass):
    """Makes a kernel write to an address that no process has."""

    name = "test-wild"

    def run(self, module, context):
        kernel = next(f for f in module.functions() if "subtract" in f.name.value)
        with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(kernel.entry_block):
            address = arith.ConstantOp(ir.IntegerType.get_signless(64), 8).result
            llvm.StoreOp(address, llvm.IntToPtrOp(ir.Type.parse("!llvm.ptr"), address).result)


@dataclass(frozen=True)
class Unselectable(legato.ModulePass):
    """Calls an intrinsic of another machine, for which LLVM has no code: it aborts."""

    name = "test-unselectable"

    def run(self, module, context):
        kernel = next(f for f in module.functions() if "subtract" in f.name.value)
        with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(kernel.entry_block):
            kind = arith.ConstantOp(ir.IntegerType.get_signless(32), 15).result
            ir.Operation.create("llvm.call_intrinsic", [], [kind], {
                "intrin": ir.StringAttr.get("llvm.aarch64.isb"), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0])})


def test_a_kernel_that_crashes_is_named():
    with pytest.raises(legato.CheckFailed) as caught:
        legato.check(loops(), ["canonicalize", Wild()], samples=1)
    assert caught.value.pass_name == "test-wild"
    assert "the kernel @kernel_subtract does not end as it should: it ends the process by SIGSEGV" in str(caught.value)


def test_a_kernel_that_cannot_be_compiled_is_said():
    report = legato.check(loops(), [Unselectable()], samples=1)
    assert [name for name, _ in report.unchecked] == ["test-unselectable"]
    said = report.unchecked[0][1]
    assert "the kernel @kernel_subtract cannot be compiled alone: " in said and "SIGABRT: LLVM ERROR: Cannot select" in said


def test_scalars_of_moved_runs_are_buffers_of_kernels():
    """numpy makes numbers of arrays without axes."""
    report = legato.check(legato.Module.parse(MODEL), last="legalized", samples=2)
    assert report.changed and not report.unchecked and not report.notes


def test_a_child_answers_fails_and_dies():
    def answer(request):
        if request == "fail":
            raise legato.UnsupportedError("no such thing")
        if request == "die":
            os.kill(os.getpid(), signal.SIGBUS)
        if request == "wait":
            time.sleep(60)
        return request * 2

    child = ForkedChild(answer, limit=1.0)
    assert child([1, "a"]) == [1, "a", 1, "a"]
    with pytest.raises(legato.LegatoError, match="no such thing"):
        child("fail")
    assert child(4) == 8
    with pytest.raises(ChildDied, match="by SIGBUS"):
        child("die")
    slow = ForkedChild(answer, limit=0.3)
    with pytest.raises(ChildDied, match=r"has not ended after 0\.3 s"):
        slow("wait")
    pid = slow.pid
    slow.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
