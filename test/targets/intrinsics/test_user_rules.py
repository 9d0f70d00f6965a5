"""Intrinsic rules of a user's change the code of a compiled model."""
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import legato
from legato.core.mlir import arith, ir, memref, scf, vector
from legato.dialects import tir
from legato.targets import registry
from legato.targets.catalog import Catalog

TEXT = """func.func @main(%x: tensor<4x33xf32> {{relax.name = "x"}}) -> tensor<4x33xf32> {{
  %0 = "relax.{op}"(%x) : (tensor<4x33xf32>) -> tensor<4x33xf32> loc("act")
  return %0 : tensor<4x33xf32> }}"""
X = np.linspace(-2, 2, 132, dtype=np.float32).reshape(4, 33)


@pytest.fixture(autouse=True)
def registered():
    with registry.isolated():
        legato.register_target(legato.Target("npu", parents=("llvm",)))
        yield


@pytest.mark.skipif(shutil.which("cc") is None, reason="the library is C")
def test_a_lowering_to_a_library_of_the_users(tmp_path):
    (tmp_path / "fast.c").write_text("int exp_calls; float counted_exp(float x) { exp_calls++; return 1 + x; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "fast.so"), str(tmp_path / "fast.c")], check=True)
    library = ctypes.CDLL(str(tmp_path / "fast.so"), mode=ctypes.RTLD_GLOBAL)

    @legato.lower_intrinsic("math.exp", target="npu", dtypes=("f32",))
    def fast_exp(op, x):
        return op.each(lambda x: tir.call_extern("counted_exp", [x], [x.type])[0])

    module = legato.Module.parse(TEXT.format(op="exp"))
    exe = legato.compile(module, "npu")
    np.testing.assert_array_equal(exe(X), 1 + X)
    assert ctypes.c_int.in_dll(library, "exp_calls").value == X.size
    assert any((r.op, r.target, r.rule) == ("math.exp", "npu", "fast_exp") for r in exe.explain().records)
    np.testing.assert_allclose(legato.compile(module, "llvm")(X), np.exp(X), rtol=1e-6)


def test_a_legalization_to_statements():
    @legato.legalize_intrinsic("math.sinh", target="npu", dtypes=("f32",))
    def series(op, x):
        """x + x^3/3! + ...: a cell of memory and a loop."""
        index = ir.IndexType.get()
        first, last, step = (arith.ConstantOp(index, n).result for n in (1, 10, 1))
        zero = arith.ConstantOp(index, 0).result
        cell = memref.AllocaOp(ir.MemRefType.get([1], x.type), [], [])
        memref.StoreOp(x, cell, [zero])
        square = arith.mulf(x, x)
        loop = scf.ForOp(first, last, step, [x])
        with ir.InsertionPoint(loop.body):
            n = arith.AddIOp(loop.induction_variable, loop.induction_variable).result
            whole = arith.IndexCastOp(ir.IntegerType.get_signless(32), arith.MulIOp(n, arith.AddIOp(n, first).result).result).result
            below = arith.SIToFPOp(ir.F32Type.get(), whole).result
            if op.shape is not None:
                below = vector.BroadcastOp(x.type, below).result
            term = arith.mulf(loop.inner_iter_args[0], arith.divf(square, below))
            memref.StoreOp(arith.addf(memref.LoadOp(cell, [zero]).result, term), cell, [zero])
            scf.YieldOp([term])
        return memref.LoadOp(cell, [zero]).result

    exe = legato.compile(legato.Module.parse(TEXT.format(op="sinh")), "npu")
    np.testing.assert_allclose(exe(X), np.sinh(X), rtol=1e-6)
    assert any(r.rule == "series" for r in exe.explain().records)


def test_half_floats_are_promoted_where_a_rule_lacks_them():
    seen = []

    @legato.legalize_intrinsic("math.tan", target="npu", dtypes=("f32",))
    def approximate(op, x):
        seen.append(op.dtype)
        return arith.addf(x, x)

    exe = legato.compile(legato.Module.parse(TEXT.format(op="tan").replace("f32", "f16")), "npu")
    np.testing.assert_array_equal(exe(X.astype(np.float16)), X.astype(np.float16) * 2)
    assert set(seen) == {"f32"}


def test_a_rule_of_the_wrong_type_is_named():
    legato.legalize_intrinsic("math.tan", target="npu")(lambda op, x: arith.ConstantOp(ir.F64Type.get(), 1.0).result)
    message = r"the rule <lambda> \(.*test_user_rules\.py:.*\) of target 'npu' gives f64 for math\.tan 'act'"
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(legato.Module.parse(TEXT.format(op="tan")), "npu")


def test_intrinsics_go_through_the_conversion_engine(monkeypatch):
    legato.legalize_intrinsic("math.tan", target="npu")(lambda op, x: arith.addf(x, x))
    module = legato.Module.parse(TEXT.format(op="tan"))
    assert "math.tan" not in str(legato.lower(module, "npu"))
    scheduled = legato.lower(module, "npu", last="bufferized")
    monkeypatch.setattr("legato.passes.legalize.conversion.rewrite.apply_partial_conversion", lambda *_: None)
    context = legato.PassContext(resolve_target=Catalog().resolve)
    legato.Pipeline("tir-legalize-intrinsics{target=npu}").run(scheduled, context)
    assert "math.tan" in str(scheduled)
