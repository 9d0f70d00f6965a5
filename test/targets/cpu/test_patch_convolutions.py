"""Convolutions of patches side by side, with filters larger than the second cache, against onnxruntime. One model for all."""
import re

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
# sizes, channels, features, taps
CASES = [((64, 96), 3, 96, (32, 32)), ((41, 50), 5, 86, (20, 16)), ((9, 37, 40), 3, 48, (4, 18, 13)), ((3, 20, 17), 4, 80, (3, 16, 17)),
         ((28, 28), 1, 257, (28, 28)), ((18, 18), 15, 165, (9, 6))]


def model() -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution and what embeddings of patches go on with for each case, of images in a number that the call decides."""
    rng, nodes, outputs, feeds = np.random.default_rng(7), [], [], {}
    inputs, weights = [], [numpy_helper.from_array(np.array([0, 0, -1]), "flat")]
    for number, (sizes, channels, features, taps) in enumerate(CASES):
        x, w, b = f"x{number}", f"w{number}", f"b{number}"
        feeds[x] = rng.standard_normal((3, channels, *sizes)).astype(np.float32)
        weights += [numpy_helper.from_array(rng.standard_normal((features, channels, *taps)).astype(np.float32), w),
                    numpy_helper.from_array(rng.standard_normal(features).astype(np.float32), b)]
        nodes += [helper.make_node("Conv", [x, w, b], [f"c{number}"], strides=taps),
                  helper.make_node("Reshape", [f"c{number}", "flat"], [f"r{number}"]),
                  helper.make_node("Transpose", [f"r{number}"], [f"y{number}"], perm=[0, 2, 1])]
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", channels, *sizes]))
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (f"c{number}", f"y{number}")]
    graph = helper.make_graph(nodes, "patches", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString(), feeds


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_against_onnxruntime(target):
    data, feeds = model()
    lowering = Lowering(legato.from_onnx(data), target)
    graph = str(lowering.at("relax"))
    ones = re.findall(r'"relax.conv2d".*?, tensor<1x1x\d+x\d+xf32>', graph)    # convolutions by one element, channels last
    assert (len(ones), graph.count('"relax.matmul"'), graph.count('"relax.conv')) == (4, 2, 4)
    check_beside_onnxruntime(data, lowering.executable, feeds)
