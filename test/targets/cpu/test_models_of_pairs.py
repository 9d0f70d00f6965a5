"""Models whose convolutions are rounded to bf16: what one passes on to the next, to maxima and joins, is bf16, too."""
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from harness import share_all
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from test_matrix_convolutions import CPUS, ROUNDED, ROUNDS, rounded
from thoroughly import first_of, sampled

import legato


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("threads", first_of([2, 1]))
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
@pytest.mark.parametrize(("threads", "sizes"), sampled([(2, [9, 11]), (1, [9, 11]), (2, [70])], 2, 2))
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
    lowering = Lowering(legato.from_onnx(model), target)
    fused = str(lowering.at("fused"))
    return lowering.executable(x), fused


@pytest.mark.skipif(not ROUNDS, reason="the CPU multiplies no pairs of bf16")
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("batch", first_of(["n", 2]))
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
@pytest.mark.parametrize("batch, threads", first_of([(2, 2), ("n", 1)], 2))
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
