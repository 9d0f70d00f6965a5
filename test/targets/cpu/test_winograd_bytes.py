"""Convolutions of bytes by Winograd's algorithm, on CPUs without instructions for bytes: every sum is exact."""
from collections.abc import Sequence

import numpy as np
import pytest
from harness import Net
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.dialects import relax
from legato.targets.cpu import winograd

TARGET = "llvm{cpu=x86-64-v3%s}"
TYPES = {np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8}
RNG = np.random.default_rng(7)

pytestmark = pytest.mark.skipif(bool(cpu.missing_features("x86-64-v3", "")), reason="wants AVX2")


class Convolutions:
    """A model of several convolutions of integers, and the arrays of its inputs."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.arrays = [], [], [], {}

    def add(self, x: np.ndarray, w: np.ndarray, x_zero: int = 0, w_zero: int = 0, pads: Sequence[int] = (1, 1, 1, 1)) -> None:
        number = len(self.nodes)
        names = [f"{name}{number}" for name in ("x", "w", "x_zero", "w_zero")]
        self.inputs.append(helper.make_tensor_value_info(names[0], TYPES[x.dtype.type], x.shape))
        self.arrays[names[0]] = x
        values = w, np.array(x_zero, x.dtype), np.array(w_zero, w.dtype)
        self.constants += [numpy_helper.from_array(value, name) for value, name in zip(values, names[1:], strict=True)]
        self.nodes.append(helper.make_node("ConvInteger", names, [f"y{number}"], pads=pads))

    def check(self, target: str, chosen: int) -> None:
        """``chosen``: how many are computed by the algorithm."""
        outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.INT32, None) for node in self.nodes]
        graph = helper.make_graph(self.nodes, "convolutions", self.inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        lowering = Lowering(legato.from_onnx(model), target)
        assert str(lowering.at("fused")).count('.winograd.i16"') == chosen
        expected = ReferenceEvaluator(model).run(None, self.arrays)
        for number, (value, wanted) in enumerate(zip(lowering.executable(*self.arrays.values()), expected, strict=True)):
            np.testing.assert_array_equal(np.from_dlpack(value), wanted, err_msg=str(number))


def integers(dtype: type, *shape: int) -> np.ndarray:
    """Any numbers of a type."""
    return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def everything() -> Convolutions:
    """Sizes around tiles of 2 and 4 and segments of 14 tiles, one vector of features and more; all kinds of padding and zero points."""
    made = Convolutions()
    made.add(integers(np.uint8, 1, 64, 28, 28), integers(np.int8, 64, 64, 3, 3))
    made.add(integers(np.int8, 1, 32, 17, 61), integers(np.int8, 24, 32, 3, 3), -5, 0, (0, 0, 0, 0))
    made.add(integers(np.uint8, 2, 48, 13, 14), integers(np.uint8, 16, 48, 3, 3), 128, 130, (1, 2, 0, 1))
    made.add(integers(np.uint8, 3, 16, 7, 9), integers(np.uint8, 72, 16, 3, 3), 255, 0, (2, 2, 2, 2))
    made.add(integers(np.int8, 1, 128, 8, 8), integers(np.int8, 8, 128, 3, 3), 0, 3)
    return made


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order, outputs", first_of([("blocks", 4), ("points", 2), ("points", 4), ("blocks", 2)], 2))
def test_sums_are_exact(order, outputs, threads, monkeypatch):
    candidates = winograd._candidates
    monkeypatch.setattr(winograd, "_candidates", lambda *arguments: (
        found for found in candidates(*arguments) if (found[1].order, found[1].outputs) == (order, outputs)))
    monkeypatch.setattr(winograd, "WORTH_IT", 1)
    monkeypatch.setattr(winograd, "GAIN", float("inf"))
    everything().check(TARGET % f" threads={threads}", 5)


def test_greatest_sums():
    """What is left of 32 bits by tiles of 4 x 4 holds these sums of the greatest numbers, or they are computed in tiles of 2 x 2."""
    made = Convolutions()
    for channels in (256, 512):
        for pixel, weight in ((255, 127), (255, -128)):
            made.add(np.full((1, channels, 8, 8), pixel, np.uint8), np.full((16, channels, 3, 3), weight, np.int8))
        made.add(np.full((1, channels, 8, 8), -128, np.int8), np.full((16, channels, 3, 3), -128, np.int8))
    x, w = np.zeros((1, 64, 8, 8), np.uint8), np.zeros((16, 64, 3, 3), np.int8)
    x[..., ::2, 1::2], w[..., ::2, :], w[..., 1, :] = 255, 127, -128
    made.add(x, w)
    made.check(TARGET % "", 7)


def test_a_zero_point_that_is_no_byte():
    """It pads the images, whose sums are greater than those of bytes: more than tiles of 4 x 4 leave of 32 bits."""
    weight, pixels = np.full((16, 128, 3, 3), 127, np.int8), np.full((1, 128, 32, 32), 255, np.uint8)
    weight[:, :, 0, :] = -128
    net = Net(TARGET % "", first=None)
    x, f32 = net.input(pixels.shape, "ui8"), np.dtype(np.float32)
    with net.building():
        wide = relax.subtract(relax.astype(x, dtype=np.dtype(np.int32)), relax.constant(np.array(-255, np.int32)))
        y = relax.conv2d(relax.astype(wide, dtype=f32), relax.astype(net.weight(weight), dtype=f32), padding=[1] * 4)
    net.output(y)
    padded = np.pad(np.full((32, 32), 510), 1)
    rows = [sum(padded[i:i + 32, j:j + 32] for j in range(3)) for i in range(3)]
    expected = 128 * (127 * (rows[1] + rows[2]) - 128 * rows[0])
    np.testing.assert_array_equal(net.run(pixels)[0], np.broadcast_to(expected, (1, 16, 32, 32)))


def quantized_network() -> bytes:
    """A residual block of quantized layers: a convolution and a ReLU, another one, a sum, as onnxruntime's quantizer writes them."""
    nodes, constants = [], []

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    def node(op: str, name: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def requantized(name: str, zero: int) -> str:
        numbers = constant(f"{name}_scale", np.float32(0.03)), constant(f"{name}_zero", np.uint8(zero))
        return node("DequantizeLinear", f"{name}_d", node("QuantizeLinear", f"{name}_q", name, *numbers), *numbers)

    def convolution(name: str, x: str) -> str:
        scale, zero = constant(f"{name}_s", RNG.uniform(1e-4, 1e-3, 32).astype(np.float32)), constant(f"{name}_z", np.zeros(32, np.int8))
        weight = node("DequantizeLinear", f"{name}_wd", constant(f"{name}_w", integers(np.int8, 32, 32, 3, 3)), scale, zero, axis=0)
        return node("Conv", name, x, weight, constant(f"{name}_b", RNG.standard_normal(32).astype(np.float32)), pads=[1] * 4)

    x = requantized("x", 120)
    first = requantized(node("Relu", "r", convolution("c", x)), 0)
    requantized(node("Add", "y", requantized(convolution("d", first), 120), x), 99)
    shape = (1, 32, 14, 15)
    graph = helper.make_graph(nodes, "block", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y_d", TensorProto.FLOAT, shape)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


def test_layers_of_a_network():
    """Bytes between layers are stored in 16 bits; results are those of convolutions as they are defined."""
    model, x = quantized_network(), RNG.uniform(-4, 4, (1, 32, 14, 15)).astype(np.float32)
    lowerings = [Lowering(legato.from_onnx(model), TARGET % options) for options in ("", " winograd=false")]
    assert [str(lowering.at("fused")).count(".winograd.i16") for lowering in lowerings] == [2, 0]
    results = [np.from_dlpack(lowering.executable(x)) for lowering in lowerings]
    assert len(np.unique(results[0])) > 100
    np.testing.assert_array_equal(*results)
