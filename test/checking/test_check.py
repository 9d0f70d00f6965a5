"""legato.check: a right pipeline passes, a wrong pass is named with its op, and what is not checked is said."""
from dataclasses import dataclass

import numpy as np
import pytest
import tvm_ffi
from checked_models import rows

import legato
from legato.artifacts import Closure
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.passes.pipeline.rounding import EXACT, REORDERED, Rounding
from legato.patterns import is_op, wildcard


@dataclass(frozen=True)
class SwapOperands(legato.ModulePass):
    """Swaps the operands of the first subtraction: a bug."""

    name = "test-swap-operands"

    def run(self, module, context):
        op = find(module.operation, "relax.subtract")[0]
        op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


def subtraction():
    return legato.Module.parse("""
func.func @main(%a: tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "a"}, %b: tensor<3xf32> {relax.name = "b"})
    -> (tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "y"}) {
  %0 = "relax.exp"(%a) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> loc("first")
  %1 = "relax.subtract"(%0, %b) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<3xf32>)
    -> tensor<?x3xf32, #relax.dims<["n", 3]>> loc("diff")
  %2 = "relax.relu"(%1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> loc("last")
  return %2 : tensor<?x3xf32, #relax.dims<["n", 3]>>
}""")


def test_the_whole_pipeline_of_a_cpu_passes():
    report = legato.check(rows(), samples=2)
    assert report.passes > 90 and report.changed > 30
    assert not report.unchecked and not report.notes


def test_sizes_and_values_are_several():
    report = legato.check(subtraction(), "cse")
    ordinary = [f"ordinary values at n = {n}" for n in (17, 67, 1, 0)]
    assert report.samples == [ordinary[0], "edge values at n = 17", "NaN and infinities at n = 17", *ordinary[1:]]


def test_a_wrong_pass_is_named_with_its_op(tmp_path):
    with pytest.raises(legato.CheckFailed) as caught:
        legato.check(subtraction(), ["relax-canonicalize", SwapOperands(), "cse"], reproducer=tmp_path / "bad.mlir")
    error = caught.value
    assert error.pass_name == "test-swap-operands" and error.position == 2 and error.op == 'relax.subtract "diff"' and error.result == "y"
    text = str(error)
    assert "test-swap-operands (pass 2 of 3) changes what the module computes" in text
    assert 'first op that differs: relax.subtract "diff"' in text
    assert "element [" in text and "sizes: n = 17" in text and "allowed is a difference of" in text
    assert error.difference is not None and error.difference.index and error.difference.count > 1
    written = (tmp_path / "bad.mlir").read_text()
    assert "// pipeline: test-swap-operands\n" in written and "// check-inputs: bad.mlir.inputs.npz\n" in written
    with np.load(tmp_path / "bad.mlir.inputs.npz") as inputs:
        assert [inputs[name].shape for name in sorted(inputs.files)] == [(17, 3), (3,)]


def test_the_option_of_a_pipeline():
    with pytest.raises(legato.CheckFailed, match="test-swap-operands"):
        legato.Pipeline([SwapOperands()], check=True).run(subtraction())
    legato.Pipeline(["relax-canonicalize"], check=legato.PassChecker()).run(subtraction())


def test_given_inputs_are_used():
    same = np.zeros((2, 3), np.float32)
    checker = legato.PassChecker([same, np.exp(same[0])])   # a - b is 0 both ways
    legato.Pipeline([SwapOperands()], check=checker).run(subtraction())
    assert checker.report.samples == ["given values at n = 2"]
    with pytest.raises(legato.LegatoError, match=r"'b' is float32\[3\], and the array for it is float32\[4\]"):
        legato.Pipeline(["cse"], check=legato.PassChecker([same, np.zeros(4, np.float32)])).run(subtraction())


@dataclass(frozen=True)
class Round(legato.ModulePass):
    """Rounds what exp computes to bf16, and says that it may, or does not."""

    name = "test-round"
    says: bool = True

    def entitlement(self, context):
        return Rounding(relative=2.0**-8) if self.says else REORDERED

    def run(self, module, context):
        op = find(module.operation, "relax.exp")[0]
        with module.context, ir.Location.unknown(), ir.InsertionPoint(find(module.operation, "relax.subtract")[0]):
            from legato.dialects import relax

            rounded = relax.astype(relax.astype(op.results[0], "bf16"), "f32")
            find(module.operation, "relax.subtract")[0].operands[0] = rounded


def test_a_pass_is_held_to_the_rounding_that_it_declares():
    legato.check(subtraction(), [Round()])
    with pytest.raises(legato.CheckFailed, match=r"test-round.*\n.*relax.subtract"):
        legato.check(subtraction(), [Round(says=False)])


def test_exact_passes_are_held_to_every_bit():
    class Exact(Round):
        name = "test-exact"

        def entitlement(self, context):
            return EXACT

    with pytest.raises(legato.CheckFailed, match="entitled to: no change of any bit"):
        legato.check(subtraction(), [Exact()])


