"""legato-run --bisect and legato.bisect: the first layer that differs from onnxruntime, by the model's name."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato import bisecting
from legato.tools import legato_run


def chain():
    """relu(x @ w), its sigmoid, its tanh, and the sum of both."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Sigmoid", ["b"], ["c"], "sigmoid"), helper.make_node("Tanh", ["c"], ["d"], "tanh"),
             helper.make_node("Add", ["c", "d"], ["y"], "sum")]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in "xy"]
    w = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    return helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:], [numpy_helper.from_array(w, "w")]),
                             opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class OtherPeer(bisecting.Peer):
    """A peer for which Sigmoid is another function: what our sigmoid looks like if it were wrong."""

    def __init__(self, model, threads=1):
        proto = onnx.load_from_string(model)
        for node in proto.graph.node:
            node.op_type = {"Sigmoid": "Softsign"}.get(node.op_type, node.op_type)
        super().__init__(proto.SerializeToString(), threads)


def test_no_difference():
    found = legato.bisect(chain())
    assert [one.layer for one in found.layers] == ["product", "relu", "sigmoid", "tanh", "sum"]
    assert found.first is None and found.hidden is None and found.outputs < 1e-5 and max(one.error for one in found.layers) < 1e-5
    assert str(found).splitlines()[-1] == "bisect: no layer differs by more than 0.0001"


def test_the_first_layer_that_differs(monkeypatch):
    monkeypatch.setattr(bisecting, "Peer", OtherPeer)
    found = legato.bisect(chain())
    assert found.first is not None and found.first.layer == "sigmoid" and found.first.op == "Sigmoid" and found.first.value == "c"
    assert found.alone is not None and found.alone > 0.1 and [one.error > 0.01 for one in found.layers] == [False, False, True, True, True]
    assert "the first difference is in layer 'sigmoid' (Sigmoid), error" in str(found) and "alone, on onnxruntime's values" in str(found)


def test_in_groups(monkeypatch):
    """Values of more memory than one run may hold: the rest of the model is not looked at."""
    monkeypatch.setattr(bisecting, "Peer", OtherPeer)
    monkeypatch.setattr(bisecting, "TOGETHER", 1)
    found = legato.bisect(chain(), {"x": np.ones((3, 8), np.float32)})
    assert [one.layer for one in found.layers] == ["product", "relu", "sigmoid"] and found.first == found.layers[-1]


def test_a_difference_inside_of_a_kernel(monkeypatch):
    """One that is gone once the values between are outputs."""
    class Fused(bisecting.Peer):
        def __init__(self, model, threads=1):
            super().__init__(model, threads)
            self.outputs = [value.name for value in self.session.get_outputs()]

        def __call__(self, inputs):
            found = super().__call__(inputs)
            return found if "c" in self.outputs else [one + (name == "y") for name, one in zip(self.outputs, found)]

    monkeypatch.setattr(bisecting, "Peer", Fused)
    found = legato.bisect(chain())
    assert found.first is None and found.outputs > 0.1 and found.hidden is not None and found.hidden.layer == "sigmoid"
    assert "they differ while the value of layer 'sigmoid' (Sigmoid) stays inside one" in str(found)


def test_the_tool(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(), "m.onnx")
    words = ["m.onnx", "-q", "--random", "--check", "onnxruntime", "--bisect", "--dim", "n=3"]
    assert legato_run.main(words) == 0
    assert "bisect: no layer differs by more than 0.0001" in capsys.readouterr().out
    monkeypatch.setattr(bisecting, "Peer", OtherPeer)
    assert legato_run.main(words) == 1
    told = capsys.readouterr().out
    assert "layer    op       value  error" in told and "the first difference is in layer 'sigmoid'" in told
    assert legato_run.main(["m.onnx", "--random", "--bisect"]) == 2
    assert "--bisect says where --check finds a difference: give both" in capsys.readouterr().err


def test_what_cannot_be_run():
    proto = chain()
    proto.graph.node[2].op_type = "Nothing"
    with pytest.raises(legato.LegatoError, match="Nothing"):
        legato.bisect(proto)
