"""A device of a user's own in one file outside the package: target, graph op, rule, and an intrinsic of its own that is a C function."""
import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import legato
from legato import kernels
from legato.core.errors import InferenceError
from legato.core.mlir import arith, ext, ir
from legato.dialects import Module, make_context, relax, tir
from legato.dialects.relax.attributes import Float
from legato.dialects.relax.op import FLOAT, Operand

VTA = legato.Target("vta", parents=("llvm",), doc="a coprocessor with queues")


class Vta(ext.Dialect, name="vta"):
    """What the device has beyond upstream's ops."""


class ScaledRelu(relax.graph_op(Vta), name="scaled_relu"):
    """max(x, 0) * factor."""

    x = Operand(FLOAT)
    factor = Float(1.0)

    @staticmethod
    def result_type(x, factor):
        if factor <= 0:
            raise InferenceError(f"attribute 'factor' must be positive, is {factor}")
        return x

    @staticmethod
    def compute(x, factor):
        return np.maximum(x, 0) * x.dtype.type(factor)


class CoprocDepPop(Vta.Operation, name="coproc_dep_pop"):
    source: ext.Operand[Any]
    target: ext.Operand[Any]


@legato.legalize("vta.scaled_relu", target=VTA)
def scaled_relu(k, x, out):
    queues = [arith.ConstantOp(ir.IntegerType.get_signless(32), n).result for n in (3, 2)]
    CoprocDepPop(*queues)  # wait for the loads
    return kernels.pointwise(k, out, [x], lambda e, x: e.mul(e.max(x, e.const(0)), e.const(k.attrs["factor"])))


@legato.lower_intrinsic("vta.coproc_dep_pop", target="vta")
def dep_pop(op, source, target):
    handle = tir.call_extern("VTATLSCommandHandle", [], [ir.Type.parse("!llvm.ptr")])
    return tir.call_extern("VTADepPop", [*handle, source, target])


TEXT = """func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> tensor<4x8xf32> {
  %0 = "vta.scaled_relu"(%x) {factor = 2.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("act1")
  return %0 : tensor<4x8xf32> }"""
STUB = """int calls[3]; void *VTATLSCommandHandle(void) { return calls; }
void VTADepPop(int *handle, int from, int to) { handle[0]++; handle[1] = from; handle[2] = to; }"""


# --- what it does (the device ends above) ---

@pytest.fixture(scope="module")
def module():
    return Module.parse(TEXT, context=make_context([Vta]))


def test_the_intrinsic_becomes_calls_of_c_functions(module):
    text = str(legato.lower(module, "vta"))
    assert "llvm.call @VTATLSCommandHandle() : () -> !llvm.ptr" in text
    assert "llvm.call @VTADepPop(%" in text and "(!llvm.ptr, i32, i32) -> ()" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="the stub is C")
def test_the_device_end_to_end(module, tmp_path):
    (tmp_path / "stub.c").write_text(STUB)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "stub.so"), str(tmp_path / "stub.c")], check=True)
    stub = ctypes.CDLL(str(tmp_path / "stub.so"), mode=ctypes.RTLD_GLOBAL)
    exe = legato.compile(module, "vta")
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    np.testing.assert_array_equal(exe(x), relax.semantics["vta.scaled_relu"](x, factor=2.0))
    assert list((ctypes.c_int * 3).in_dll(stub, "calls")) == [1, 3, 2]
    assert {(r.op, r.target, r.rule) for r in exe.explain().records} >= {
        ("vta.scaled_relu", "vta", "scaled_relu"), ("vta.coproc_dep_pop", "vta", "dep_pop")}


def test_the_verifier_and_shape_inference(module):
    with pytest.raises(legato.LegatoError, match="attribute 'factor' must be positive, is -2"):
        Module.parse(TEXT.replace("2.0", "-2.0"), context=make_context([Vta]))
    with pytest.raises(legato.LegatoError, match="make tensor<4x8xf32>"):
        wrong = TEXT.replace("tensor<4x8xf32> loc", "tensor<4x9xf32> loc").replace("%0 : tensor<4x8", "%0 : tensor<4x9")
        Module.parse(wrong, context=make_context([Vta]))


def test_elsewhere_there_is_no_rule(module):
    with pytest.raises(legato.LegatoError, match=r"vta\.scaled_relu 'act1': no rule on llvm -> cpu -> generic"):
        legato.compile(module, "llvm")


def test_an_intrinsic_without_a_lowering_is_named(module):
    rule = legato.kernel("vta.scaled_relu")(scaled_relu)
    with pytest.raises(legato.LegatoError, match=r"vta\.coproc_dep_pop 'act1': no rule on llvm -> cpu -> generic"):
        legato.compile(module, "llvm", rules=[rule])


def test_the_device_takes_less_than_80_lines():
    assert open(__file__).read().split("# --- what it does")[0].count("\n") < 80
