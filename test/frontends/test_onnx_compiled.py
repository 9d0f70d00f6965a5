"""Ops that are composed of many, compiled: native code computes what onnxruntime does. (The other tests interpret the imported graph.)"""
import pytest
from onnx_check import assert_same, imported, reference
from test_onnx_versions import CASES, proto_of

import legato

OPS = ("GridSample", "RoiAlign", "Col2Im", "DeformConv", "DFT", "STFT", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger",
       "ReverseSequence", "TopK", "CumSum")
FIRST = {op: next(case for case in CASES if case.op == op) for op in OPS}


@pytest.mark.parametrize("op", OPS)
def test_compiled(op):
    proto, inputs = proto_of(FIRST[op])
    results = legato.compile(imported(proto))(**inputs)
    assert_same(results if isinstance(results, tuple) else (results,), reference(proto, inputs))
