"""Depthwise convolutions of channels-last images against onnxruntime, compiled as users do. All cases of a test are one model."""
import re
from collections.abc import Sequence

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.passes.cpu.row_tiles import shares_of
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
# of one dimension, the last but one of few channels, as generic loops
ROWS = [
    ((1, 64, 40), {}), ((2, 33, 17), {"kernel_shape": [9], "pads": [8, 0]}),
    ((1, 48, 60), {"dilations": [16], "pads": [16, 16]}), ((1, 128, 31), {"kernel_shape": [4], "pads": [3, 1], "dilations": [2]}),
    ((3, 16, 50), {"kernel_shape": [5], "strides": [3], "pads": [2, 2]}),
    ((1, 8, 5), {}), ((1, 32, 40), {"kernel_shape": [15], "pads": [7, 7]}),
]
VOLUMES = [
    ((1, 32, 4, 9, 8), {}), ((2, 24, 5, 6, 7), {"strides": [2, 1, 2], "dilations": [1, 2, 1], "pads": [1, 2, 1, 0, 1, 3]}),
    ((1, 64, 3, 4, 30), {"kernel_shape": [5, 3, 3], "pads": [2, 0, 1, 4, 1, 0]}), ((1, 8, 3, 5, 6), {}),
]
WIDE = [    # of more taps in a row than registers hold
    ((1, 32, 5, 40), {"kernel_shape": [3, 13], "pads": [1, 6, 1, 6]}),
    ((2, 17, 3, 50), {"kernel_shape": [2, 31], "pads": [0, 15, 1, 12], "strides": [1, 2]}),
    ((1, 16, 70), {"kernel_shape": [40], "pads": [20, 39]}),
    ((1, 24, 4, 37), {"kernel_shape": [1, 12], "pads": [0, 11, 0, 22], "dilations": [1, 2]}),
    ((1, 16, 2, 40), {"kernel_shape": [1, 31], "pads": [0, 135, 0, 135], "dilations": [1, 9], "strides": [1, 2]}),
]
# shape of the input, then what differs from windows of 3 in each dimension with a padding of 1
CASES = [
    ((1, 32, 14, 14), {}), ((1, 24, 14, 13), {}), ((2, 40, 7, 7), {}), ((1, 16, 1, 9), {}), ((1, 17, 9, 1), {}), ((1, 31, 30, 17), {}),
    ((1, 32, 15, 16), {"strides": [2, 2]}), ((1, 48, 9, 31), {"strides": [1, 3], "pads": [0, 2, 2, 0]}),
    ((1, 64, 21, 23), {"kernel_shape": [7, 7], "pads": [3] * 4}),
    ((1, 33, 12, 19), {"kernel_shape": [5, 5], "pads": [2] * 4, "strides": [2, 2]}),
    ((1, 32, 11, 12), {"dilations": [2, 2], "pads": [2] * 4}), ((1, 32, 13, 40), {"dilations": [3, 2], "pads": [4, 1, 3, 0]}),
    ((1, 16, 4, 70), {"kernel_shape": [1, 9], "pads": [0, 4, 0, 4]}), ((1, 16, 25, 4), {"kernel_shape": [9, 1], "pads": [4, 0, 4, 0]}),
    ((1, 16, 6, 6), {"kernel_shape": [6, 6], "pads": [0] * 4}), ((1, 16, 2, 3), {"kernel_shape": [5, 5], "pads": [4] * 4}),
    ((1, 16, 5, 6), {"pads": [5, 4, 3, 6]}), ((1, 32, 8, 33), {"pads": [0] * 4}),
    *ROWS, *VOLUMES, *WIDE,
]


def model(cases: Sequence[tuple[tuple[int, ...], dict]], symbolic: str = "") -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution for each case, with one of some epilogues, of inputs and results with the channels last. ``symbolic``: ``n``
    for the number of images, ``w`` for the last dimension, ``s`` for all of them."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], [], {}
    for number, (shape, differing) in enumerate(cases):
        rank = len(shape) - 2
        attributes = {"kernel_shape": [3] * rank, "pads": [1] * 2 * rank, "group": shape[1]} | differing
        x, weight, y = f"x{number}", f"w{number}", f"y{number}"
        filters = rng.standard_normal((shape[1], 1, *attributes["kernel_shape"])).astype(np.float32)
        constants += [numpy_helper.from_array(filters, weight),
                      numpy_helper.from_array(rng.standard_normal((shape[1], *[1] * rank)).astype(np.float32), f"s{number}")]
        sizes = [f"n{number}" if "n" in symbolic else shape[0], *shape[1:-1], f"w{number}" if "w" in symbolic else shape[-1]]
        if "s" in symbolic:
            sizes[2:] = [f"s{number}_{axis}" for axis in range(rank)]
        last, first = [0, *range(2, rank + 2), 1], [0, rank + 1, *range(1, rank + 1)]
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, [sizes[axis] for axis in last]))
        arrays[x] = np.ascontiguousarray(rng.standard_normal(shape).astype(np.float32).transpose(last))
        nodes.append(helper.make_node("Transpose", [x], [f"p{number}"], perm=first))
        nodes.append(helper.make_node("Conv", [f"p{number}", weight], [f"c{number}"], **attributes))
        epilogue = ("Clip", "Mul", "HardSwish", "Identity")[number % 4]
        given = {"Clip": [f"c{number}", "low", "high"], "Mul": [f"c{number}", f"s{number}"]}.get(epilogue, [f"c{number}"])
        nodes += [helper.make_node(epilogue, given, [f"e{number}"]), helper.make_node("Transpose", [f"e{number}"], [y], perm=last)]
        outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, None))
    constants += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0.0), ("high", 6.0))]
    graph = helper.make_graph(nodes, "depthwise", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays


def check(bytes_: bytes, arrays: dict[str, np.ndarray], target: str, chosen: int) -> str:
    """``chosen``: how many convolutions there are when ``tir-depthwise-convolutions`` begins; afterwards, or scheduled, none is left.
    Returns the scheduled module as text."""
    lowering = Lowering(legato.from_onnx(bytes_), target)
    assert str(lowering.at("fused")).count("linalg.depthwise_conv_") == chosen
    scheduled = str(lowering.at("scheduled"))
    assert "depthwise_conv" not in scheduled
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    expected = session.run(None, arrays)
    results = lowering.executable(*arrays.values())
    for case, wanted, result in zip(CASES, expected, results, strict=False):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-5, atol=1e-5, err_msg=str(case))
    return scheduled


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_windows_paddings_and_epilogues(target):
    check(*model(CASES), target, len(CASES))


