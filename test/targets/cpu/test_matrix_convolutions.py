"""Convolutions of bf16, and with ``matmul-precision=bf16`` of f32 that is rounded to it, against onnxruntime on the rounded numbers in f32.
All cases of a test are one model."""
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from harness import share_all
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.passes.cpu.matrices.packing import FEW
from legato.targets.cpu.machine import Machine

ROUNDS = Machine.host().multiplies_pairs
# AVX512-BF16's vectors too, where AMX's matrices come first
CPUS = ["host", "cooperlake"] if Machine.host().has("amx-bf16") and Machine.host().has("avx512bf16") else ["host"]
ROUNDED = "matmul-precision=bf16,winograd=false"    # of what has fewer multiplications, the factors are not rounded
# shape of the input and features, then what differs from windows of 3 x 3 with a padding of 1
CASES = [
    ((1, 32, 14, 14), 32, {}), ((1, 16, 7, 7), 48, {}), ((2, 40, 5, 9), 65, {}), ((1, 17, 30, 17), 16, {"pads": [0, 1, 2, 0]}),
    ((1, 64, 15, 16), 64, {"strides": [2, 2]}), ((1, 48, 9, 31), 33, {"strides": [1, 3], "pads": [0, 2, 2, 0]}),
    ((1, 96, 14, 13), 80, {"kernel_shape": [1, 1], "pads": [0] * 4}),
    ((1, 31, 15, 14), 40, {"kernel_shape": [1, 1], "pads": [0] * 4, "strides": [2, 2]}),
    ((1, 32, 21, 23), 32, {"kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2]}),
    ((1, 33, 12, 19), 17, {"kernel_shape": [5, 5], "pads": [2] * 4, "strides": [3, 2]}),
    ((1, 32, 11, 12), 32, {"dilations": [2, 2], "pads": [2] * 4}),
    ((1, 32, 17, 20), 32, {"dilations": [3, 2], "pads": [4, 1, 3, 2], "strides": [2, 2]}),
    ((2, 32, 5, 40), 32, {"dilations": [4, 30], "pads": [4, 30, 4, 30]}),
    ((1, 32, 16, 16), 80, {"dilations": [12, 12], "pads": [12] * 4, "strides": [1, 2]}),
    ((1, 16, 4, 70), 32, {"kernel_shape": [1, 9], "pads": [0, 4, 0, 4]}),
    ((1, 16, 25, 4), 32, {"kernel_shape": [9, 1], "pads": [4, 0, 4, 0]}),
    ((1, 512, 20, 20), 32, {}), ((1, 16, 3, 4), 16, {"pads": [1, 90, 1, 80]}), ((1, 4, 3, 4), 16, {"pads": [1, 90, 1, 80]}),
    ((1, 3, 23, 37), 32, {"kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2]}),
    ((2, 4, 9, 12), 40, {"strides": [1, 2]}), ((1, 12, 5, 4), 33, {"pads": [1, 3, 1, 2]}),
    ((1, 1, 12, 19), 16, {"kernel_shape": [5, 9], "pads": [2, 6, 2, 5], "dilations": [2, 1]}),
    ((1, 5, 9, 3), 16, {"kernel_shape": [3, 9], "pads": [1, 4, 1, 4]}), ((1, 8, 10, 9), 16, {"kernel_shape": [1, 1], "pads": [0] * 4}),
    ((1, 16, 5, 6), 16, {"pads": [5, 4, 3, 6]}),
    ((2, 2, 9, 30), 32, {"kernel_shape": [1, 17], "pads": [0, 8, 0, 8], "strides": [1, 3]}), ((1, 15, 12, 11), 20, {"strides": [3, 2]}),
    ((1, 64, 3, 3), 48, {}), ((3, 33, 2, 2), 32, {}), ((1, 40, 1, 1), 32, {}),
    ((1, 64, 2, 1), 17, {"kernel_shape": [1, 1], "pads": [0] * 4}),
    ((2, 35, 5, 5), 48, {"strides": [2, 2], "dilations": [2, 2], "pads": [2] * 4}), ((1, 32, 3, 3), 32, {"pads": [0] * 4}),
    ((1, 24, 13, 14), 12, {}), ((2, 16, 7, 9), 9, {"strides": [1, 2]}), ((1, 8, 10, 19), 15, {"kernel_shape": [5, 5], "pads": [2] * 4}),
    ((2, 32, 9, 5, 6), 48, {"kernel_shape": [3, 1, 1], "pads": [1, 0, 0, 2, 0, 0], "strides": [2, 1, 1]}),
    ((1, 17, 7, 4, 5), 16, {"kernel_shape": [2, 1, 1], "pads": [0] * 6, "dilations": [3, 1, 1]}),
]
GROUPS = [
    ((1, 64, 9, 8), 80, {"group": 2}), ((2, 24, 7, 9), 54, {"group": 3}), ((1, 32, 8, 11), 64, {"group": 4, "strides": [2, 1]}),
    ((1, 66, 9, 10), 34, {"group": 2, "kernel_shape": [5, 3], "pads": [2, 1, 2, 1], "strides": [2, 2]}),
    ((1, 81, 17, 12), 255, {"group": 3, "kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2]}),
    ((1, 34, 13, 6), 32, {"group": 2, "dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    ((1, 48, 6, 7), 36, {"group": 3}), ((1, 40, 6, 7), 96, {"group": 2, "kernel_shape": [1, 1], "pads": [0] * 4}),
    ((1, 16, 3, 4), 32, {"group": 2, "pads": [1, 50, 1, 40]}),
    ((2, 48, 40), 60, {"group": 3, "kernel_shape": [3], "pads": [1, 1]}),
    ((1, 64, 33), 96, {"group": 2, "kernel_shape": [1], "pads": [0, 0]}),
    ((1, 32, 90), 64, {"group": 2, "kernel_shape": [16], "pads": [8, 8], "strides": [2]}),
]


SIGNALS = [
    ((1, 80, 300), 48, {"kernel_shape": [3], "pads": [1, 1]}), ((2, 32, 61), 40, {"kernel_shape": [5], "pads": [0, 3], "strides": [2]}),
    ((1, 3, 100), 16, {"kernel_shape": [9], "pads": [4, 4]}), ((1, 64, 40), 33, {"kernel_shape": [1], "pads": [0, 0]}),
    ((1, 48, 77), 32, {"kernel_shape": [3], "pads": [4, 4], "dilations": [4]}),
    ((1, 16, 200), 32, {"kernel_shape": [7], "pads": [6, 6], "dilations": [2], "strides": [3]}),
    ((3, 3, 24), 16, {"kernel_shape": [3], "pads": [1, 1]}),    # no window of 3 x 3
]


def rounded(array: np.ndarray) -> np.ndarray:
    return array.astype(ml_dtypes.bfloat16).astype(np.float32) if ROUNDS else array


def check(cases: Sequence[tuple[tuple[int, ...], int, dict]], target: str, batch: str = "", free: bool = False) -> None:
    """A model of a convolution for each case, with one of some epilogues. ``batch``: begins the names of symbolic numbers of images;
    ``free``: the sizes of images are symbolic, too.

    The bound is relative to the greatest result. Where no pairs of bf16 are multiplied, it is relative to the greatest sum, before an
    epilogue cuts it to 1: thousands of products are added one after the other, twice as many as there are pairs. On CPUs with AMX
    convolutions of few places are in f32, and on others those of unknown sizes.
    """
    matrices = Machine.host().has("amx-bf16") and "cpu=cooperlake" not in target
    rng, nodes, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], {}
    constants = {"low": np.float32(0), "high": np.float32(1)}
    for number, (shape, features, differing) in enumerate(cases):
        attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1] * 4} | differing
        filters = (features, shape[1] // attributes.get("group", 1), *attributes["kernel_shape"])
        constants[f"w{number}"] = (rng.standard_normal(filters) * np.prod(filters[1:]) ** -0.5).astype(np.float32)
        constants[f"b{number}"] = rng.standard_normal(features).astype(np.float32)
        arrays[f"x{number}"] = rng.standard_normal(shape).astype(np.float32)
        sides = [f"s{number}_{axis}" if free else size for axis, size in enumerate(shape[2:])]
        sizes = [f"{batch}{number}" if batch else shape[0], shape[1], *sides]
        inputs.append(helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, sizes))
        nodes.append(helper.make_node("Conv", [f"x{number}", f"w{number}", f"b{number}"], [f"c{number}"], **attributes))
        epilogue = ("Clip", "HardSwish", "Relu", "Identity")[number % 4]
        given = {"Clip": [f"c{number}", "low", "high"]}.get(epilogue, [f"c{number}"])
        nodes.append(helper.make_node(epilogue, given, [f"y{number}"]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))

    def model(constants: dict[str, np.ndarray], more: Sequence[onnx.ValueInfoProto] = ()) -> bytes:
        values = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
        graph = helper.make_graph(nodes, "convolutions", inputs, [*outputs, *more], values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()

    sums = [helper.make_tensor_value_info(f"c{number}", TensorProto.FLOAT, None) for number in range(len(cases))]

    def values(as_read: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        reference = model({name: as_read(value) if name[0] == "w" else value for name, value in constants.items()}, sums)
        session = onnxruntime.InferenceSession(reference, providers=["CPUExecutionProvider"])
        return list(map(np.asarray, session.run(None, {name: as_read(array) for name, array in arrays.items()})))

    found, in_f32 = values(rounded), values(np.asarray)
    expected, summed = found[:len(cases)], found[len(cases):]
    results = legato.compile(legato.from_onnx(model(constants)), target)(*arrays.values())
    for case, wanted, exact, result, greatest in zip(
            cases, expected, in_f32[:len(cases)], results, expected if ROUNDS else summed, strict=True):
        if not matrices if free else matrices and np.prod(wanted.shape[2:]) < FEW:
            wanted = exact
        np.testing.assert_allclose(np.from_dlpack(result), wanted, rtol=0, atol=1e-5 * np.abs(greatest).max(), err_msg=str(case))


@pytest.mark.parametrize("cpu", CPUS)
def test_windows_paddings_and_epilogues(cpu):
    check(CASES, f"llvm{{{ROUNDED},cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch", first_of(["n", ""]))
def test_threads(batch, cpu, monkeypatch):
    share_all(monkeypatch)
    check(CASES[:7] + CASES[11:12], f"llvm{{{ROUNDED},cpu={cpu},threads=3}}", batch)


@pytest.mark.parametrize(("threads", "at_hand"), [(1, 2), (3, 2), (1, 1 << 20), (2, 1 << 20)])
def test_unknown_sizes(threads, at_hand, monkeypatch):
    """Of images and signals, with the rows of all tiles at hand, or of one."""
    monkeypatch.setattr("legato.passes.cpu.matrices.open_convolution.AT_HAND", at_hand)
    images = [case for case in CASES if len(case[0]) == 4]
    check([*images, *SIGNALS], f"llvm{{{ROUNDED},cpu=host,threads={threads}}}", "n", free=True)


@pytest.mark.parametrize("cpu", CPUS)
def test_chunks_of_positions(cpu, monkeypatch):
    """Where the inputs of all positions do not fit the cache, each chunk of them is multiplied by all panels of features."""
    monkeypatch.setattr("legato.passes.cpu.matrices.convolution.SHARE", 512)
    check(CASES[:6] + CASES[14:15], f"llvm{{{ROUNDED},cpu={cpu}}}")


@pytest.mark.skipif(not ROUNDS or Machine.host().has("amx-bf16"), reason="AVX512-BF16 without AMX rounds those of groups")
@pytest.mark.parametrize("batch, threads", first_of([("n", 2), ("", 1), ("", 2), ("n", 1)], 2))
def test_groups(batch, threads, monkeypatch):
    share_all(monkeypatch)
    check(GROUPS, f"llvm{{{ROUNDED},threads={threads}}}", batch)


@pytest.mark.parametrize("target", first_of(["llvm{threads=2}", "llvm{cpu=x86-64-v3}", "llvm"]))
def test_groups_of_bf16(target):
    """With a bias, and a tensor that is added; of more groups than a vector has features, and of too few features or channels, too."""
    rng, nodes, arrays, constants = np.random.default_rng(9), [], {}, {}
    cases = [*GROUPS, ((1, 48, 6, 7), 24, {"group": 3}), ((1, 8, 9, 6), 32, {"group": 2})]
    for k, (shape, features, differing) in enumerate(cases):
        attributes = {"kernel_shape": [3, 3], "pads": [1] * 4} | differing
        filters = (features, shape[1] // attributes["group"], *attributes["kernel_shape"])
        arrays[f"x{k}"] = rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
        constants[f"w{k}"] = (rng.standard_normal(filters) * np.prod(filters[1:]) ** -0.5).astype(ml_dtypes.bfloat16)
        constants[f"b{k}"] = rng.standard_normal(features).astype(ml_dtypes.bfloat16)
        nodes += [helper.make_node("Conv", [f"x{k}", f"w{k}", f"b{k}"], [f"c{k}"], **attributes),
                  helper.make_node("Relu", [f"c{k}"], [f"r{k}"]), helper.make_node("Add", [f"r{k}", f"c{k}"], [f"y{k}"])]

    def model(type_: int, convert) -> bytes:
        values = [helper.make_tensor(name, type_, array.shape, convert(array).tobytes(), raw=True) for name, array in constants.items()]
        given = [helper.make_tensor_value_info(name, type_, array.shape) for name, array in arrays.items()]
        made = [helper.make_tensor_value_info(f"y{k}", type_, None) for k in range(len(cases))]
        graph = helper.make_graph(nodes, "g", given, made, values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()

    wide = model(TensorProto.FLOAT, lambda array: array.astype(np.float32))
    session = onnxruntime.InferenceSession(wide, providers=["CPUExecutionProvider"])
    expected = session.run(None, {name: array.astype(np.float32) for name, array in arrays.items()})
    results = legato.compile(legato.from_onnx(model(TensorProto.BFLOAT16, lambda array: array)), target)(*arrays.values())
    for case, result, wanted in zip(cases, results, map(np.asarray, expected), strict=True):
        assert np.abs(np.asarray(result).astype(np.float32) - wanted).max() <= 4 * 2.0**-8 * np.abs(wanted).max(), case


def test_groups_are_multiplied_in_pairs():
    """Of bf16 and of constant filters: neither the images nor the filters are widened; few channels or features of a group are."""
    def lowered(channels: int, features: int, target: str) -> str:
        w = np.ones((2 * features, channels, 3, 3), ml_dtypes.bfloat16)
        given, made = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, shape)
                       for name, shape in (("x", (1, 2 * channels, 8, 8)), ("y", None)))
        values = [helper.make_tensor("w", TensorProto.BFLOAT16, w.shape, w.tobytes(), raw=True)]
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, group=2)], "g", [given], [made], values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        return str(legato.lower(legato.from_onnx(model.SerializeToString()), target, last="fused"))

    for channels, features in ((16, 20), (9, 16), (16, 9)):
        text = lowered(channels, features, "llvm{cpu=znver4}")
        assert '"tir.dot2_bf16bf16"' in text and "arith.extf" not in text
    for channels, features, cpu in ((16, 8, "znver4"), (4, 16, "znver4"), (16, 20, "x86-64-v4"), (16, 20, "sapphirerapids")):
        assert "tir.dot2" not in lowered(channels, features, f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch", first_of(["", "n"]))
def test_signals(batch, cpu, monkeypatch):
    """Of one dimension."""
    share_all(monkeypatch)
    check(SIGNALS, f"llvm{{{ROUNDED},cpu={cpu},threads=2}}", batch)


@pytest.mark.parametrize("sizes", [(1, 9, 9), ("n", "h", "w")])
@pytest.mark.parametrize(("groups", "channels"), [(1, 16), (2, 16), (1, 6)])
def test_special_values(groups, channels, sizes):
    """NaN and infinities of inputs reach the positions, of their group, whose windows hold them, and no others; padding is multiplied as
    zeros are."""
    rng = np.random.default_rng(2)
    filters = np.abs(rng.standard_normal((16 * groups, channels // groups, 3, 3))).astype(np.float32)
    x = np.ones((1, channels, 9, 9), np.float32)
    x[0, 3, 2, 2], x[0, 5, 7, 7] = np.nan, np.inf
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, group=groups)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [sizes[0], channels, *sizes[1:]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(filters, "w")])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    result = np.from_dlpack(legato.compile(legato.from_onnx(bytes_), "llvm{matmul-precision=bf16}")(x))
    places = np.zeros((9, 9))
    places[1:4, 1:4], places[6:9, 6:9] = np.nan, np.inf
    np.testing.assert_array_equal(np.where(np.isfinite(result[0, 4]), 0, result[0, 4]), places)
    assert groups == 1 or np.isfinite(result[0, 16:]).all()
