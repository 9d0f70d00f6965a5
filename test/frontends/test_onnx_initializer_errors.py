"""Constants of a model that cannot be read: which one, and why."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_check import CONTEXT
from onnx_refusals import X, chain, node, refuses

from legato import LegatoError, UnsupportedError, from_onnx


def broken(**fields) -> onnx.ModelProto:
    """A model whose initializer ``c`` has some fields changed."""
    proto = chain(node("Add", "x c", "y"), constants={"c": X})
    tensor = proto.graph.initializer[0]
    for name, field in fields.items():
        if isinstance(field, list):
            tensor.ClearField(name)
            getattr(tensor, name).extend(field)
        else:
            setattr(tensor, name, field)
    return proto


def test_initializers():
    refuses(broken(raw_data=b"1234"), "c (initializer): it has 4 bytes of data, but [2, 3] of float32 takes 24")
    refuses(broken(dims=[2, -3]), "its shape [2, -3] has a negative size")
    refuses(broken(data_type=99), "c (initializer): its element type 99 does not exist")
    refuses(broken(data_type=TensorProto.INT4), "c (initializer): it has 24 bytes of data, but [2, 3] of int4 takes 3")
    refuses(broken(data_type=TensorProto.INT4, raw_data=b"abc"), "/n (Add, opset 20): operand 'b' must have float or int or uint elements")
    refuses(broken(data_type=TensorProto.COMPLEX64), "c (initializer): element type complex64 is not supported", kind=UnsupportedError)
    proto = broken(float_data=[1.0, 2.0])
    proto.graph.initializer[0].ClearField("raw_data")
    refuses(proto, "it has 2 elements, but its shape [2, 3] has 6")


@pytest.mark.parametrize(("places", "shape", "text"), [
    ([0, 1, 9], [9], "c (initializer): it is sparse, and has an index outside of its shape [9]"),
    ([[0, 0], [1, 2], [1, 3]], [2, 3], "it is sparse, and has an index outside of its shape [2, 3]"),
    ([0, 1], [9], "of float32[3] at the indices int64[2]: expected a vector of values, and as many places of int64"),
    ([0, 1, 2], [9, -9], "its shape [9, -9] has a negative size"),
])
def test_sparse_initializers(places, shape, text):
    proto = chain(node("Add", "x c", "y"))
    proto.graph.sparse_initializer.append(sparse("c", places, shape))
    refuses(proto, text)


def sparse(name: str, places: list, shape: list[int]) -> onnx.SparseTensorProto:
    made = helper.make_sparse_tensor(numpy_helper.from_array(X[0], name), numpy_helper.from_array(np.array(places), "i"), [9])
    made.dims[:] = shape
    return made


def test_what_is_not_supported_may_lie_in_a_model_that_does_not_read_it():
    proto = chain(node("Relu", "x", "y"))
    proto.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b"]))
    from_onnx(proto, context=CONTEXT)
    refused = "words (initializer): element type string is not supported"
    proto.graph.output.add(name="words")
    refuses(proto, refused, kind=UnsupportedError)
    captures = helper.make_graph([node("Identity", "words", "z")], "branch", [], [onnx.ValueInfoProto(name="z")])
    branches = node("If", "c", "y", then_branch=captures, else_branch=captures)
    proto = chain(branches, constants={"c": np.array(True)})
    proto.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b"]))
    refuses(proto, refused, kind=UnsupportedError)


@pytest.mark.parametrize(
    "fields, text",
    [
        ({}, "no location says where"),
        ({"location": "nowhere.bin"}, "nowhere.bin, which is not there"),
        ({"location": "w.bin", "offset": "8"}, "would be bytes 8 to 32 of"),
        ({"location": "w.bin", "offset": "-4"}, "would be bytes -4 to 20 of"),
        ({"location": "w.bin", "offset": "many"}, "offset 'many'"),
        ({"location": "w.bin", "length": "20"}, "has 20 bytes, but [2, 3] of float32 takes 24"),
        ({"location": "w.bin", "length": ""}, "the length '' of its external data is no number"),
        ({"location": "../w.bin"}, "outside the model's folder"),
        ({"location": "a/../../w.bin"}, "outside the model's folder"),
        ({"location": "folder"}, "folder, which is no file"),
        ({"location": "/etc/passwd"}, "outside the model's folder"),
    ],
)
def test_external_data(tmp_path, fields, text):
    proto = broken(data_location=TensorProto.EXTERNAL)
    proto.graph.initializer[0].ClearField("raw_data")
    for key, entry in fields.items():
        proto.graph.initializer[0].external_data.add(key=key, value=entry)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "w.bin").write_bytes(bytes(30))
    (tmp_path / "folder").mkdir()
    with pytest.raises(LegatoError, match=r"c \(initializer\)") as caught:
        from_onnx(tmp_path / "model.onnx", context=CONTEXT)
    assert text in str(caught.value)


def test_external_data_is_said_once(tmp_path):
    proto = broken(data_location=TensorProto.EXTERNAL)
    proto.graph.initializer[0].ClearField("raw_data")
    for name in ("w.bin", "v.bin"):
        proto.graph.initializer[0].external_data.add(key="location", value=name)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(LegatoError, match=r"c \(initializer\): its external data has two values for 'location': 'w.bin' and 'v.bin'"):
        from_onnx(tmp_path / "model.onnx", context=CONTEXT)


def test_a_file_that_is_missing_is_one_line(tmp_path):
    proto = chain(*(node("Add", f"x w{i}", f"y{i}") for i in range(5)))
    for i in range(5):
        tensor = numpy_helper.from_array(X[0], f"w{i}")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.ClearField("raw_data")
        tensor.external_data.add(key="location", value="a.bin" if i < 4 else "b.bin")
        proto.graph.initializer.append(tensor)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(LegatoError) as caught:
        from_onnx(tmp_path / "model.onnx", context=CONTEXT)
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'model.onnx'} is not a valid ONNX model, in 5 places:",
        f"  w0, w1, w2 and 1 more (initializer): its data lies in {tmp_path / 'a.bin'}, which is not there",
        f"  w4 (initializer): its data lies in {tmp_path / 'b.bin'}, which is not there"]
    assert [problem.name for problem in caught.value.problems] == ["w0", "w1", "w2", "w3", "w4"]


def test_external_data_needs_a_folder():
    proto = broken(data_location=TensorProto.EXTERNAL)
    proto.graph.initializer[0].external_data.add(key="location", value="w.bin")
    refuses(proto, "the model came without a folder: give from_onnx its path")
