"""Conversions of clipped floats to integers, by instructions that round and pack, against numpy. All cases of a test are one model."""
import itertools

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from thoroughly import first_of, sampled

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

TARGETS = [f"llvm{{cpu={level}}}" for level in LEVELS[::-1] if not cpu.missing_features(level, "")]
SIZES = (1, 3, 4, 12, 20, 63, 64, 100, 130, 200)
TYPES = [(np.uint8, 0), (np.uint8, 3), (np.uint8, 255), (np.int8, 0), (np.int8, -7), (np.int8, 127), (np.uint16, 40000), (np.int16, -5)]
SCALE = 0.5     # a power of two: divisions by it are exact
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 2.0**31, -(2.0**31), 2.0**31 - 128, 1e-40, -1e-40, 3.4e38, -3.4e38, 16384.5]


def values(size: int, seed: int) -> np.ndarray:
    """Special values, ties between integers after the division, those around the ends of each type, and random ones."""
    ends = [(end + step) * SCALE for end in (-32768, -128, -3, 0, 127, 128, 255, 32767, 65535) for step in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)]
    given = np.array([*SPECIAL, *ends], np.float32)
    random = np.random.default_rng(seed)
    rows = random.choice(given, (4, size)).astype(np.float32)
    return np.where(random.random(rows.shape) < 0.8, rows, random.standard_normal(rows.shape).astype(np.float32) * 60).astype(np.float32)


def quantized(x: np.ndarray, dtype: type, zero: int) -> np.ndarray:
    """ONNX's definition; NaN is the integer 0."""
    ends = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        found = np.clip(np.rint(x.astype(np.float64) / SCALE) + zero, ends.min, ends.max)
        return np.where(np.isnan(x), 0, found).astype(dtype)


def dequantized(q: np.ndarray, zero: int) -> np.ndarray:
    return ((q.astype(np.int32) - zero) * np.float32(SCALE)).astype(np.float32)


def run(chain: str, target: str) -> None:
    """``chain``: the nodes of each case, ``q`` for QuantizeLinear, ``d`` for DequantizeLinear, ``r`` for Relu."""
    nodes, inputs, outputs, constants, arrays, expected = [], [], [], [numpy_helper.from_array(np.float32(SCALE), "scale")], {}, []
    for number, (size, (dtype, zero)) in enumerate(itertools.product(SIZES, TYPES)):
        x = values(size, number)
        arrays[f"x{number}"], name = x, f"x{number}"
        inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, x.shape))
        constants.append(numpy_helper.from_array(np.array(zero, dtype), f"zero{number}"))
        for step, op in enumerate(chain):
            kind = {"q": "QuantizeLinear", "d": "DequantizeLinear", "r": "Relu"}[op]
            made = f"v{number}_{step}"
            nodes.append(helper.make_node(kind, [name] if op == "r" else [name, "scale", f"zero{number}"], [made]))
            name = made
            x = np.where(x < 0, np.float32(0), x) if op == "r" else quantized(x, dtype, zero) if op == "q" else dequantized(x, zero)
        expected.append(x)
        outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    graph = helper.make_graph(nodes, "quantized", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    results = legato.compile(legato.from_onnx(model), target)(*arrays.values())
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(np.asarray(result), wanted, err_msg=f"case {number}: {arrays[f'x{number}'].shape}, {wanted.dtype}")


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("chain", sampled(["qdrq", "rq", "q", "qd"], 2))
def test_values(chain, target):
    run(chain, target)


@pytest.mark.parametrize("level, instructions", [("x86-64-v4", ["cvtps2dq.512", "packssdw.512", "packuswb.512"]),
                                                 ("x86-64-v3", ["cvt.ps2dq.256", "avx2.packssdw", "avx2.packuswb"])])
def test_instructions(level, instructions):
    """Nothing is rounded on its own, and no register is narrowed alone."""
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (64, 64))
    y = helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, (64, 64))
    constants = [numpy_helper.from_array(np.float32(SCALE), "scale"), numpy_helper.from_array(np.uint8(3), "zero")]
    graph = helper.make_graph([helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])], "quantized", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    text = str(legato.lower(legato.from_onnx(model), f"llvm{{cpu={level}}}"))
    assert all(name in text for name in instructions) and not any(op in text for op in ("roundeven", "trunc", "fptoui"))
