"""Convolutions and pools of images of one column, as a sequence along the height has them, against onnxruntime. All cases are one model."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import legato

RNG = np.random.default_rng(31)
CONVOLUTIONS = [    # shapes of the image and of the filter, and attributes
    ((2, 16, 40, 1), (24, 16, 5, 1), {}),
    ((1, 16, 33, 1), (16, 1, 3, 1), {"group": 16, "pads": [1, 0, 1, 0]}),
    ((1, 8, 50, 1), (12, 4, 4, 1), {"group": 2, "strides": [3, 1], "pads": [0, 0, 2, 0], "dilations": [2, 1]}),
    ((1, 3, 9, 20, 1), (5, 3, 3, 3, 1), {"strides": [1, 2, 1]}),
    ((1, 4, 1, 30, 1), (5, 4, 1, 3, 1), {}),
]
POOLS = [((1, 5, 31, 1), {"kernel_shape": [3, 1], "strides": [2, 1], "pads": [1, 0, 1, 0]}), ((2, 3, 6, 8, 1), {"kernel_shape": [2, 2, 1]})]


def test_against_onnxruntime():
    nodes, weights, inputs, arrays = [], [], [], {}

    def image(shape):
        name = f"x{len(inputs)}"
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"n{len(inputs)}", *shape[1:]]))
        arrays[name] = RNG.standard_normal(shape).astype(np.float32)
        return name

    outputs = []
    for shape, taps, attributes in CONVOLUTIONS:
        x, number = image(shape), len(nodes)
        weights += [numpy_helper.from_array(RNG.standard_normal(one).astype(np.float32), f"{letter}{number}")
                    for letter, one in (("w", taps), ("b", taps[:1]))]
        nodes += [helper.make_node("Conv", [x, f"w{number}", f"b{number}"], [f"c{number}"], **attributes),
                  helper.make_node("Relu", [f"c{number}"], [f"y{number}"])]
        outputs.append(f"y{number}")
    for shape, attributes in POOLS:
        for op in ("MaxPool", "AveragePool"):
            outputs.append(f"p{len(nodes)}")
            nodes.append(helper.make_node(op, [image(shape)], outputs[-1:], **attributes))
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()
    expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, arrays)
    for target in ("llvm", "llvm{threads=2}"):
        found = legato.compile(legato.from_onnx(model), target)(*arrays.values())
        for own, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, np.asarray(right), rtol=1e-5, atol=1e-5)


def test_integers():
    """A quantized convolution, whose loops have no form of one dimension."""
    x, w = RNG.integers(0, 255, (1, 16, 40, 1)).astype(np.uint8), RNG.integers(-99, 99, (24, 16, 5, 1)).astype(np.int8)
    graph = helper.make_graph(
        [helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], pads=[2, 0, 2, 0])], "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)], [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array(7, np.uint8), "z")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()
    expected, = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_array_equal(legato.compile(legato.from_onnx(model))(x), expected)
