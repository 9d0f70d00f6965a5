"""Convolutions of bytes in groups: sums against numpy, exact, and quantized models against onnxruntime, compiled as users do."""
import numpy as np
import onnxruntime
import pytest
from harness import NAMES, TARGETS, Net
from lowering import Lowering
from onnx import helper, numpy_helper
from thoroughly import first_of, thorough

import legato
from legato.core import cpu
from legato.dialects import relax
from legato.targets.cpu.machine import LEVELS

HERE = {**TARGETS, **{level: f"llvm{{cpu={level}}}" for level in LEVELS[::-1] if not cpu.missing_features(level, "")},
        "two threads": "llvm{threads=2}"}
LEVEL_NAMES = [*TARGETS, *thorough(level for level in HERE if level not in TARGETS)]
# images, groups, channels and features of a group, what differs from windows of 3 in each dimension with a padding of 1
CASES = [
    ((1, 13, 14), 2, 65, 40, {"kernel_shape": [4, 4]}),                                 # channels in no whole lanes
    ((1, 12, 12), 4, 32, 40, {}), ((1, 90), 4, 20, 13, {"kernel_shape": [4], "strides": [2], "pads": [1, 2]}),
    ((2, 9, 30), 3, 7, 70, {"strides": [2, 1]}), ((1, 11, 9), 2, 16, 16, {"dilations": [2, 2], "pads": [2] * 4}),
    ((1, 12, 13), 16, 4, 4, {}), ((1, 12, 13), 5, 4, 4, {}), ((1, 9, 14), 13, 8, 8, {"strides": [2, 2]}),     # narrow: shuffled
    ((1, 12, 11), 7, 5, 4, {}), ((1, 8, 9), 3, 7, 8, {"dilations": [1, 2]}), ((1, 8, 9), 6, 6, 3, {"strides": [1, 2]}),
    ((1, 10, 12), 3, 80, 2, {}), ((1, 10, 12), 8, 64, 1, {"pads": [0] * 4}),             # few features: lanes are channels
    ((1, 8, 9), 4, 3, 9, {}), ((1, 8, 9), 2, 16, 16, {"kernel_shape": [1, 1], "pads": [0] * 4}),            # stay in floats
    ((1, 6, 5, 7), 2, 12, 24, {"strides": [1, 2, 1]}), ((1, 4, 6, 6), 3, 9, 5, {"kernel_shape": [2, 3, 3], "pads": [1, 1, 1, 0, 1, 1]}),
    ((1, 5, 40), 2, 17, 33, {"kernel_shape": [1, 9], "pads": [0, 12, 0, 20]}),
]
INTEGERS = len(CASES) - 2


