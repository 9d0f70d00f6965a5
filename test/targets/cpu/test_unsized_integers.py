"""Convolutions of integers on images whose sizes the call gives: products of their windows, beside onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import helper, numpy_helper
from saturation import saturates
from thoroughly import first_of

import legato

RNG = np.random.default_rng(37)
# channels, features, kernel and attributes: whole groups of channels, few of them, one position, strides and dilations, one dimension
CASES = [
    (16, 24, (3, 3), {"pads": [1, 1, 1, 1]}), (3, 16, (5, 4), {"strides": [2, 1], "pads": [0, 2, 1, 1]}), (33, 8, (1, 1), {}),
    (8, 5, (3, 2), {"dilations": [2, 3]}), (17, 16, (4,), {"strides": [3], "pads": [2, 0]}),
]
SIZES = (9, 30, 17)


def model(channels: int, features: int, kernel: tuple[int, ...], attributes: dict, quantized: bool) -> bytes:
    """A QLinearConv, or a ConvInteger."""
    halved = 2 if quantized and saturates() else 1    # what onnxruntime multiplies rightly here
    w = RNG.integers(-128 // halved, 128 // halved, (features, channels, *kernel)).astype(np.int8)
    constants = {"w": w, "az": np.uint8(7), "as": np.float32(0.02), "ws": (RNG.random(features) * 0.02 + 0.001).astype(np.float32),
                 "wz": np.zeros(features, np.int8), "ys": np.float32(0.3), "yz": np.uint8(100)}
    names = ["x", "as", "az", "w", "ws", "wz", "ys", "yz"] if quantized else ["x", "w", "az"]
    node = helper.make_node("QLinearConv" if quantized else "ConvInteger", names, ["y"], **attributes)
    image = helper.make_tensor_value_info("x", 2, ["n", channels, *"hw"[:len(kernel)]])
    graph = helper.make_graph(
        [node], "g", [image], [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items() if name in names])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("quantized, target", first_of([(True, "llvm{threads=2}"), (False, "llvm")], 2))
def test_against_onnxruntime(quantized, target):
    for channels, features, kernel, attributes in CASES:
        bytes_ = model(channels, features, kernel, attributes, quantized)
        session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
        executable = legato.compile(legato.from_onnx(bytes_), target)
        for images, size in enumerate(SIZES):
            x = RNG.integers(0, 256, (images, channels, *range(size, size + len(kernel)))).astype(np.uint8)
            found, right = np.asarray(executable(x)), np.asarray(session.run(None, {"x": x})[0])
            assert found.shape == right.shape
            assert np.abs(found.astype(np.int64) - right).max(initial=0) <= quantized      # a tie may be rounded the other way


def test_they_are_products_of_bytes():
    """And of no floats, whose products would take many times as long."""
    for case in CASES:
        text = str(legato.lower(legato.from_onnx(model(*case, quantized=True)), "llvm", last="relax"))
        assert "relax.matmul_integer" in text and "relax.conv" not in text


@pytest.mark.parametrize("sizes", [("h", "w"), (9, 10)])
def test_zero_points_at_run_time_pad_the_image(sizes):
    """As DynamicQuantizeLinear gives them."""
    w = RNG.integers(-128, 128, (24, 16, 3, 3)).astype(np.int8)
    inputs = [helper.make_tensor_value_info("x", 2, ["n", 16, *sizes]), helper.make_tensor_value_info("z", 2, [])]
    graph = helper.make_graph([helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], pads=[1, 0, 2, 1], strides=[1, 2])], "g", inputs,
                              [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(w, "w")])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()
    lowering = Lowering(legato.from_onnx(bytes_))
    assert "relax.conv2d\"" not in str(lowering.at("relax"))
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    for zero in (0, 7, 255):
        given = {"x": RNG.integers(0, 256, (2, 16, 9, 10)).astype(np.uint8), "z": np.array(zero, np.uint8)}
        np.testing.assert_array_equal(lowering.executable(*given.values()), np.asarray(session.run(None, given)[0]))
