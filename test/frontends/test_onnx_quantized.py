"""Quantized models, compiled, against onnxruntime: integer ops exactly, others to one unit of the quantized result."""
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from saturation import exact
from thoroughly import first_of, sampled

import legato

RNG = np.random.default_rng(5)
LEVELS = {"host": "llvm", "avx2": "llvm{cpu=x86-64-v3}", "floats": "llvm{integer-contractions=false}"}
BYTES = {np.uint8: (0, 255), np.int8: (-128, 127)}


class Quantizing:
    """A model under construction: nodes, their constants and inputs."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, tuple[np.ndarray, Sequence[int | str]]] = {}

    def input(self, name: str, array: np.ndarray, shape: Sequence[int | str] | None = None) -> str:
        self.inputs[name] = array, shape or array.shape
        return name

    def constant(self, name: str, array: Any) -> str:
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def through_bytes(self, x: str, scale: float, zero: Any) -> str:
        """Quantizes and dequantizes a value."""
        number = len(self.nodes)
        parameters = [self.constant(f"s{number}", np.float32(scale)), self.constant(f"z{number}", zero)]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, *parameters]), *parameters])

    def weight(self, array: np.ndarray, scale: Any, zero: Any, axis: int) -> str:
        number = len(self.nodes)
        names = [self.constant(f"{letter}{number}", value) for letter, value in (("w", array), ("s", scale), ("z", zero))]
        return self.node("DequantizeLinear", names, axis=axis)

    def check(self, output: str, target: str, unit: float = 0.0) -> np.ndarray:
        """Compares the compiled model with onnxruntime; ``unit``: the greatest difference."""
        def info(name: str, array: np.ndarray, shape: Any) -> Any:
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)

        result = helper.make_empty_tensor_value_info(output)
        graph = helper.make_graph(self.nodes, "g", [info(name, *given) for name, given in self.inputs.items()], [result],
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        feeds = {name: array for name, (array, _) in self.inputs.items()}
        known = exact(model, feeds)
        if known is None:
            options = onnxruntime.SessionOptions()
            # its fusions quantize more than the model
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            known = session.run(None, feeds)
        expected = np.asarray(known[0])
        del graph.output[:]
        graph.output.append(helper.make_tensor_value_info(output, helper.np_dtype_to_tensor_dtype(expected.dtype), None))
        found = np.asarray(legato.compile(legato.from_onnx(_with_output(model, output, expected)), target)(
            *(array for array, _ in self.inputs.values())))
        difference = np.abs(found.astype(np.float64) - expected)
        assert difference.max(initial=0) <= unit * 1.001, difference.max()
        assert (difference > unit / 2).mean() < 0.02  # ties are rounded one way or the other
        return expected


def _with_output(model: Any, name: str, like: np.ndarray) -> Any:
    del model.graph.output[:]
    shape = [None] * like.ndim
    model.graph.output.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(like.dtype), shape))
    return model


def bytes_of(dtype: type, *shape: int) -> np.ndarray:
    low, high = BYTES[dtype]
    return RNG.integers(low, high + 1, shape).astype(dtype)


@pytest.mark.parametrize("level", first_of(LEVELS))
@pytest.mark.parametrize("x_type, zero, w_type, w_zero, per_channel", sampled([
    (np.uint8, 0, np.int8, 0, True), (np.uint8, 121, np.int8, 0, False), (np.uint8, 121, np.uint8, 128, False),
    (np.uint8, 5, np.uint8, 90, True), (np.int8, 0, np.int8, 100, False), (np.int8, -7, np.int8, 0, True)], 2, 5))
def test_matmul_between_quantizations(level, x_type, zero, w_type, w_zero, per_channel):
    m, depth, columns = Quantizing(), 30, 21
    x = m.through_bytes(m.input("x", RNG.standard_normal((5, depth)).astype(np.float32), ("n", depth)), 0.03, x_type(zero))
    scale = RNG.uniform(0.001, 0.01, columns).astype(np.float32) if per_channel else np.float32(0.01)
    zeros = np.full(columns, w_zero, w_type) if per_channel else w_type(w_zero)
    w = m.weight(bytes_of(w_type, depth, columns), scale, zeros, 1)
    y = m.node("Add", [m.node("MatMul", [x, w]), m.constant("b", RNG.standard_normal(columns).astype(np.float32))])
    m.check(m.through_bytes(m.node("Relu", [y]), 0.05, x_type(zero)), LEVELS[level], 0.05)


@pytest.mark.parametrize("level", first_of(LEVELS))
@pytest.mark.parametrize("x_type, zero, channels, kernel, attributes", sampled([
    (np.uint8, 0, 6, 1, {}), (np.uint8, 121, 8, 3, {"pads": [1, 1, 1, 1]}),
    (np.uint8, 9, 8, 3, {"pads": [0, 1, 2, 1], "strides": [2, 2]}), (np.int8, -7, 6, 3, {"pads": [1, 1, 1, 1]}),
    (np.int8, 0, 12, 3, {"dilations": [2, 1]})], 2, 5))
@pytest.mark.parametrize("batch", first_of(["n", 2]))
def test_convolution_between_quantizations(level, x_type, zero, channels, kernel, attributes, batch):
    m, filters = Quantizing(), 17
    image = RNG.standard_normal((2, channels, 9, 11)).astype(np.float32)
    x = m.through_bytes(m.input("x", image, (batch, channels, 9, 11)), 0.03, x_type(zero))
    w_scale = RNG.uniform(0.001, 0.01, filters).astype(np.float32)
    w = m.weight(bytes_of(np.int8, filters, channels, kernel, kernel), w_scale, np.zeros(filters, np.int8), 0)
    b = m.weight(RNG.integers(-3000, 3000, filters).astype(np.int32), np.float32(0.03) * w_scale, np.zeros(filters, np.int32), 0)
    y = m.node("Relu", [m.node("Conv", [x, w, b], **attributes)])
    m.check(m.through_bytes(y, 0.05, x_type(zero)), LEVELS[level], 0.05)


OTHERS = [((23,), {"pads": [1, 2], "strides": [2]}), ((19,), {"dilations": [4]}),
          ((5, 6, 7), {"pads": [1, 0, 2, 1, 1, 0], "strides": [2, 1, 3]}), ((6, 7, 8), {}),
          ((6, 5, 4), {"kernel_shape": [3, 1, 1], "strides": [1, 2, 2]}), ((4, 9, 9), {"pads": [1] * 6, "dilations": [1, 2, 2]})]


@pytest.mark.parametrize("level", first_of(LEVELS))
@pytest.mark.parametrize("sizes, attributes, batch", sampled(
    ((*form, batch) for batch, forms in ((2, OTHERS), ("n", OTHERS[1:] + OTHERS[:1])) for form in forms), 2, 3))
def test_convolutions_of_other_dimensions(level, sizes, attributes, batch):
    m, filters, channels = Quantizing(), 19, 6
    image = RNG.standard_normal((2, channels, *sizes)).astype(np.float32)
    x = m.through_bytes(m.input("x", image, (batch, channels, *sizes)), 0.03, np.uint8(121))
    w_scale = RNG.uniform(0.001, 0.01, filters).astype(np.float32)
    taps = attributes.get("kernel_shape", [3] * len(sizes))
    w = m.weight(bytes_of(np.int8, filters, channels, *taps), w_scale, np.zeros(filters, np.int8), 0)
    b = m.weight(RNG.integers(-3000, 3000, filters).astype(np.int32), np.float32(0.03) * w_scale, np.zeros(filters, np.int32), 0)
    y = m.node("Relu", [m.node("Conv", [x, w, b], **attributes)])
    m.check(m.through_bytes(y, 0.05, np.uint8(121)), LEVELS[level], 0.05)


@pytest.mark.parametrize("level", LEVELS)
def test_linear_layers_with_transposed_weights(level):
    m = Quantizing()
    x = m.through_bytes(m.input("x", RNG.standard_normal((3, 4, 5)).astype(np.float32)), 0.03, np.uint8(100))
    w = m.weight(bytes_of(np.int8, 9, 20), RNG.uniform(0.001, 0.01, 9).astype(np.float32), np.zeros(9, np.int8), 0)
    y = m.node("Gemm", [m.node("Flatten", [x]), w, m.constant("c", RNG.standard_normal(9).astype(np.float32))], transB=1)
    m.check(m.through_bytes(y, 0.05, np.uint8(100)), LEVELS[level], 0.05)


@pytest.mark.parametrize("level", LEVELS)
def test_dequantized_values_cut_to_integers(level):
    m = Quantizing()
    x = m.input("x", bytes_of(np.uint8, 6, 40))
    x = m.node("DequantizeLinear", [x, m.constant("s", np.float32(0.03)), m.constant("z", np.uint8(100))])
    cut = m.node("Cast", [m.node("Cast", [x], to=6)], to=1)
    y = m.node("MatMul", [cut, m.weight(bytes_of(np.int8, 40, 24), np.float32(0.5), np.int8(0), 1)])
    m.check(y, LEVELS[level], 1e-3)


@pytest.mark.parametrize("level", first_of(LEVELS))
@pytest.mark.parametrize("a_type", BYTES)
@pytest.mark.parametrize("b_type", BYTES)
def test_integer_products(level, a_type, b_type):
    m = Quantizing()
    inputs = [m.input("a", bytes_of(a_type, 2, 7, 50), (2, "n", 50)), m.constant("b", bytes_of(b_type, 50, 35))]
    m.check(m.node("MatMulInteger", [*inputs, m.constant("za", a_type(77)), m.constant("zb", b_type(33))]), LEVELS[level])


@pytest.mark.parametrize("level", LEVELS)
def test_integer_products_of_extremes(level):
    """70,000 products whose sum, less the zero point, leaves i32 on the way and at the end."""
    m = Quantizing()
    a, b = m.input("a", np.full((2, 70000), 255, np.uint8)), m.constant("b", np.full((70000, 20), -128, np.int8))
    m.check(m.node("MatMulInteger", [a, b, m.constant("za", np.uint8(1))]), LEVELS[level])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("zero", [0, 77])
def test_integer_convolutions(level, zero):
    m = Quantizing()
    x, w = m.input("x", bytes_of(np.uint8, 1, 5, 8, 9)), m.constant("w", bytes_of(np.uint8, 6, 5, 3, 3))
    zeros = [m.constant("zx", np.uint8(zero)), m.constant("zw", np.uint8(128))]
    m.check(m.node("ConvInteger", [x, w, *zeros], pads=[1, 1, 1, 1]), LEVELS[level])


@pytest.mark.parametrize("level", LEVELS)
def test_dynamic_quantization(level):
    m = Quantizing()
    x = m.input("x", RNG.standard_normal((6, 40)).astype(np.float32), ("n", 40))
    m.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], ["xq", "xs", "xz"]))
    sums = m.node("MatMulInteger", ["xq", m.constant("w", bytes_of(np.int8, 40, 24)), "xz"])
    scale = m.node("Mul", ["xs", m.constant("ws", RNG.uniform(0.001, 0.01, 24).astype(np.float32))])
    m.check(m.node("Mul", [m.node("Cast", [sums], to=1), scale]), LEVELS[level], 1e-4)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", BYTES)
def test_quantized_operators(level, dtype):
    m, zero = Quantizing(), dtype(60)
    names = [m.constant("xs", np.float32(0.02)), m.constant("xz", zero)]
    x = m.input("x", bytes_of(dtype, 1, 4, 6, 6))
    w = [m.constant("w", bytes_of(np.int8, 8, 4, 3, 3)), m.constant("ws", RNG.uniform(0.001, 0.01, 8).astype(np.float32)),
         m.constant("wz", np.zeros(8, np.int8))]
    out = [m.constant("ys", np.float32(0.1)), m.constant("yz", dtype(10))]
    y = m.node("QLinearConv", [x, *names, *w, *out, m.constant("b", RNG.integers(-500, 500, 8).astype(np.int32))], pads=[1, 1, 1, 1])
    rows = m.node("Reshape", [y, m.constant("shape", np.array([8, 36]))])
    v = [m.constant("v", bytes_of(np.int8, 36, 10)), m.constant("vs", np.float32(0.01)), m.constant("vz", np.int8(0))]
    m.check(m.node("QLinearMatMul", [rows, *out, *v, m.constant("us", np.float32(0.5)), m.constant("uz", zero)]), LEVELS[level], 1)