def model(of_x: type, of_w: type, zero: int, symbolic: bool) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a quantized convolution for each case, with a bias at times, whose result is quantized to the type of the images.
    ``zero``: the zero point of all images; weights of uint8 have one for each feature."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(3), [], [], [], [], {}

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    step, half, middle = constant("step", np.float32(0.02)), constant("half", np.float32(0.05)), constant("zero", np.asarray(zero, of_x))
    for n, ((images, *sizes), groups, channels, features, differing) in enumerate(CASES):
        attributes = {"kernel_shape": [3] * len(sizes), "pads": [1] * 2 * len(sizes), "group": groups} | differing
        every, info = groups * features, np.iinfo(of_w)
        filters = rng.integers(info.min, info.max + 1, (every, channels, *attributes["kernel_shape"])).astype(of_w)
        depth = filters[0].size
        scales = (rng.uniform(0.5, 1.5, every) / 64 * depth ** -0.5).astype(np.float32)
        zeros = np.zeros(every, of_w) if of_w is np.int8 else np.full(every, 128, of_w)
        shape = [images, groups * channels, *sizes]
        inputs.append(helper.make_tensor_value_info(f"x{n}", helper.np_dtype_to_tensor_dtype(np.dtype(of_x)),
                                                    [f"n{n}" if symbolic else images, *shape[1:]]))
        arrays[f"x{n}"] = rng.integers(np.iinfo(of_x).min, np.iinfo(of_x).max + 1, shape).astype(of_x)
        nodes.append(helper.make_node("DequantizeLinear", [f"x{n}", step, middle], [f"dx{n}"]))
        weight = [constant(f"w{n}", filters), constant(f"s{n}", scales), constant(f"z{n}", zeros)]
        nodes.append(helper.make_node("DequantizeLinear", weight, [f"dw{n}"], axis=0))
        given = [f"dx{n}", f"dw{n}"]
        if n % 2:
            given.append(constant(f"b{n}", rng.standard_normal(every).astype(np.float32)))
        nodes.append(helper.make_node("Conv", given, [f"c{n}"], **attributes))
        nodes.append(helper.make_node("QuantizeLinear", [f"c{n}", half, middle], [f"y{n}"]))
        outputs.append(helper.make_tensor_value_info(f"y{n}", helper.np_dtype_to_tensor_dtype(np.dtype(of_x)), None))
    graph = helper.make_graph(nodes, "groups", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays


@pytest.mark.parametrize("level", first_of(HERE))
@pytest.mark.parametrize("of_x, of_w, zero, symbolic", [
    (np.uint8, np.int8, 128, True),
    *thorough([(np.int8, np.int8, 0, False), (np.uint8, np.uint8, 0, False), (np.int8, np.int8, -5, False)], 4)])
def test_quantized(level, of_x, of_w, zero, symbolic):
    """Results may be off by one where f32 rounds a sum to the other side of a half."""
    bytes_, arrays = model(of_x, of_w, zero, symbolic)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(bytes_, options, providers=["CPUExecutionProvider"]).run(None, arrays)
    lowering = Lowering(legato.from_onnx(bytes_), HERE[level])
    if level != "x86-64":
        text = str(lowering.at("fused"))
        assert text.count("conv2d_integer") >= INTEGERS and text.count('tir.state = "scheduled"') >= INTEGERS
    for case, wanted, result in zip(CASES, expected, lowering.executable(*arrays.values()), strict=True):
        off = np.abs(np.from_dlpack(result).astype(int) - np.asarray(wanted).astype(int))
        assert off.max() <= 1 and (off > 0).mean() <= 1e-3, case


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_extremes(level):
    """Sums of the largest products are exact."""
    net, arrays, expected = Net(HERE[level], first=None), [], []
    rng = np.random.default_rng(7)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    for shape, kernel, groups, attributes in (
            ((2, 9, 14, 24), (3, 3, 12, 34), 2, {"strides": [2, 1]}), ((1, 8, 12, 27), (2, 3, 9, 36), 3, {"dilations": [2, 1]}),
            ((1, 9, 9, 20), (3, 3, 4, 20), 5, {}), ((1, 9, 8, 35), (3, 2, 5, 28), 7, {}), ((1, 6, 15, 21), (1, 3, 7, 24), 3, {}),
            ((1, 9, 20, 280), (3, 3, 140, 6), 2, {}), ((1, 7, 7, 128), (3, 3, 64, 1000), 2, {}), ((1, 1, 40, 10), (1, 5, 5, 40), 2, {})):
        for of_x, of_w in ((np.uint8, np.int8), (np.int16, np.int16)):
            top, bottom = (np.iinfo(of_x).max, np.iinfo(of_w).min) if of_x is np.uint8 else (255, -255)
            x = rng.choice([0, top], shape).astype(of_x)
            w = rng.choice([bottom, -bottom - 1], kernel).astype(of_w)
            factors = [net.input(shape, NAMES[x.dtype]), net.weight(w)]
            net.output(net.op("relax.conv2d_integer", factors, groups=groups, **layouts, **attributes))
            arrays.append(x)
            expected.append(relax.OPS["conv2d_integer"].semantics(x, w, groups=groups, **layouts, **attributes))
    for wanted, found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)
