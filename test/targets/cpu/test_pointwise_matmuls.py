"""Convolutions of one tap in images of short rows, against onnxruntime, compiled as users do. All cases of a test are one model."""
import re

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level} matmul-precision=f32}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")][::-1]
# images, height, width, channels, features; what is computed of the result
CASES = [
    ((1, 7, 7), 64, 96, "relu"), ((2, 7, 7), 48, 33, "sum"), ((1, 3, 5), 80, 64, "bias"), ((3, 4, 4), 32, 17, "sum"),
    ((1, 9, 3), 33, 40, "relu"), ((5, 2, 1), 64, 64, "bias"), ((1, 25, 3), 96, 128, "sum"), ((2, 8, 8), 64, 100, "relu"),
]


def model(symbolic: bool) -> tuple[bytes, list[np.ndarray]]:
    """A model of a convolution for each case, between two others. ``symbolic``: the number of images is."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(3), [], [], [], [], []

    def weight(name: str, *shape: int) -> str:
        constants.append(numpy_helper.from_array((rng.standard_normal(shape) / 4).astype(np.float32), name))
        return name

    for n, ((images, height, width), channels, features, after) in enumerate(CASES):
        sizes = [f"n{n}" if symbolic else images, channels, height, width]
        inputs.append(helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, sizes))
        arrays.append(rng.standard_normal((images, channels, height, width)).astype(np.float32))
        nodes += [
            helper.make_node("Conv", [f"x{n}", weight(f"u{n}", channels, channels, 1, 1)], [f"s{n}"]),
            helper.make_node("Conv", [f"s{n}", weight(f"w{n}", features, channels, 1, 1), weight(f"b{n}", features)], [f"c{n}"]),
            helper.make_node("Relu" if after == "relu" else "Identity", [f"c{n}"], [f"r{n}"]),
            helper.make_node("Conv", [f"s{n}", weight(f"v{n}", features, channels, 1, 1)], [f"d{n}"]),
            helper.make_node("Add" if after == "sum" else "Mul", [f"r{n}", f"d{n}"], [f"y{n}"]),
        ]
        outputs.append(helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "pointwise", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString(), arrays


@pytest.mark.parametrize("threads, symbolic", first_of([(2, True), (1, False)], 2), ids=["any number of images", "known"])
@pytest.mark.parametrize("target", first_of(LEVELS_HERE))
def test_short_rows(target, threads, symbolic):
    bytes_, arrays = model(symbolic)
    target = target.replace("}", f" threads={threads}}}")
    lowering = Lowering(legato.from_onnx(bytes_), target)
    fused = str(lowering.at("fused"))
    assert len(re.findall(r'iterator_types = \["parallel", "parallel", "reduction"\]', fused)) >= 2 * len(CASES)
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"x{n}": array for n, array in enumerate(arrays)})
    results = lowering.executable(*arrays)
    for case, wanted, result in zip(CASES, expected, results, strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-4, atol=1e-4, err_msg=str(case))
