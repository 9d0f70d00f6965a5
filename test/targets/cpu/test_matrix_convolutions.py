"""Convolutions of bf16, and with ``matmul-precision=bf16`` of f32 that is rounded to it, against onnxruntime on the rounded numbers in f32.
All cases of a test are one model."""
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from harness import share_all
from onnx import TensorProto, helper, numpy_helper

import legato
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


def check(cases: Sequence[tuple[tuple[int, ...], int, dict]], target: str, batch: str = "") -> None:
    """A model of a convolution for each case, with one of some epilogues. ``batch``: begins the names of symbolic numbers of images."""
    rng, nodes, inputs, outputs, arrays = np.random.default_rng(5), [], [], [], {}
    constants = {"low": np.float32(0), "high": np.float32(1)}
    for number, (shape, features, differing) in enumerate(cases):
        attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1] * 4} | differing
        filters = (features, shape[1] // attributes.get("group", 1), *attributes["kernel_shape"])
        constants[f"w{number}"] = (rng.standard_normal(filters) * np.prod(filters[1:]) ** -0.5).astype(np.float32)
        constants[f"b{number}"] = rng.standard_normal(features).astype(np.float32)
        arrays[f"x{number}"] = rng.standard_normal(shape).astype(np.float32)
        sizes = [f"{batch}{number}" if batch else shape[0], *shape[1:]]
        inputs.append(helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, sizes))
        nodes.append(helper.make_node("Conv", [f"x{number}", f"w{number}", f"b{number}"], [f"c{number}"], **attributes))
        epilogue = ("Clip", "HardSwish", "Relu", "Identity")[number % 4]
        given = {"Clip": [f"c{number}", "low", "high"]}.get(epilogue, [f"c{number}"])
        nodes.append(helper.make_node(epilogue, given, [f"y{number}"]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))

    def model(constants: dict[str, np.ndarray]) -> bytes:
        values = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
        graph = helper.make_graph(nodes, "convolutions", inputs, outputs, values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()

    reference = model({name: rounded(value) if name[0] == "w" else value for name, value in constants.items()})
    session = onnxruntime.InferenceSession(reference, providers=["CPUExecutionProvider"])
    expected = session.run(None, {name: rounded(array) for name, array in arrays.items()})
    results = legato.compile(legato.from_onnx(model(constants)), target)(*arrays.values())
    for case, wanted, result in zip(cases, expected, results, strict=True):
        wanted = np.asarray(wanted)
        np.testing.assert_allclose(np.from_dlpack(result), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max(), err_msg=str(case))


@pytest.mark.parametrize("cpu", CPUS)
def test_windows_paddings_and_epilogues(cpu):
    check(CASES, f"llvm{{{ROUNDED},cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch", ["", "n"])
def test_threads(batch, cpu, monkeypatch):
    share_all(monkeypatch)
    check(CASES[:7] + CASES[11:12], f"llvm{{{ROUNDED},cpu={cpu},threads=3}}", batch)


@pytest.mark.parametrize("cpu", CPUS)
def test_chunks_of_positions(cpu, monkeypatch):
    """Where the inputs of all positions do not fit the cache, each chunk of them is multiplied by all panels of features."""
    monkeypatch.setattr("legato.passes.cpu.matrices.convolution.SHARE", 512)
    check(CASES[:6] + CASES[14:15], f"llvm{{{ROUNDED},cpu={cpu}}}")


@pytest.mark.skipif(not ROUNDS or Machine.host().has("amx-bf16"), reason="AVX512-BF16 without AMX rounds those of groups")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", ["", "n"])
def test_groups(batch, threads, monkeypatch):
    share_all(monkeypatch)
    check(GROUPS, f"llvm{{{ROUNDED},threads={threads}}}", batch)


@pytest.mark.parametrize("target", ["llvm", "llvm{threads=2}", "llvm{cpu=x86-64-v3}"])
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
@pytest.mark.parametrize("batch", ["", "n"])
def test_signals(batch, cpu, monkeypatch):
    """Of one dimension."""
    share_all(monkeypatch)
    check(SIGNALS, f"llvm{{{ROUNDED},cpu={cpu},threads=2}}", batch)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("threads", [1, 2])
def test_models_of_bf16(threads, cpu, monkeypatch):
    """An image is read as it is, without being widened; two convolutions may read one. Others than the products stay as they are."""
    share_all(monkeypatch)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 32, 15, 11)).astype(ml_dtypes.bfloat16)
    filters = {name: (rng.standard_normal(shape) * np.prod(shape[1:]) ** -0.5).astype(ml_dtypes.bfloat16)
               for name, shape in (("a", (40, 32, 3, 3)), ("b", (40, 32, 1, 1)), ("c", (48, 40, 3, 3)), ("d", (8, 40, 1, 1)),
                                   ("e", (64, 32, 3, 3)), ("f", (64, 64, 1, 1)), ("g", (64, 32, 1, 1)))}
    nodes = [helper.make_node("Conv", ["x", "a"], ["left"], pads=[1] * 4), helper.make_node("Conv", ["x", "b"], ["right"]),
             helper.make_node("Relu", ["left"], ["positive"]), helper.make_node("Conv", ["positive", "c"], ["y"], strides=[2, 2]),
             helper.make_node("Conv", ["right", "d"], ["z"]),
             # one tap, read in place; its last tile writes no position again, in memory that was an operand's
             helper.make_node("Conv", ["x", "e"], ["inner"], pads=[1] * 4), helper.make_node("Relu", ["inner"], ["kept"]),
             helper.make_node("Conv", ["kept", "f"], ["back"]), helper.make_node("Conv", ["x", "g"], ["shortcut"]),
             helper.make_node("Add", ["back", "shortcut"], ["added"]), helper.make_node("Relu", ["added"], ["u"])]

    def model(type_: int, convert) -> bytes:
        values = [helper.make_tensor(name, type_, array.shape, convert(array).tobytes(), raw=True) for name, array in filters.items()]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", type_, x.shape)],
                                  [helper.make_tensor_value_info(name, type_, None) for name in ("left", "right", "y", "z", "u")], values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()

    reference = model(TensorProto.FLOAT, lambda array: array.astype(np.float32))
    session = onnxruntime.InferenceSession(reference, providers=["CPUExecutionProvider"])
    bf16 = model(TensorProto.BFLOAT16, lambda array: array)
    results = legato.compile(legato.from_onnx(bf16), f"llvm{{threads={threads},cpu={cpu}}}")(x)
    for result, wanted, ulps in zip(results, session.run(None, {"x": x.astype(np.float32)}), (1, 1, 4, 4, 4), strict=True):
        wanted = np.asarray(wanted)
        found = np.from_dlpack(result).astype(np.float32) if not isinstance(result, np.ndarray) else result.astype(np.float32)
        assert np.abs(found - wanted).max() <= ulps * 2.0**-8 * np.abs(wanted).max()
    for made_for in ("sapphirerapids", "znver4"):
        lowered = str(legato.lower(legato.from_onnx(bf16), f"llvm{{cpu={made_for}}}", last="fused"))
        assert lowered.count('.bf16"') == 6 and "call @kernel_conv2d_elementwise" not in lowered


