"""Products of two quantized values that are not constant: exact sums, scaled once, against numpy, compiled as users do."""
import numpy as np
import pytest
from harness import NAMES, TARGETS, Net
from lowering import Lowering
from onnx import helper, numpy_helper
from thoroughly import first_of, pairs, thorough

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

HERE = {**TARGETS, **{level: f"llvm{{cpu={level}}}" for level in LEVELS[::-1] if not cpu.missing_features(level, "")},
        "two threads": "llvm{threads=2}"}
LEVEL_NAMES = [*TARGETS, *thorough(level for level in HERE if level not in TARGETS)]
# shapes of the factors: depths and columns in whole lanes or not, few rows, and batches that are broadcast
SHAPES = [
    ((24, 9, 64), (24, 64, 23)), ((3, 33, 50), (3, 50, 32)), ((2, 3, 17, 9), (3, 9, 40)), ((4, 1, 30), (4, 30, 70)),
    ((5, 12, 16), (1, 16, 8)), ((1, 40, 13), (6, 13, 16)), ((7, 11), (11, 19)), ((2, 6, 21), (21, 33)), ((2, 128, 300), (2, 300, 9)),
]
SIGNS = [(np.uint8, np.uint8, 128, 128), (np.int8, np.uint8, 3, 0),
         *thorough([(np.int8, np.int8, 0, 0), (np.uint8, np.int8, 0, -7), (np.int8, np.int8, -128, 5)])]


def model(of_x: type, of_y: type, zx: int, zy: int, symbolic: bool,
          constant: bool) -> tuple[bytes, dict[str, np.ndarray], list[np.ndarray]]:
    """A model of a product for each pair of shapes, its inputs and exact results. ``symbolic``: all sizes but depths are names;
    ``constant``: so are the zero points, or else inputs."""
    rng, nodes, inputs, outputs, arrays, expected = np.random.default_rng(2), [], [], [], {}, []
    scales = [numpy_helper.from_array(np.float32(value), name) for name, value in (("sx", 0.25), ("sy", 0.125))]
    zeros = {"zx": np.asarray(zx, of_x), "zy": np.asarray(zy, of_y)}
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in zeros.items()}
    if not constant:
        inputs += [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds.items()]
        arrays |= zeros
    for number, shapes in enumerate(SHAPES):
        factors = []
        for name, shape, dtype, depth in (("x", shapes[0], of_x, len(shapes[0]) - 1), ("y", shapes[1], of_y, len(shapes[1]) - 2)):
            given = [f"{name}{number}_{axis}" if symbolic and axis in (0, 1, 2)[len(shape) - 2:] and axis != depth else size
                     for axis, size in enumerate(shape)]
            info = np.iinfo(dtype)
            factors.append(rng.integers(info.min, info.max + 1, shape).astype(dtype))
            arrays[f"{name}{number}"] = factors[-1]
            inputs.append(helper.make_tensor_value_info(f"{name}{number}", kinds[f"z{name}"], given))
            nodes.append(helper.make_node("DequantizeLinear", [f"{name}{number}", f"s{name}", f"z{name}"], [f"d{name}{number}"]))
        nodes.append(helper.make_node("MatMul", [f"dx{number}", f"dy{number}"], [f"r{number}"]))
        outputs.append(helper.make_tensor_value_info(f"r{number}", 1, None))
        x, y = (factor.astype(np.int64) - zero for factor, zero in zip(factors, (zx, zy), strict=True))
        expected.append((x @ y).astype(np.float32) * np.float32(0.25 * 0.125))
    constants = [*scales, *([numpy_helper.from_array(array, name) for name, array in zeros.items()] if constant else [])]
    graph = helper.make_graph(nodes, "pairs", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays, expected


@pytest.mark.parametrize("level, signs, how", pairs(first_of(HERE), SIGNS, [(False, True), (True, True), *thorough([(False, False)])]))
def test_quantized(level, signs, how):
    """``how``: whether sizes are symbols, and whether zero points are constant."""
    bytes_, arrays, expected = model(*signs, *how)
    lowering = Lowering(legato.from_onnx(bytes_), HERE[level])
    if level != "x86-64":
        assert str(lowering.at("relax")).count('"relax.matmul_integer"') == len(SHAPES)
    for shapes, wanted, result in zip(SHAPES, expected, lowering.executable(*arrays.values()), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(result), wanted, err_msg=str(shapes))


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_extremes(level):
    net, arrays, expected = Net(HERE[level], first=None), [], []
    rng = np.random.default_rng(4)
    for (first, second), of_x, of_y, low, high in ((((3, 13, 64), (3, 64, 40)), np.uint8, np.int8, 0, 255),
                                                   (((2, 5, 48), (2, 48, 19)), np.int8, np.uint8, -128, 127),
                                                   (((2, 18, 30), (2, 30, 33)), np.int16, np.int16, -255, 255)):
        x = rng.choice([low, high], first).astype(of_x)
        y = rng.choice([0, 255] if of_y is np.uint8 else [-128, 127], second).astype(of_y)
        net.output(net.op("relax.matmul_integer", [net.input(first, NAMES[x.dtype]), net.input(second, NAMES[y.dtype])]))
        arrays += [x, y]
        expected.append((x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32))
    for wanted, found in zip(expected, net.run(*arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)
