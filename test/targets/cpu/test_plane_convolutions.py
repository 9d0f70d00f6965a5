"""Convolutions of volumes whose windows do not overlap, or that are computed as those of images, against onnxruntime. One model for all."""
import numpy as np
import pytest
from beside_onnxruntime import check_beside_onnxruntime
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
# sizes, channels, features, and what differs from windows of 2 with a stride of 2
CASES = [
    ((6, 6, 6), 14, 40, {}), ((5, 7, 9), 3, 33, {"pads": [1, 0, 1, 0, 2, 1]}),
    ((9, 8, 7), 17, 64, {"kernel_shape": [3, 1, 1], "strides": [3, 2, 3], "pads": [1, 0, 0, 1, 0, 0]}),
    ((6, 7, 7), 8, 32, {"kernel_shape": [3, 1, 3], "strides": [3, 3, 3], "dilations": [2, 1, 1], "pads": [0, 1, 0, 0, 1, 0]}),
    ((4, 4, 4), 9, 32, {"kernel_shape": [4, 4, 4], "strides": [4, 4, 4]}), ((7, 40, 41), 5, 32, {"kernel_shape": [3] * 3, "pads": [1] * 6}),
    ((2, 8, 8), 8, 32, {"kernel_shape": [3] * 3, "strides": [3] * 3, "pads": [3, 0, 1, 4, 2, 0]}),
    ((20, 9, 9), 40, 16, {"kernel_shape": [3] * 3, "strides": [3] * 3, "pads": [1] * 6}),
    ((3, 7, 7), 8, 32, {"kernel_shape": [2] * 3, "strides": [2] * 3, "dilations": [5, 1, 1], "pads": [4, 0, 0, 4, 0, 0]}),
    ((5, 6, 6), 8, 32, {"pads": [1, 0, 0, 1, 0, 0]}),
]


def model() -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution and a Relu for each case, of images in a number that the call decides."""
    rng, nodes, weights, inputs, outputs, feeds = np.random.default_rng(7), [], [], [], [], {}
    for number, (sizes, channels, features, differing) in enumerate(CASES):
        attributes = {"kernel_shape": [2] * 3, "strides": [2] * 3} | differing
        x, w, y = f"x{number}", f"w{number}", f"y{number}"
        feeds[x] = rng.standard_normal((3, channels, *sizes)).astype(np.float32)
        filters = rng.standard_normal((features, channels, *attributes["kernel_shape"])).astype(np.float32)
        weights.append(numpy_helper.from_array(filters, w))
        nodes += [helper.make_node("Conv", [x, w], [f"c{number}"], **attributes), helper.make_node("Relu", [f"c{number}"], [y])]
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", channels, *sizes]))
        outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "volumes", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString(), feeds


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_against_onnxruntime(target):
    data, feeds = model()
    lowering = Lowering(legato.from_onnx(data), target)
    graph = str(lowering.at("relax"))
    assert graph.count('"relax.conv2d"') == len(CASES) - ("v4" in target)    # all but what overlaps
    check_beside_onnxruntime(data, lowering.executable, feeds)
