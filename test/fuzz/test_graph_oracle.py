"""What stands in for ONNX's reference where that is wrong, against onnxruntime."""
from itertools import product

import numpy as np
import onnxruntime
from graph_builder import OPSET, averaged, local_response, max_pooled, sliced
from onnx import TensorProto, helper


def test_slices():
    names = ["x", "starts", "ends", "axes", "steps"]
    infos = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n"] if name == "x" else [1]) for name in names]
    graph = helper.make_graph([helper.make_node("Slice", names, ["y"])], "g", infos,
                              [helper.make_tensor_value_info("y", TensorProto.INT64, [None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    places = (-(1 << 40), -4, -3, -1, 0, 1, 3, 1 << 40)
    for size, start, end, step in product((0, 1, 3), places, places, (-2, -1, 1, 2)):
        arrays = [np.arange(size), *(np.array([number]) for number in (start, end, 0, step))]
        wanted = session.run(None, dict(zip(names, arrays)))[0]
        np.testing.assert_array_equal(sliced(*arrays), wanted, f"{size} elements, {start}:{end}:{step}")


def test_pools():
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 9)).astype(np.float32)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in "xy"]
    for pads, strides, dilations, ceil_mode, counted in product(
            ([0, 0, 0, 0], [1, 0, 1, 4], [0, 1, 0, 1], [1, 2, 0, 0]), ([1, 1], [2, 1], [3, 2]), ([1, 1], [2, 1]), (0, 1), (0, 1)):
        attributes = {"kernel_shape": [2, 5], "pads": pads, "strides": strides, "dilations": dilations, "ceil_mode": ceil_mode}
        for op, own in (("MaxPool", max_pooled), ("AveragePool", averaged)):
            given = attributes | ({"count_include_pad": counted} if op == "AveragePool" else {})
            graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **given)], "g", infos[:1], infos[1:])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
            wanted = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
            np.testing.assert_allclose(own(x.astype(np.float64), **given), np.asarray(wanted), 1e-5, 1e-6, err_msg=f"{op} {given}")


def test_local_responses():
    x = np.random.default_rng(0).standard_normal((1, 4, 2, 3)).astype(np.float32)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in "xy"]
    for size in (1, 3, 5):
        graph = helper.make_graph([helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.1)], "g", infos[:1], infos[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(local_response(x.astype(np.float64), size, 0.1), np.asarray(session.run(None, {"x": x})[0]), 1e-6)