def residual_blocks(rounding: bool, sizes: Sequence[int]) -> bytes:
    """Of images of these sizes: a stem and two blocks of two convolutions, whose input is added. ``rounding``: what is passed on is
    rounded to bf16."""
    nodes, values, rng = [], [], np.random.default_rng(8)

    def node(op: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(op, list(inputs), [f"{op}{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def convolved(x: str, size: int) -> str:
        array = (rng.standard_normal((48, 48, *[size] * len(sizes))) * (48 * size ** len(sizes)) ** -0.5).astype(np.float32)
        values.append(numpy_helper.from_array(rounded(array) if rounding else array, f"w{len(values)}"))
        return node("Conv", x, values[-1].name, pads=[size // 2] * 2 * len(sizes))

    def passed(x: str) -> str:
        return node("Cast", node("Cast", x, to=TensorProto.BFLOAT16), to=TensorProto.FLOAT) if rounding and ROUNDS else x

    kept = passed(node("Relu", convolved(passed("x"), 3)))
    for _ in range(2):
        inner = passed(node("Relu", convolved(kept, 3)))
        kept = passed(node("Relu", node("Add", convolved(inner, 1), kept)))
    nodes.append(helper.make_node("Identity", [convolved(kept, 1)], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 48, *sizes])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("threads", "sizes"), [(1, [9, 11]), (2, [9, 11]), (2, [70])])
def test_what_convolutions_pass_on_is_bf16(threads, sizes, cpu, monkeypatch):
    """Images, and what is added to results: as if it were rounded where it is passed on, but for sums that are rounded the other way."""
    share_all(monkeypatch)
    session = onnxruntime.InferenceSession(residual_blocks(True, sizes), providers=["CPUExecutionProvider"])
    model = residual_blocks(False, sizes)
    compiled = legato.compile(legato.from_onnx(model), f"llvm{{{ROUNDED},cpu={cpu},threads={threads}}}")
    for count in (1, 3):
        x = np.random.default_rng(count).standard_normal((count, 48, *sizes)).astype(np.float32)
        wanted = np.asarray(session.run(None, {"x": x})[0])
        error = np.abs(np.from_dlpack(compiled(x)) - wanted)
        assert error.max() < 2.0**-7 * np.abs(wanted).max() and error.mean() < 2.0**-14 * np.abs(wanted).max()
    lowered = str(legato.lower(legato.from_onnx(model), "llvm{cpu=sapphirerapids,matmul-precision=bf16}", last="fused"))
    calls = [line for line in lowered.splitlines() if f"call @fused_conv{len(sizes)}d_add_relu" in line]
    assert len(calls) == 2 and all(call.count("x48xbf16>") == 4 for call in calls)      # image, what is added, memory, result


def with_outputs(names: Sequence[str], nodes: Sequence[Any], values: Sequence[Any], x: np.ndarray, batch: int | str,
                 target: str) -> tuple[Any, str]:
    """What a model of these outputs computes of ``x``, of which ``batch`` is the number of images, and its IR after fusion."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *x.shape[1:]])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    return legato.compile(legato.from_onnx(model), target)(x), str(legato.lower(legato.from_onnx(model), target, last="fused"))


@pytest.mark.skipif(not ROUNDS, reason="the CPU multiplies no pairs of bf16")
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch", [2, "n"])
def test_maxima_between_convolutions_are_bf16(batch, cpu):
    """The greatest of rounded numbers is the greatest one, rounded: the same as where another output keeps the maxima in f32."""
    rng = np.random.default_rng(4)
    values = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 12, name)
              for name, shape in (("w", (32, 16, 3, 3)), ("v", (16, 32, 1, 1)))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[3, 3],
             strides=[2, 2], pads=[1] * 4), helper.make_node("Conv", ["p", "v"], ["y"])]
    x = rng.standard_normal((2, 16, 9, 12)).astype(np.float32)
    x[0, 0, 4, 4], x[1, 3, 0, 0] = np.nan, -np.inf

    target = f"llvm{{{ROUNDED},cpu={cpu}}}"
    (kept, _), lowered = with_outputs(["y", "p"], nodes, values, x, batch, target)
    result, narrow = with_outputs(["y"], nodes, values, x, batch, target)
    np.testing.assert_array_equal(np.from_dlpack(result), np.from_dlpack(kept))
    pools = [next(line for line in text.splitlines() if "call @kernel_max_pool2d" in line) for text in (lowered, narrow)]
    assert ["bf16" in pool for pool in pools] == [False, True]


@pytest.mark.skipif(not ROUNDS, reason="the CPU multiplies no pairs of bf16")
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch, threads", [(2, 2), ("n", 1)])
def test_tensors_beside_each_other_are_bf16(batch, threads, cpu):
    """What is f32 among them, as an input is, is rounded on the way: the same as where another output keeps them in f32."""
    rng = np.random.default_rng(5)
    values = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 12, name)
              for name, shape in (("w", (20, 16, 3, 3)), ("v", (33, 16, 1, 1)), ("u", (24, 69, 3, 3)), ("t", (16, 24, 1, 1)))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4), helper.make_node("Conv", ["x", "v"], ["b"]),
             helper.make_node("Relu", ["b"], ["r"]), helper.make_node("Concat", ["a", "x", "r"], ["k"], axis=1),
             helper.make_node("Conv", ["k", "u"], ["c"]), helper.make_node("Concat", ["c", "c"], ["l"], axis=2),
             helper.make_node("Conv", ["l", "t"], ["y"])]
    x = rng.standard_normal((2, 16, 9, 12)).astype(np.float32)
    x[0, 0, 4, 4], x[1, 3, 0, 0] = np.nan, -np.inf

    target = f"llvm{{{ROUNDED},cpu={cpu},threads={threads}}}"
    (kept, *_), lowered = with_outputs(["y", "k", "l"], nodes, values, x, batch, target)
    result, narrow = with_outputs(["y"], nodes, values, x, batch, target)
    np.testing.assert_array_equal(np.from_dlpack(result), np.from_dlpack(kept))
    calls = [[line for line in text.splitlines() if "call @kernel_concat" in line] for text in (lowered, narrow)]
    assert [[call.count("bf16>") for call in found] for found in calls] == [[0, 0], [4, 4]]    # two operands, memory, result


def test_f32_after_convolutions_of_bf16_stays_f32():
    """Without the option: what is computed in f32 from a convolution's result and added to another's is not rounded."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((1, 32, 9, 8)).astype(ml_dtypes.bfloat16)
    filters = [(rng.standard_normal((32, 32, 3, 3)) / 17).astype(ml_dtypes.bfloat16) for _ in range(2)]
    nodes = [node for k in range(2) for node in (helper.make_node("Conv", ["x", f"w{k}"], [f"c{k}"], pads=[1] * 4),
                                                 helper.make_node("Cast", [f"c{k}"], [f"f{k}"], to=TensorProto.FLOAT))]
    nodes += [helper.make_node("Tanh", ["f0"], ["t"]), helper.make_node("Add", ["t", "f1"], ["y"])]

    def results(names: Sequence[str]) -> list[np.ndarray]:
        values = [helper.make_tensor(f"w{k}", TensorProto.BFLOAT16, w.shape, w.tobytes(), raw=True) for k, w in enumerate(filters)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.BFLOAT16, x.shape)],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names], values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        found = legato.compile(legato.from_onnx(model.SerializeToString()))(x)
        return [np.from_dlpack(one) for one in (found if len(names) > 1 else [found])]

    left, right = results(["f0", "f1"])
    np.testing.assert_allclose(results(["y"])[0], np.tanh(left) + right, rtol=0, atol=1e-6)


def test_volumes_from_transposed_convolutions_are_pairs():
    """The filter of a transposed convolution is a constant by the time that volumes become images, which are multiplied in pairs."""
    rng = np.random.default_rng(8)
    x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((1, 16, 3, 4, 5), (16, 40, 3, 3, 3)))

    def model(type_: int, filters: np.ndarray) -> bytes:
        values = [helper.make_tensor("w", type_, w.shape, filters.tobytes(), raw=True)]
        given, made = (helper.make_tensor_value_info(name, type_, shape) for name, shape in (("x", x.shape), ("y", None)))
        graph = helper.make_graph([helper.make_node("ConvTranspose", ["x", "w"], ["y"], pads=[1] * 6)], "g", [given], [made], values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()

    module = legato.from_onnx(model(TensorProto.BFLOAT16, w))
    assert '"tir.dot2_bf16bf16"' in str(legato.lower(module, "llvm{cpu=znver4}", last="scheduled"))
    wide = model(TensorProto.FLOAT, w.astype(np.float32))
    expected = np.asarray(onnxruntime.InferenceSession(wide, providers=["CPUExecutionProvider"]).run(None, {"x": x.astype(np.float32)})[0])
    result = np.asarray(legato.compile(module)(x)).astype(np.float32)
    np.testing.assert_allclose(result, expected, rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize(("groups", "channels"), [(1, 16), (2, 16), (1, 6)])
def test_special_values(groups, channels):
    """NaN and infinities of inputs reach the positions, of their group, whose windows hold them, and no others; padding is multiplied as
    zeros are."""
    rng = np.random.default_rng(2)
    filters = np.abs(rng.standard_normal((16 * groups, channels // groups, 3, 3))).astype(np.float32)
    x = np.ones((1, channels, 9, 9), np.float32)
    x[0, 3, 2, 2], x[0, 5, 7, 7] = np.nan, np.inf
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, group=groups)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(filters, "w")])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    result = np.from_dlpack(legato.compile(legato.from_onnx(bytes_), "llvm{matmul-precision=bf16}")(x))
    places = np.zeros((9, 9))
    places[1:4, 1:4], places[6:9, 6:9] = np.nan, np.inf
    np.testing.assert_array_equal(np.where(np.isfinite(result[0, 4]), 0, result[0, 4]), places)
    assert groups == 1 or np.isfinite(result[0, 16:]).all()
