"""Sequences and optionals that a model takes and returns: lists of arrays, and None."""
import re

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_check import model, value

import legato
from legato.tools import legato_run

node = helper.make_node
X = (np.arange(20, dtype=np.float32) * 7 % 11).reshape(4, 5)


def sequence_of(kind=TensorProto.FLOAT, shape=None):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, shape))


def doubled(shape=None):
    """A model that doubles each tensor of a sequence, appends ``x`` and also returns the length."""
    item = helper.make_graph([node("Add", ["item", "item"], ["double"])], "body", [helper.make_value_info("item", tensor(shape))],
                             [helper.make_value_info("double", tensor(shape))])
    nodes = [node("SequenceMap", ["images"], ["d"], body=item), node("SequenceInsert", ["d", "x"], ["y"]),
             node("SequenceLength", ["y"], ["n"])]
    proto = model(nodes, [helper.make_value_info("images", sequence_of(shape=shape)), value("x", X, ["r", 5])], ["y", "n"])
    proto.graph.output[0].type.CopyFrom(sequence_of())
    proto.graph.output[1].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.INT64, []))
    return proto


def tensor(shape=None):
    return helper.make_tensor_type_proto(TensorProto.FLOAT, shape)


def same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("given", [[["n", 5], [2, "m"]], [], 2], ids=["shapes", "empty", "count"])
def test_lists(given, tmp_path):
    proto = doubled(["rows", "columns"])
    exe = legato.compile(legato.from_onnx(proto, shapes={"images": given}))
    images = [X[:3], X[2:, :4]][: given if isinstance(given, int) else len(given)]
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"images": images, "x": X})
    for found in (exe(images, X), exe(tuple(images), X), exe(x=X, images=images), legato.load(exe.save(tmp_path / "m.legato"))(images, X)):
        same(found[0], expected[0])
        assert found[1] == len(images) + 1


def test_the_signature_shows_lists():
    exe = legato.compile(legato.from_onnx(doubled(), shapes={"images": [["n", 5], [2]]}))
    assert str(exe.signature) == ("main(images: [float32[n, 5], float32[2]], x: float32[r, 5]) -> "
                                  "(y: [float32[n, 5], float32[2], float32[r, 5]], n: int64[])")
    assert [p.name for p in exe.inputs] == ["images[0]", "images[1]", "x"]
    assert [p.name for p in exe.outputs] == ["y[0]", "y[1]", "y[2]", "n"]
    wrong = r"main: argument 0 'images' must be \[float32\[n, 5\], float32\[2\]\], but "
    for images, given in ((X, "a value of ndarray"), ([X], "a list of 1"), (None, "None")):
        with pytest.raises(TypeError, match=wrong + given):
            exe(images, X)
    with pytest.raises(ValueError, match=re.escape("argument 1 'images[1]' must be float32[2], but float32[3]")):
        exe([X, X[0, :3]], X)
    with pytest.raises(TypeError, match="main takes 2 arguments, but 3"):
        exe(X, X[0, :2], X)
    with pytest.raises(TypeError, match="no value for the input x"):
        exe(images=[X, X[0, :2]])


def optional(elem, *nodes):
    """A model of an optional of a type, with these nodes from x to y."""
    inputs = [helper.make_value_info("x", helper.make_optional_type_proto(elem))]
    return model(list(nodes), inputs, ["y"], opset=18)


def test_optionals():
    proto = optional(sequence_of(), node("OptionalHasElement", ["x"], ["y"]))
    assert not legato.compile(legato.from_onnx(proto, shapes={"x": None}))(None)
    assert legato.compile(legato.from_onnx(proto, shapes={"x": [[3]]}))([X[0, :3]])
    exe = legato.compile(legato.from_onnx(proto, shapes={"x": None}))
    assert str(exe.signature) == "main(x: None) -> (y: bool[])"
    with pytest.raises(TypeError, match="argument 0 'x' must be None, but a list of 1 was given"):
        exe([X])
    proto = optional(tensor(["n"]), node("OptionalHasElement", ["x"], ["y"]), node("Optional", [], ["none"], type=tensor()))
    proto.graph.output.append(helper.make_value_info("none", helper.make_optional_type_proto(tensor())))
    has, none = legato.compile(legato.from_onnx(proto))(X[0])
    assert has and none is None


def test_the_tool_takes_tensors_by_their_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(doubled().SerializeToString())
    np.save("a.npy", X)
    shape = ["--shape", "images=n,5;2,3;", "--shape", "x=r,5"]
    words = ["m.onnx", *shape, "--random", "--input", "images[0]=a.npy", "--check", "onnxruntime", "--save", "y[0]=b.npy", "-q"]
    assert legato_run.main(words) == 0
    np.testing.assert_array_equal(np.load("b.npy"), X + X)
    assert "y[1]: float32[2, 3]" in capsys.readouterr().out


@pytest.mark.parametrize(("shapes", "reason"), [
    ({"images": [2, 3]}, "is a sequence: give the number of its tensors, or a list of their shapes, not [2, 3]"),
    ({"images": -2}, "-2 tensors: expected 0 or more"),
    ({"images": 1, "x": [[3]]}, "is no sequence, so it has one shape"),
    ({"images": 1, "x": None}, "'x' is given as None, which only an optional can be"),
    ({"images": 1, "x": [2, 1.5]}, "a size is a number of 0 or more, or a name, not 1.5"),
    ({"images": 1, "x": "2,5"}, "a shape is a list of sizes, not the text '2,5'"),
    ([2, 5], "a map from names of inputs to shapes"),
    ({"image": 1}, "shapes: there is no input 'image'; the inputs are: images, x"),
    ({"images": 2}, "its rank is not known: say what it is with shapes={'images': [[...], ...]}"),
    ({"images": []}, None),
])
def test_shapes_that_do_not_fit(shapes, reason):
    if reason is None:
        assert legato.compile(legato.from_onnx(doubled(), shapes=shapes))([], X)[1] == 1
        return
    with pytest.raises(legato.LegatoError, match=re.escape(reason)):
        legato.from_onnx(doubled(), shapes=shapes)


def test_nothing_but_an_empty_list():
    proto = model([node("SequenceEmpty", [], ["y"])], [value("x", X)], ["y"])
    with pytest.raises(legato.LegatoError, match=r"no tensors among its outputs \(y\): there is nothing to compute"):
        legato.from_onnx(proto)
