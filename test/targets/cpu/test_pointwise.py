"""Convolutions by one element of channels-first images against onnxruntime, in images of known and unknown number and size."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato

# shape of the image, features, attributes
CASES = [
    ((2, 40, 9, 11), 5, {}), ((1, 64, 16, 16), 64, {}), ((2, 24, 50), 16, {"group": 8}), ((1, 8, 12, 12, 12), 8, {"strides": [3, 2, 1]}),
    ((1, 20, 31, 30), 30, {"strides": [3, 3]}), ((2, 12, 7, 9), 12, {"group": 12}), ((1, 7, 1, 1), 3, {}), ((1, 33, 40), 1, {}),
    ((1, 16, 10, 10), 4, {"pads": [1, 0, 0, 1]}), ((2, 6, 5, 5), 6, {"group": 6, "strides": [2, 2]}),
]


@pytest.mark.parametrize("unknown", first_of(["nw", "n", ""]))
def test_convolutions_by_one_element(unknown):
    rng, nodes, inputs, outputs, constants, arrays = np.random.default_rng(2), [], [], [], [], []
    for number, (shape, features, attributes) in enumerate(CASES):
        sizes = [f"n{number}" if "n" in unknown else shape[0], *shape[1:-1], f"w{number}" if "w" in unknown else shape[-1]]
        inputs.append(helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, sizes))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))
        arrays.append(rng.standard_normal(shape, np.float32))
        weight = rng.standard_normal((features, shape[1] // attributes.get("group", 1), *[1] * (len(shape) - 2)), np.float32)
        bias = weight.reshape(features, -1)[:, 0]
        constants += [numpy_helper.from_array(weight, f"w{number}_"), numpy_helper.from_array(bias, f"b{number}")]
        nodes += [helper.make_node("Conv", [f"x{number}", f"w{number}_", f"b{number}"], [f"c{number}"], **attributes),
                  helper.make_node("Relu", [f"c{number}"], [f"y{number}"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    text = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()
    session = onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"x{number}": array for number, array in enumerate(arrays)})
    for number, (found, right) in enumerate(zip(legato.compile(legato.from_onnx(text), "llvm")(*arrays), expected, strict=True)):
        assert np.allclose(found, np.asarray(right), rtol=1e-4, atol=1e-5), CASES[number]
