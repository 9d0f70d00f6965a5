"""Initializers in the forms that a file may have them in."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_check import CONTEXT, assert_same, model, reference

from legato import from_onnx

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("places", [[0, 4, 5], [[0, 0], [1, 1], [1, 2]]])
def test_sparse_tensors_are_dense(places):
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(X[1], "w"), numpy_helper.from_array(np.array(places), "i"), [2, 3])
    proto = model([helper.make_node("Constant", [], ["k"], sparse_value=sparse), helper.make_node("Add", ["w", "k"], ["y"])], [], ["y"])
    proto.graph.sparse_initializer.append(sparse)
    module = from_onnx(proto, context=CONTEXT)
    assert_same([module.array(module.constants()[0])], reference(proto, {}))


@pytest.mark.parametrize(("location", "fields"), [("..w.bin", {}), (".../w.bin", {"offset": 4}), ("a/b/w.bin", {"length": 0})])
def test_external_data_lies_where_it_is_said(tmp_path, location, fields):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, entry in {"location": location, **fields}.items():
        tensor.external_data.add(key=key, value=str(entry))
    proto = model([helper.make_node("Neg", ["w"], ["y"])], [], ["y"])
    proto.graph.initializer.append(tensor)
    onnx.save(proto, tmp_path / "m.onnx")
    (tmp_path / location).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / location).write_bytes(bytes(fields.get("offset", 0)) + X.tobytes())
    module = from_onnx(tmp_path / "m.onnx", context=CONTEXT)
    np.testing.assert_array_equal(module.array(module.constants()[0]), -X)


def test_booleans_are_numbers_that_are_not_zero():
    proto = model([helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)], [], ["y"])
    proto.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.BOOL, dims=[3], int32_data=[0, 2, 256]))
    (constant,) = from_onnx(proto, context=CONTEXT).constants()
    np.testing.assert_array_equal(constant.value, [0, 1, 1])