@pytest.mark.parametrize("batch", first_of(["n", ""]))
def test_threads_share_rows(batch, monkeypatch):
    """Of images of one row, parts of the channels: of 64 and 128 a third is not a part of vectors, but a fourth, and an eighth."""
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    bytes_, arrays = model(CASES[:3] + CASES[9:12] + ROWS[:2] + ROWS[3:5] + VOLUMES[:2], batch)
    assert check(bytes_, arrays, "llvm{threads=3}", 12).count("scf.parallel") == 12


@pytest.mark.parametrize("batch", first_of(["", "n"]))
def test_threads_share_an_only_row(batch, monkeypatch):
    """In parts of its tiles, where these are many."""
    monkeypatch.setattr("legato.passes.cpu.window_loops.WORTH_IT", 1)
    cases = [((2, 64, 305), {"kernel_shape": [5], "pads": [2, 2]}), ((1, 37, 299), {"kernel_shape": [3], "pads": [9, 0], "dilations": [7]}),
             ((1, 48, 401), {"kernel_shape": [4], "pads": [60, 70], "strides": [2]}), ((1, 32, 1, 200), {"pads": [1] * 4})]
    found = []
    monkeypatch.setattr("legato.passes.cpu.window_loops.shares_of", lambda *args: found.append(shares_of(*args)) or found[-1])
    bytes_, arrays = model(cases, batch)
    text = check(bytes_, arrays, "llvm{threads=3}", len(cases))
    assert text.count("scf.parallel") == len(cases) and min(found) > 1


def test_images_of_unknown_width():
    """Those of at least as many channels as lanes are loops on whole tiles, and on single positions beside them; others generic loops."""
    bytes_, arrays = model(ROWS + VOLUMES, symbolic="w")
    lowered = check(bytes_, arrays, "llvm", len(ROWS + VOLUMES))
    assert "linalg." not in lowered
    assert len(re.findall(r"vector\.fma|arith\.mulf .* : vector<", lowered)) >= len(ROWS + VOLUMES)


@pytest.mark.parametrize("threads", first_of([2, 1]))
@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_images_of_unknown_sizes(target, threads):
    """One model, of images of several sizes: as small as a window, of a tile and its neighbours, none."""
    target = target.replace("}", f",threads={threads}}}")
    bytes_, arrays = model(CASES, symbolic="ns")
    lowering = Lowering(legato.from_onnx(bytes_), target)
    assert "linalg." not in str(lowering.at("scheduled"))
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(7)
    for batch, more in ((0, 0), (1, 1), (0, 7), (1, 18), (-3, 0)):
        given = {name: rng.standard_normal((max(x.shape[0] + batch, 0), *(size + more for size in x.shape[1:-1]), x.shape[-1]))
                 .astype(np.float32) for name, x in arrays.items()}
        for case, found, right in zip(CASES, lowering.executable(*given.values()), session.run(None, given), strict=True):
            np.testing.assert_allclose(np.from_dlpack(found), np.asarray(right), rtol=1e-5, atol=1e-5, err_msg=f"{case} {batch} {more}")

def test_windows_of_padding_alone():
    """Of few channels, where the padded image is copied, and of many, where it is not."""
    check(*model([((1, 8, 8, 9), {"kernel_shape": [2, 6], "strides": [3, 1], "pads": [3, 2, 0, 2]}),
                  ((1, 8, 1, 9), {"kernel_shape": [1, 1], "strides": [7, 2], "pads": [5, 2, 2, 3]}),
                  ((1, 32, 3, 3), {"pads": [1, 400, 1, 400]})]), "llvm", 3)


def test_padding_is_not_multiplied():
    """By an infinite weight it would be NaN; onnxruntime leaves it out, too."""
    filters = np.ones((16, 1, 3, 3), np.float32)
    filters[:, :, 0, 0] = np.inf
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], group=16, pads=[1] * 4)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(filters, "w")])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    x = np.ones((1, 16, 4, 4), np.float32)
    result = np.from_dlpack(legato.compile(legato.from_onnx(bytes_))(x))
    np.testing.assert_array_equal(result[0, 0, :2], [[4, 6, 6, 4], [6, np.inf, np.inf, np.inf]])
