"""Convolutions of volumes whose windows reach along one or two dimensions, against onnxruntime, compiled as users do."""
import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato

CASES = [   # groups, features, what differs from a window of 1 x 3 x 3 with a stride of 1 and no padding
    (1, 20, {}), (1, 16, {"pads": [0, 1, 1] * 2}), (3, 6, {"strides": [1, 2, 1]}), (12, 12, {"pads": [0, 2, 0, 0, 1, 1]}),
    (1, 17, {"kernel_shape": [3, 1, 1], "pads": [1, 0, 0] * 2}), (12, 24, {"kernel_shape": [2, 1, 1], "strides": [2, 1, 1]}),
    (4, 8, {"kernel_shape": [3, 1, 1], "dilations": [2, 1, 1], "pads": [2, 0, 0, 1, 0, 0]}), (1, 9, {"kernel_shape": [1, 1, 1]}),
    (1, 14, {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [0, 1, 0] * 2}),
    (1, 8, {"pads": [1, 0, 0] * 2}), (1, 8, {"kernel_shape": [3, 1, 1], "strides": [1, 1, 2]}),
]


@pytest.mark.parametrize("sizes", first_of([["n", 12, 6, 7, 6], ["n", 12, 6, "h", "w"]]))
def test_volumes(sizes):
    """Each result goes through a bias, and is added to itself behind an activation."""
    rng, nodes, constants = np.random.default_rng(1), [], []
    for number, (groups, features, differing) in enumerate(CASES):
        attributes = {"kernel_shape": [1, 3, 3], "group": groups} | differing
        weight = rng.standard_normal((features, 12 // groups, *attributes["kernel_shape"])).astype(np.float32)
        weight /= np.sqrt(weight[0].size)
        constants += [numpy_helper.from_array(array, f"{name}{number}") for name, array in (("w", weight), ("b", weight.sum((1, 2, 3, 4))))]
        nodes += [helper.make_node("Conv", ["x", f"w{number}", f"b{number}"], [f"c{number}"], **attributes),
                  helper.make_node("HardSwish", [f"c{number}"], [f"h{number}"]),
                  helper.make_node("Add", [f"h{number}", f"c{number}"], [f"y{number}"])]
    outputs = [helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None) for number in range(len(CASES))]
    graph = helper.make_graph(nodes, "volumes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)], outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    x = rng.standard_normal((2, 12, 6, 7, 6)).astype(np.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    lowering = Lowering(legato.from_onnx(model))
    text = str(lowering.at("relax"))
    known = int(sizes[-1] == 6)    # a product, elements that are not read, and a depthwise one that stays
    assert text.count('"relax.matmul"(') == known
    assert text.count('"relax.conv2d"(') == len(CASES) - 2 - known and text.count('"relax.conv3d"(') == 2
    results = lowering.executable(x)
    for case, wanted, result in zip(CASES, session.run(None, {"x": x}), results, strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-5, atol=2e-5, err_msg=str(case))