def test_what_cannot_be_run_is_said():
    module = legato.Module.parse("""
func.func private @f(tensor<3xf32>, tensor<3xf32> {tir.out}) -> tensor<3xf32> attributes {relax.packed = "test.there_is_none"}
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %0 = func.call @f(%a, %e) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}""")
    report = legato.check(module, "cse")
    assert report.notes and "nothing was checked" in report.notes[0] and "test.there_is_none" in report.notes[0]


class WrongExp(legato.Backend):
    """A backend whose code of exp errs by a tenth."""

    name = "wrong_exp"
    patterns = [("exp", is_op("relax.exp")(wildcard()))]
    factor = 1.1

    def codegen(self, module, options):
        names = tuple(f.name.value for f in module.functions())
        return [Closure(lambda x, out: np.copyto(out, (np.exp(x) * self.factor).astype(np.float32)), names)]


class RightExp(WrongExp):
    name = "right_exp"
    factor = 1.0


def test_the_code_of_a_backend_is_compared_with_its_graph_ops():
    with pytest.raises(legato.CheckFailed) as caught:
        legato.check(subtraction(), backends=[WrongExp()], last="relax", samples=1)
    assert caught.value.pass_name == "relax-run-codegen" and "result 'y'" in str(caught.value)
    report = legato.check(subtraction(), backends=[RightExp()], last="bufferized", samples=1)
    assert not report.notes and {name for name, _ in report.unchecked} <= {"tir-lower-packed", "tir-profile-main"}


def test_a_packed_function_is_called_once_for_equal_arguments():
    calls = []

    @tvm_ffi.register_global_func("test_check.twice", override=True)
    def twice(x, y):
        calls.append(np.from_dlpack(x).tobytes())
        np.copyto(np.from_dlpack(y), np.add(np.from_dlpack(x), np.from_dlpack(x)))

    module = legato.Module.parse("""
func.func private @f(tensor<3xf32>, tensor<3xf32> {tir.out}) -> tensor<3xf32> attributes {relax.packed = "test_check.twice"}
func.func @main(%a: tensor<3xf32> {relax.name = "a"}) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %0 = func.call @f(%a, %e) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = "relax.exp"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}""")
    report = legato.check(module, "relax-legalize{target=llvm}", samples=1)
    assert not report.notes and report.changed == 1 and len(calls) == len(set(calls)) > 0


def test_a_boolean_without_axes_keeps_its_shape():
    module = legato.Module.parse("""
func.func @main(%a: tensor<f32> {relax.name = "a"}) -> tensor<i1> {
  %0 = "relax.isnan"(%a) : (tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}""")
    report = legato.check(module, "relax-legalize{target=llvm}", samples=3)
    assert report.changed == 1 and not report.notes and not report.unchecked


def test_loops_side_by_side_are_run_one_after_the_other():
    module = legato.Module.parse("""
func.func private @double(%x: memref<8xf32>, %y: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  linalg.add ins(%x, %x : memref<8xf32>, memref<8xf32>) outs(%y : memref<8xf32>)
  return
}
func.func @main(%x: memref<8xf32> {relax.name = "x"}) -> (memref<8xf32>, memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @double(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %c1 step %c1 {
    memref.copy %x, %b : memref<8xf32> to memref<8xf32>
    func.call @double(%b, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %c1 step %c1 {
    memref.copy %x, %c : memref<8xf32> to memref<8xf32>
  } {tir.side_by_side = 0 : i64}
  return %a, %b, %c : memref<8xf32>, memref<8xf32>, memref<8xf32>
}""")
    report = legato.check(module, "tir-parallel-loops,func.func(scf-forall-to-parallel)", samples=1)
    assert report.changed == 2 and not report.notes and not report.unchecked


def test_views_of_the_arena_count_from_a_base_of_their_own():
    module = legato.Module.parse("""
func.func @main(%a: tensor<6x4xf32> {relax.name = "a"}) -> tensor<4x3x2xf32> {
  %0 = "relax.softmax"(%a) {axis = 1 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "relax.softmax"(%0) {axis = 0 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %2 = "relax.reshape"(%1) {shape = #relax.dims<[2, 3, 4]>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %3 = "relax.permute_dims"(%2) {axes = array<i64: 2, 1, 0>} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  return %3 : tensor<4x3x2xf32>
}""")
    lowered = legato.lower(module, last="bufferized")
    assert "memref.expand_shape" in str(lowered) and "memref.view" in str(lowered)
    report = legato.check(lowered, "tir-expand-metadata", samples=1)
    assert report.changed == 1 and not report.unchecked


def test_the_plain_lowering_is_as_exact_as_numpy():
    module = legato.Module.parse("""
func.func @main(%a: tensor<3xf32> {relax.name = "a"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = "relax.log1p"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "relax.expm1"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}""")
    checker = legato.PassChecker([np.array([1e-6, -1e-12, 1.0], np.float32)])
    legato.Pipeline("relax-legalize{target=llvm}", check=checker).run(module)
    assert checker.report.changed == 1 and not checker.report.unchecked
