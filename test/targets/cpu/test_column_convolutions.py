"""Convolutions of channels-first images, depthwise or of few features, against onnxruntime, compiled as users do. All cases of a test are
one model."""
from collections.abc import Sequence

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")][::-1]
# shape of the input, features (0: depthwise), then what differs from windows of 3 in each dimension with a padding of 1
CASES = [
    ((1, 3, 14, 14), 0, {}), ((2, 5, 14, 33), 0, {}), ((1, 3, 1, 9), 0, {}), ((1, 7, 9, 1), 0, {}),
    ((1, 12, 30, 150), 0, {"strides": [2, 2]}),
    ((1, 3, 9, 71), 0, {"strides": [1, 3], "pads": [0, 2, 2, 0]}), ((1, 6, 21, 50), 0, {"strides": [3, 4], "kernel_shape": [7, 5]}),
    ((1, 3, 11, 37), 0, {"dilations": [2, 3], "pads": [2] * 4}), ((1, 20, 35, 64), 0, {"kernel_shape": [5, 5], "pads": [2] * 4}),
    ((3, 3, 13, 40), 0, {"dilations": [3, 2], "strides": [2, 2], "pads": [2, 1, 2, 0]}), ((1, 3, 40, 34), 0, {"pads": [0] * 4}),
    ((1, 3, 33, 40), 0, {"kernel_shape": [7, 16], "pads": [3, 7, 3, 8]}), ((1, 3, 5, 6), 0, {"pads": [5, 4, 3, 6]}),
    ((1, 3, 200), 0, {}), ((2, 24, 127), 0, {"kernel_shape": [9], "pads": [8, 0]}), ((1, 5, 60), 0, {"dilations": [16], "pads": [16, 16]}),
    ((1, 3, 4, 9, 18), 0, {}), ((2, 3, 5, 6, 37), 0, {"strides": [2, 1, 2], "dilations": [1, 2, 1], "pads": [1, 1, 1, 0, 1, 1]}),
    ((1, 3, 9, 12, 17), 0, {"kernel_shape": [5, 5, 5], "pads": [2] * 6}), ((1, 3, 6, 7, 24), 0, {"pads": [0] * 6}),
    ((2, 64, 13, 29), 0, {"kernel_shape": [2, 2], "strides": [1, 2], "pads": [0, 0, 1, 1]}),
    ((1, 32, 6, 5, 25), 0, {"kernel_shape": [1, 3, 3]}),
    ((1, 48, 12, 21), 0, {"kernel_shape": [5, 5], "pads": [2] * 4, "dilations": [2, 1]}),
    ((1, 64, 20, 64), 0, {"kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2]}),
    ((1, 17, 15, 100), 0, {"kernel_shape": [7, 7], "pads": [3] * 4}),
    ((1, 1, 20, 28), 1, {}), ((1, 3, 17, 33), 4, {}), ((2, 8, 13, 48), 7, {"kernel_shape": [1, 5], "pads": [0, 2, 0, 2]}),
    ((1, 3, 15, 40), 9, {"strides": [2, 1]}), ((1, 20, 9, 16), 5, {"kernel_shape": [3, 1], "pads": [1, 0, 1, 0]}),
    ((1, 4, 70), 3, {"strides": [2]}), ((2, 3, 5, 8, 20), 2, {"strides": [1, 2, 2]}),
    ((1, 9, 64), 12, {"kernel_shape": [1], "pads": [0, 0]}),
    ((1, 4, 128, 130), 2, {"pads": [0] * 4}),
]


def model(cases: Sequence[tuple[tuple[int, ...], int, dict]], symbolic: bool = False,
          constant: bool = True) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution for each case, with one of some epilogues. ``symbolic``: the number of images is; ``constant``: the filters
    are, or else inputs."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], [], {}

    def given(name: str, array: np.ndarray, shape: Sequence[int | str]) -> None:
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        arrays[name] = array

    for number, (shape, features, differing) in enumerate(cases):
        rank = len(shape) - 2
        attributes = {"kernel_shape": [3] * rank, "pads": [1] * 2 * rank, "group": 1 if features else shape[1]} | differing
        given(f"x{number}", rng.standard_normal(shape).astype(np.float32), [f"n{number}" if symbolic else shape[0], *shape[1:]])
        filters = rng.standard_normal((features or shape[1], shape[1] if features else 1, *attributes["kernel_shape"])).astype(np.float32)
        if constant:
            constants.append(numpy_helper.from_array(filters, f"w{number}"))
        else:
            given(f"w{number}", filters, filters.shape)
        constants.append(numpy_helper.from_array(rng.standard_normal(filters.shape[0]).astype(np.float32), f"b{number}"))
        nodes.append(helper.make_node("Conv", [f"x{number}", f"w{number}", f"b{number}"], [f"c{number}"], **attributes))
        nodes.append(helper.make_node(("Relu", "HardSwish", "Identity")[number % 3], [f"c{number}"], [f"y{number}"]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "columns", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString(), arrays


def check(bytes_: bytes, arrays: dict[str, np.ndarray], target: str, cases: Sequence) -> Lowering:
    """All convolutions are there as such, channels-first, when ``tir-column-convolutions`` begins, and none of them afterwards."""
    lowering = Lowering(legato.from_onnx(bytes_), target)
    fused = str(lowering.at("fused"))
    assert "linalg." not in fused and "permute" not in fused
    expected = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"]).run(None, arrays)
    results = lowering.executable(*arrays.values())
    for case, wanted, result in zip(cases, expected, results, strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-4, atol=2e-5, err_msg=str(case))
    return lowering


@pytest.mark.parametrize("target", first_of(LEVELS_HERE))
def test_windows_paddings_and_epilogues(target):
    check(*model(CASES), target, CASES)


def test_threads_share_parts(monkeypatch):
    monkeypatch.setattr("legato.passes.cpu.column_loops.WORTH_IT", 1)
    bytes_, arrays = model(CASES[::4], symbolic=True)
    lowering = check(bytes_, arrays, "llvm{threads=3}", CASES[::4])
    assert str(lowering.at("scheduled")).count("scf.parallel") == len(CASES[::4])


def test_filters_that_are_inputs():
    cases = CASES[:4] + CASES[20:24]
    check(*model(cases, constant=False), "llvm", cases)


def test_special_values():
    """An element that is NaN, or infinite, is seen in the windows that have it, and in no other."""
    cases = [CASES[0], CASES[4], CASES[9], CASES[13], CASES[16], CASES[21], CASES[25]]
    bytes_, arrays = model(cases)
    for number, value in zip(range(len(cases)), (np.nan, np.inf, -np.inf) * 3):
        flat = arrays[f"x{number}"].reshape(-1)
        flat[[0, flat.size // 3, flat.size - 1]] = value
    check(bytes_, arrays, "llvm", cases)


def test_depthwise_convolution_between_others():
    """One of few channels is faster by columns even where its image is channels-last."""
    rng, constants = np.random.default_rng(1), {}
    for name, shape in (("a", (12, 32, 1, 1)), ("b", (12, 1, 3, 3)), ("c", (64, 12, 3, 3))):
        constants[name] = rng.standard_normal(shape).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "a"], ["u"]), helper.make_node("Relu", ["u"], ["v"]),
             helper.make_node("Conv", ["v", "b"], ["w"], group=12, pads=[1] * 4), helper.make_node("Conv", ["w", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 20, 30])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()
    x = rng.standard_normal((1, 32, 20, 30)).astype(np.float32)
    lowering = Lowering(legato.from_onnx(bytes_))
    graph_text = str(lowering.at("relax"))
    assert 'data_layout = "NHWC"' in graph_text and "groups = 12" in graph_text
    wanted = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    result = np.from_dlpack(lowering.executable(x))
    np.testing.assert_allclose(result, np.asarray(wanted), rtol=1e-4, atol=1e-3)
