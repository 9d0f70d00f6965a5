"""``legato.onnx_report``: all that cannot be imported of a model, op by op, without compiling it."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_check import model

import legato
from legato.frontends.onnx import op

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])


def node(op, inputs, outputs, name, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


def with_domain(proto, domain, version=1):
    proto.opset_import.append(helper.make_opsetid(domain, version))
    return proto


def rows(report):
    return {one.op: (one.nodes, len(one.problems)) for one in report.ops}


def test_a_model_without_gaps():
    report = legato.onnx_report(model([node("Relu", "x", "a", "/relu"), node("Add", "a x", "y", "/add")], [X], ("y",)))
    assert report.is_complete and not report.gaps and not report.behind
    assert rows(report) == {"Add": (1, 0), "Relu": (1, 0)}
    assert str(report) == "model 'test': 2 nodes of 2 ops; opset ai.onnx 20\nall of them can be imported\n\nwithout a gap: Add 1, Relu 1"


def gapped():
    """An attribute that ONNX lacks; behind it, by types that it infers, another; then one of an unknown domain, whose type nothing says."""
    nodes = [node("Softmax", "x", "r", "/noise", temperature=2.0), node("Sigmoid", "r", "b", "/drop", slope=2.0),
             node("Mul", "b x", "m", "/mul"), node("Fused", "m", "f", "/fused", domain="acme"), node("Relu", "f", "g", "/relu"),
             node("Fused", "g", "h", "/again", domain="acme"), node("StringNormalizer", "s", "t", "/text"),
             node("Relu", "x", "z", "/other")]
    text = helper.make_tensor_value_info("s", TensorProto.STRING, [2])
    return with_domain(model(nodes, [X, text], ("h", "t", "z")), "acme", 3)


def test_all_gaps_at_once():
    report = legato.onnx_report(gapped())
    assert not report.is_complete
    assert rows(report) == {"acme.Fused": (2, 2), "Softmax": (1, 1), "Sigmoid": (1, 1), "input": (0, 1),
                            "StringNormalizer": (1, 1), "Relu": (2, 0), "Mul": (1, 0)}
    assert [problem.name for one in report.gaps for problem in one.problems if one.nodes] == [
        "/fused", "/again", "/drop", "/noise", "/text"]
    assert report.behind == ("/relu", "/again", "/text")
    text = str(report)
    assert "  acme.Fused        " in text and "/fused, /again: no op of the domain 'acme' with this name is known" in text
    assert "not checked but for the op, since they read what is missing: /relu, /again, /text" in text
    assert "without a gap: Relu 2, Mul 1" in text


def test_what_is_behind_a_gap_is_checked_by_its_type():
    """A reshape that does not fit is found behind a node that cannot be imported, and is no gap of its own where sizes are not known."""
    fixed = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])
    nodes = [node("Softmax", "x", "r", "/noise", temperature=2.0), node("Reshape", "r shape", "y", "/reshape")]
    report = legato.onnx_report(model(nodes, [fixed], ("y",), constants={"shape": np.array([3, -1])}))
    assert rows(report)["Reshape"] == (1, 1) and report.behind == ()
    other = model([nodes[0], node("Reshape", "r shape", "y", "/reshape")], [fixed], ("y",), constants={"shape": np.array([4, 2])})
    report = legato.onnx_report(other, shapes={"x": [3, 4]})     # what ONNX infers is of the shapes that the model declares
    assert rows(report)["Reshape"] == (1, 0) and report.behind == ("/reshape",)
    nodes[0] = node("Fused", "x", "r", "/noise", domain="acme")
    report = legato.onnx_report(with_domain(model(nodes, [fixed], ("y",), constants={"shape": np.array([3, -1])}), "acme"))
    assert rows(report)["Reshape"] == (1, 0) and report.behind == ("/reshape",)


def test_nodes_of_bodies_and_functions_are_counted():
    body = [helper.make_graph([node("Exp", "x", name, f"/{name}")], name, [], [helper.make_tensor_value_info(name, 1, None)])
            for name in ("a", "b")]
    double = helper.make_function("acme", "Double", ["u"], ["v"], [node("Add", "u u", "v", "/in")], [helper.make_opsetid("", 20)])
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    proto = with_domain(model([node("If", "c", "i", "/if", then_branch=body[0], else_branch=body[1]),
                               node("Double", "i", "y", "/double", domain="acme")], [X, condition], ("y",)), "acme")
    proto.functions.append(double)
    assert rows(legato.onnx_report(proto)) == {"Exp": (2, 0), "Add": (1, 0), "If": (1, 0)}


def test_as_data(tmp_path):
    path = tmp_path / "gapped.onnx"
    onnx.save(gapped(), path)
    data = json.loads(legato.onnx_report(path).json())
    assert (data["model"], data["complete"], data["opsets"]) == (str(path), False, {"": 20, "acme": 3})
    assert data["ops"][0]["op"] == "acme.Fused" and data["ops"][0]["problems"][0]["name"] == "/fused"
    assert "<table>" in legato.onnx_report(path)._repr_html_()


def test_shapes_and_entries_are_those_of_an_import():
    proto = with_domain(model([node("Fused", "x", "y", "/fused", domain="acme")], [X], ("y",)), "acme")
    assert legato.onnx_report(proto, entries=[op("Fused", 1, domain="acme")(lambda node: node.x())]).is_complete
    proto = model([node("MatMul", "x w", "y", "/product")], [X], ("y",), constants={"w": np.ones((4, 3), np.float32)})
    assert legato.onnx_report(proto).is_complete
    assert rows(legato.onnx_report(proto, shapes={"x": ["batch", 5]})) == {"MatMul": (1, 1)}


def test_what_is_no_model(tmp_path):
    with pytest.raises(legato.LegatoError, match=r"none\.onnx"):
        legato.onnx_report(tmp_path / "none.onnx")
    with pytest.raises(legato.LegatoError, match="is not an ONNX model"):
        legato.onnx_report(b"once upon a time")
    proto = model([node("Relu", "x", "y", "/n")], [X], ("y",))
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(2), "y"))
    with pytest.raises(legato.LegatoError, match="defines 'y', which is already"):
        legato.onnx_report(proto)
