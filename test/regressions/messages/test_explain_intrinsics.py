"""``explain`` shows, for each intrinsic, the model's layers and the kernels that it is part of, and for each graph op its sizes."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import legato
from legato.tools import legato_compile


@pytest.fixture(scope="module")
def model():
    """A matmul with an exponential after it, then the same layer again: both share one kernel; a softmax at the end."""
    w = onnx.numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="/1/MatMul"), helper.make_node("Exp", ["a"], ["b"], name="/1/Exp"),
             helper.make_node("MatMul", ["b", "w"], ["c"], name="/2/MatMul"), helper.make_node("Exp", ["c"], ["d"], name="/2/Exp"),
             helper.make_node("Softmax", ["d"], ["y"], name="/Softmax")]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "twice", [value("x", TensorProto.FLOAT, ["n", 8])], [value("y", TensorProto.FLOAT, ["n", 8])], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.fixture(scope="module")
def told(model):
    return legato.explain(legato.from_onnx(model))


def intrinsics(told):
    return [r for r in told.records if r.type is not None]


def test_intrinsics_have_the_layers_that_share_their_kernel(told):
    found = {(r.kernel, r.layers) for r in intrinsics(told) if r.op == "math.exp"}
    assert found == {("fused_matmul_exp", ("relax.exp /1/Exp", "relax.exp /2/Exp")), ("kernel_softmax", ("relax.softmax /Softmax",))}


def test_intrinsics_have_the_types_of_operands_and_results(told):
    for record in intrinsics(told):
        assert record.type == (record.results or record.operands)[0]
    assert {r.operands for r in intrinsics(told) if r.op == "math.exp" and r.type == "vector<8xf32>"} == {("vector<8xf32>",)}


def test_graph_ops_have_sizes(told):
    found = {r.name: (r.operands, r.results) for r in told.records if r.type is None}
    assert found["/1/MatMul"] == (("[n, 8] f32", "[8, 8] f32"), ("[n, 8] f32",))
    assert found["/Softmax"] == (("[n, 8] f32",), ("[n, 8] f32",))


def test_the_command_line_shows_them(model, tmp_path, capsys):
    path = tmp_path / "twice.onnx"
    onnx.save(model, path)
    assert legato_compile.main([str(path), "--explain", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    exp = [line for line in lines if line.split()[:1] == ["math.exp"]]
    assert any("/1/Exp, /2/Exp" in line and line.endswith("@fused_matmul_exp") for line in exp)
    assert any(line.split()[:6] == ["relax.softmax", "/Softmax", "[n,", "8]", "f32", "generic"] for line in lines)
    assert legato_compile.main([str(path), "--explain=json", "-q"]) == 0
    ops = json.loads(capsys.readouterr().out)["ops"]
    assert ["relax.exp /1/Exp", "relax.exp /2/Exp"] in [op["layers"] for op in ops if op["kernel"] == "fused_matmul_exp"]
    assert [op["results"] for op in ops if op["name"] == "/Softmax" and op["type"] is None] == [["[n, 8] f32"]]
