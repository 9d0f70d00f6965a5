"""Pointwise convolutions fused with the depthwise ones after them, against onnxruntime, compiled as users do. All cases of a test are one
model."""
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

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
# shape of the input, features, then what differs from windows of 3 x 3 with a padding of 1
CASES = [
    ((1, 16, 14, 14), 64, {}), ((1, 20, 9, 13), 40, {}), ((2, 3, 7, 7), 17, {}), ((1, 33, 1, 9), 32, {}), ((1, 8, 9, 1), 96, {}),
    ((1, 16, 30, 17), 33, {"strides": [2, 2]}), ((1, 24, 9, 31), 48, {"strides": [3, 1], "pads": [0, 2, 2, 0]}),
    ((1, 5, 12, 19), 63, {"kernel_shape": [5, 5], "pads": [2] * 4}),
    ((1, 16, 13, 20), 32, {"dilations": [3, 2], "pads": [4, 1, 3, 0]}),
    ((1, 16, 4, 30), 24, {"kernel_shape": [1, 9], "pads": [0, 4, 0, 4]}),
    ((1, 16, 25, 4), 56, {"kernel_shape": [9, 1], "pads": [4, 0, 4, 0]}), ((3, 16, 5, 6), 16, {"pads": [5, 4, 3, 6]}),
    ((1, 64, 8, 33), 16, {"pads": [0] * 4}), ((1, 16, 6, 6), 32, {"kernel_shape": [6, 6], "pads": [0] * 4}),
]


def has_known_width(number: int) -> bool:
    """Whether images of otherwise unknown sizes have a known width."""
    return number % 3 == 2


def model(cases: Sequence[tuple[tuple[int, ...], int, dict]], symbolic: bool = False,
          sizes_known: bool = True) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of two convolutions for each case, with one of some epilogues each. ``symbolic``: the numbers of images; their sizes, too,
    unless they are known."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], [], {}

    def constant(name: str, *shape: int) -> str:
        values = rng.standard_normal(shape) / np.sqrt(shape[1])
        constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    for n, (shape, features, differing) in enumerate(cases):
        attributes = {"kernel_shape": [3, 3], "pads": [1] * 4, "group": features} | differing
        sizes = shape[2:] if sizes_known else (f"h{n}", shape[3] if has_known_width(n) else f"w{n}")
        inputs.append(helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, [f"n{n}" if symbolic else shape[0], shape[1], *sizes]))
        arrays[f"x{n}"] = rng.standard_normal(shape).astype(np.float32)
        scale = constant(f"s{n}", features, 1, 1)
        given = [{"Clip": ["low", "high"], "Mul": [scale]}, {"Mul": [scale]}]
        first, second = ("Clip", "Gelu", "Identity", "HardSwish", "Mul")[n % 5], ("Identity", "Sigmoid", "Mul")[n % 3]
        nodes += [helper.make_node("Conv", [f"x{n}", constant(f"v{n}", features, shape[1], 1, 1)], [f"a{n}"]),
                  helper.make_node(first, [f"a{n}", *given[0].get(first, [])], [f"b{n}"]),
                  helper.make_node("Conv", [f"b{n}", constant(f"w{n}", features, 1, *attributes["kernel_shape"])], [f"c{n}"], **attributes),
                  helper.make_node(second, [f"c{n}", *given[1].get(second, [])], [f"y{n}"])]
        outputs.append(helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, None))
    constants += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0.0), ("high", 1.0))]
    graph = helper.make_graph(nodes, "fused", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), arrays


def check(bytes_: bytes, arrays: dict[str, np.ndarray], target: str, fused: int) -> None:
    """``fused``: how many calls compute two convolutions."""
    lowering = Lowering(legato.from_onnx(bytes_), target)
    lines = str(lowering.at("fused")).splitlines()
    calls = [line for line in lines if "call @" in line]
    assert sum(line.count("relax.conv2d") == 2 for line in calls) == fused
    kernels, called = ({line.split("@")[1].split("(")[0] for line in found} for found in
                       ([line for line in lines if "func.func private" in line], calls))
    assert kernels == called
    expected = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"]).run(None, arrays)
    results = lowering.executable(*arrays.values())
    for number, (wanted, result) in enumerate(zip(expected, results, strict=True)):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-5, atol=1e-5, err_msg=f"result {number}")


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_windows_paddings_and_epilogues(target):
    check(*model(CASES), target, len(CASES))


