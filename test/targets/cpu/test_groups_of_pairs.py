"""Convolutions in groups between two others, with ``matmul-precision=bf16``: images are bf16 in memory, and are read in place."""
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.targets.cpu.machine import Machine

pytestmark = pytest.mark.skipif(not Machine.host().has("avx512bf16") or Machine.host().has("amx-bf16"),
                                reason="AVX512-BF16 without AMX multiplies pairs of groups")
# sizes of the image, groups, channels and features of a group, what differs from windows of 3 with a padding of 1
CASES = [
    ((14, 9), 4, 16, 16, {}), ((15, 14), 2, 32, 32, {"strides": [2, 2]}), ((7, 7), 3, 24, 24, {}),
    ((9, 30), 2, 48, 40, {"strides": [1, 2]}), ((9, 12), 3, 8, 24, {"dilations": [2, 2], "pads": [2] * 4}), ((28, 28), 32, 4, 4, {}),
    ((13, 12), 13, 8, 8, {"strides": [2, 2]}), ((8, 9), 5, 6, 6, {}), ((8, 11), 9, 2, 2, {}), ((9, 8), 6, 4, 2, {}), ((9, 8), 5, 4, 8, {}),
    ((6, 9), 3, 5, 20, {}), ((6, 9), 4, 3, 3, {}), ((40,), 4, 16, 16, {}), ((41,), 6, 8, 8, {"strides": [2]}),
    ((30, 30), 2, 16, 16, {"kernel_shape": [5, 5], "pads": [2] * 4}),
]


def model(images: int | str) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of three convolutions for each case, of few channels before and behind the groups."""
    rng, nodes, inputs, outputs, arrays = np.random.default_rng(3), [], [], [], {}
    constants: dict[str, np.ndarray] = {}
    for k, (sizes, groups, channels, features, differing) in enumerate(CASES):
        ones, rank = [1] * len(sizes), len(sizes)
        attributes: dict[str, Any] = {"pads": [1] * 2 * rank, "kernel_shape": [3] * rank, "group": groups} | differing
        shapes = {"a": (groups * channels, 16, *ones), "b": (groups * features, channels, *attributes["kernel_shape"]),
                  "c": (16, groups * features, *ones)}
        for name, shape in shapes.items():
            constants[f"{name}{k}"] = (rng.standard_normal(shape) * np.prod(shape[1:]) ** -0.5).astype(np.float32)
        constants[f"s{k}"] = rng.standard_normal(groups * features).astype(np.float32)
        arrays[f"x{k}"] = rng.standard_normal((2, 16, *sizes)).astype(np.float32)
        inputs.append(helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, [images, 16, *sizes]))
        outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, None))
        nodes += [helper.make_node("Conv", [f"x{k}", f"a{k}"], [f"d{k}"]), helper.make_node("Relu", [f"d{k}"], [f"e{k}"]),
                  helper.make_node("Conv", [f"e{k}", f"b{k}", f"s{k}"], [f"f{k}"], **attributes),
                  helper.make_node("Relu", [f"f{k}"], [f"g{k}"]), helper.make_node("Conv", [f"g{k}", f"c{k}"], [f"y{k}"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays


@pytest.mark.parametrize("images, threads", first_of([(2, 1), ("n", 2)], 2))
def test_groups_between_convolutions(images, threads, monkeypatch):
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    given, arrays = model(images)
    expected = onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"]).run(None, arrays)
    target = f"llvm{{matmul-precision=bf16,threads={threads}}}"
    results = legato.compile(legato.from_onnx(given), target)(*arrays.values())
    for case, wanted, result in zip(CASES, map(np.asarray, expected), results, strict=True):
        assert np.abs(np.from_dlpack(result) - wanted).max() <= 4 * 2.0**-8 * np.abs(wanted).max(), case


def test_images_are_not_copied():
    """Those of an even number of channels: the loops of the others read a copy."""
    text = str(legato.lower(legato.from_onnx(model(2)[0]), "llvm{matmul-precision=bf16}", last="fused"))
    pairs = sum(".bf16" in line and "pairs" in line for line in text.splitlines())
    assert pairs == sum(channels % 2 == 0 for _, _, channels, _, _ in CASES)