@pytest.mark.parametrize("symbolic", first_of([False, True]))
def test_threads_share_rows_and_panels(symbolic, monkeypatch):
    monkeypatch.setattr("legato.passes.cpu.fused_windows.WORTH_IT", 1)
    bytes_, arrays = model(CASES[:6], symbolic)
    check(bytes_, arrays, "llvm{threads=3,check-bounds=true,fill-memory=true}", 6)


@pytest.mark.parametrize("options", first_of(["threads=3 check-bounds=true fill-memory=true", "threads=1"]))
def test_images_of_unknown_sizes(options, monkeypatch):
    """One model, of images of several sizes: as small as a window, of a tile and its neighbours, of none; every third of a known width."""
    monkeypatch.setattr("legato.passes.cpu.fused_windows.WIDE", 64)     # a second cache of 512 KiB holds 16 rows of the widest panel, too
    target = f"llvm{{{options}}}"
    bytes_, arrays = model(CASES, symbolic=True, sizes_known=False)
    lowering = Lowering(legato.from_onnx(bytes_), target)
    lines = str(lowering.at("fused")).splitlines()
    assert sum(line.count("relax.conv2d") == 2 for line in lines if "call @" in line) == len(CASES)
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(7)
    for more, images in ((0, 1), (1, 2), (18, 1), (0, 0)):
        given = {name: rng.standard_normal((images, x.shape[1], x.shape[2] + more, x.shape[3] + (0 if has_known_width(n) else more)))
                 .astype(np.float32) for n, (name, x) in enumerate(arrays.items())}
        for case, found, right in zip(CASES, lowering.executable(*given.values()), session.run(None, given), strict=True):
            np.testing.assert_allclose(np.from_dlpack(found), np.asarray(right), rtol=1e-5, atol=1e-5, err_msg=f"{case} {more}")


@pytest.mark.parametrize("chunks", first_of([4, 2, 30]))
def test_chunks_of_rows(chunks, monkeypatch):
    """Also where the last chunk has fewer rows, and where there are more chunks than rows."""
    monkeypatch.setattr("legato.passes.cpu.fused_windows.FusedForm.chunks", lambda form, threads: chunks)
    check(*model(CASES[:6]), "llvm{check-bounds=true,fill-memory=true}", 6)


def test_others_stay_apart():
    """What is read twice, by another op or by the depthwise convolution's own epilogue; a stride, a padding or groups of the first one;
    fewer features than lanes; a filter that is no constant; and windows of more rows than the cache holds."""
    weights = {"v": (32, 16, 1, 1), "w": (32, 1, 3, 3), "few": (4, 16, 1, 1), "thin": (4, 1, 3, 3), "split": (32, 8, 1, 1),
               "tall": (32, 1, 200, 1), "wide": (32, 32, 1, 1)}
    rng = np.random.default_rng(3)
    constants = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 8, name) for name, shape in weights.items()]
    nodes, outputs = [], []

    def pair(name: str, image: str = "x", filters: str = "v", windows: str = "w", features: int = 32, pads: tuple[int, ...] = (1, 1, 1, 1),
             **attributes: object) -> None:
        nodes.extend([helper.make_node("Conv", [image, filters], [f"{name}1"], **attributes),
                      helper.make_node("Conv", [f"{name}1", windows], [f"{name}2"], group=features, pads=pads)])
        outputs.append(f"{name}2")

    pair("twice")
    outputs.append("twice1")
    pair("own")
    nodes.append(helper.make_node("Add", ["own1", "own2"], ["own3"]))
    outputs[-1] = "own3"
    pair("strided", "twice2", "wide", strides=[2, 2])    # not of an image with channels first, which is sliced before
    pair("padded", pads=(1, 1, 1, 1))
    nodes[-2].attribute.append(helper.make_attribute("pads", [1, 1, 1, 1]))
    pair("grouped", filters="split", group=2)
    pair("few", filters="few", windows="thin", features=4)
    pair("given", filters="u")
    pair("tall", image="long", windows="tall", pads=(0, 0, 0, 0))
    shapes = {"x": (1, 16, 10, 12), "long": (1, 16, 200, 500), "u": (32, 16, 1, 1)}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in arrays.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "apart", inputs, results, constants)
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    check(bytes_, arrays, "llvm{cpu=x86-64-v3}", 0)
