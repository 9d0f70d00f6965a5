"""Quantized values that are dequantized, computed with or moved, and quantized again, by tables and by instructions that saturate, against
numpy.

Sums are of few bits, and quotients of anything but bytes are by powers of two, so that numpy's arithmetic in f32 is exact where its order
could matter.
"""
import itertools

import numpy as np
import onnx
import pytest
from harness import Net
from onnx import helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.rounded_sums import Term, fused_factors

TARGETS = ["llvm", *(f"llvm{{cpu={name}}}" for name in ("x86-64-v4", "x86-64-v3") if not cpu.missing_features(name, ""))]
POINTS = [(np.uint8, 0), (np.uint8, 3), (np.uint8, 255), (np.int8, 0), (np.int8, -7), (np.int8, 127), (np.int8, -128)]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 2.0**31, -(2.0**31), 40.0, -40.0, 0.0625, 15.9375, 31.9]


class Graph:
    """Nodes, and what numpy computes for each value."""

    def __init__(self) -> None:
        self.nodes, self.inputs, self.outputs, self.constants, self.given, self.values = [], [], [], [], {}, {}

    def node(self, op: str, operands: list[str], value: np.ndarray, **attributes: object) -> str:
        name = f"v{len(self.values)}"
        self.nodes.append(helper.make_node(op, operands, [name], **attributes))
        self.values[name] = value
        return name

    def constant(self, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, value: np.ndarray) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        self.given[name] = self.values[name] = value
        return name

    def quantize(self, x: str, scale: float, zero: int, dtype: type) -> str:
        """ONNX's definition; NaN is the integer 0."""
        ends, value = np.iinfo(dtype), self.values[x]
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.clip(np.rint(value / np.float32(scale)).astype(np.float64) + zero, ends.min, ends.max)
            found = np.where(np.isnan(value), 0, found).astype(dtype)
        return self.node("QuantizeLinear", [x, self.constant(np.float32(scale)), self.constant(dtype(zero))], found)

    def dequantize(self, x: str, scale: float, zero: int) -> str:
        value = self.values[x]
        operands = [x, self.constant(np.float32(scale)), self.constant(value.dtype.type(zero))]
        return self.node("DequantizeLinear", operands, ((value.astype(np.int32) - zero) * np.float32(scale)).astype(np.float32))

    def multiply(self, x: str, factor: float) -> str:
        return self.node("Mul", [x, self.constant(np.float32(factor))], self.values[x] * np.float32(factor))

    def activated(self, x: str, factor: float, zero: int, dtype: type, scale: float = 0.5) -> str:
        """Times a number, and not less than 0, quantized."""
        scaled = self.multiply(x, factor)
        positive = self.node("Relu", [scaled], np.maximum(self.values[scaled], np.float32(0)))
        return self.quantize(positive, scale, zero, dtype)

    def output(self, name: str) -> None:
        value = self.values[name]
        self.outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))

    @property
    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "bytes", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def check(self, target: str) -> None:
        results = legato.compile(legato.from_onnx(self.model), target)(*self.given.values())
        for result, output in zip(results if len(self.outputs) > 1 else [results], self.outputs, strict=True):
            np.testing.assert_array_equal(np.asarray(result), self.values[output.name], err_msg=output.name)


def requantized(size: int = 64) -> Graph:
    """Bytes in other scales, clipped, and activated."""
    graph, random = Graph(), np.random.default_rng(size)
    for (dtype, zero), (other, point) in itertools.product(POINTS, [(np.uint8, 0), (np.int8, -128), (np.int8, 5)]):
        ends = np.iinfo(dtype)
        bytes_ = graph.input(random.integers(ends.min, ends.max + 1, (5, size)).astype(dtype))
        first = graph.quantize(graph.dequantize(bytes_, 0.0371, zero), 0.03125, point, other)
        graph.output(first)
        graph.output(graph.activated(graph.dequantize(first, 0.03125, point), 1.37, zero, dtype))
    return graph


def floats(size: int = 64) -> Graph:
    """Floats of any size, and what are none."""
    graph, random = Graph(), np.random.default_rng(size)
    for dtype, zero in POINTS:
        given = np.where(random.random((4, size)) < 0.5, random.choice(SPECIAL, (4, size)), random.standard_normal((4, size)) * 8)
        first = graph.quantize(graph.input(given.astype(np.float32)), 0.125, zero, dtype)
        graph.output(graph.activated(graph.dequantize(first, 0.125, zero), 1.37, zero, dtype))
    return graph


def products(size: int = 64) -> Graph:
    """Sums of products that fit in no byte, by weights with a scale for each column."""
    graph, random = Graph(), np.random.default_rng(size)
    for rows, (dtype, zero) in itertools.product((1, 7, 33), POINTS):
        a = graph.dequantize(graph.input(random.integers(0, 256, (rows, 20)).astype(np.uint8)), 0.0625, 100)
        weight, factors = random.integers(-127, 128, (20, size)).astype(np.int8), (2.0 ** -random.integers(2, 9, size)).astype(np.float32)
        wide = weight * factors
        b = f"w{len(graph.nodes)}"
        operands = [graph.constant(weight), graph.constant(factors), graph.constant(np.zeros(size, np.int8))]
        graph.nodes.append(helper.make_node("DequantizeLinear", operands, [b], axis=1))
        sums = graph.node("MatMul", [a, b], (graph.values[a].astype(np.float64) @ wide.astype(np.float64)).astype(np.float32))
        first = graph.quantize(sums, 0.25, zero, dtype)
        graph.output(graph.activated(graph.dequantize(first, 0.25, zero), 1.37, zero, dtype, 0.49))
        graph.output(graph.quantize(graph.multiply(sums, 0.5), 0.25, zero, dtype))
    return graph


FACTORS = [(0.0371, 0.0123, 24.7), (0.49081272, 0.28370553, 1.7861007), (0.0625, 0.1875, 4.0), (3.7, 0.0011, 0.31)]


def sums(factors=FACTORS, points=POINTS[:4]) -> Graph:
    """Sums of all pairs of bytes."""
    graph, every = Graph(), np.arange(256)
    first, second = np.meshgrid(every.astype(np.uint8), every.astype(np.uint8).view(np.int8))
    for p, q, r in factors:
        for dtype, zero in points:
            terms = [graph.dequantize(graph.input(first), p, 101), graph.dequantize(graph.input(second), q, -9)]
            total = graph.node("Add", terms, graph.values[terms[0]] + graph.values[terms[1]])
            rounded = graph.quantize(graph.multiply(total, r), 1.0, zero, dtype)
            graph.output(graph.activated(graph.dequantize(rounded, 1.0, zero), 0.77, zero, dtype))
    return graph


def moves(size: int = 64) -> Graph:
    """Bytes that are moved as floats, and quantized as before; and floats that are quantized once they are moved."""
    graph, random = Graph(), np.random.default_rng(size)
    for dtype, zero in POINTS:
        ends = np.iinfo(dtype)
        bytes_ = graph.input(random.integers(ends.min, ends.max + 1, (2, 3, 4, size)).astype(dtype))
        x = graph.dequantize(bytes_, 0.0371, zero)
        turned = graph.node("Transpose", [x], graph.values[x].T)
        rows = graph.node("Reshape", [turned, graph.constant(np.array([size, 4, 6]))], graph.values[turned].reshape(size, 4, 6))
        part = graph.node("Slice", [rows, *(graph.constant(np.array([at])) for at in (1, 3, 1))], graph.values[rows][:, 1:3])
        twice = graph.node("Concat", [part, part], np.concatenate([graph.values[part]] * 2, 1), axis=1)
        twice = graph.quantize(twice, 0.0371, zero, dtype)
        graph.output(twice)
        value = graph.values[x]
        padded = graph.node("Pad", [x, graph.constant(np.array([0, 0, 0, 1, 0, 0, 0, 0]))], np.pad(value, [(0, 0)] * 3 + [(1, 0)]))
        windows = np.maximum(graph.values[padded][..., :-1], graph.values[padded][..., 1:])
        pooled = graph.node("MaxPool", [padded], windows, kernel_shape=[1, 2])
        graph.output(graph.quantize(pooled, 0.0371, zero, dtype))
        given = graph.input((random.standard_normal((2, size)) * 4).astype(np.float32))
        both = graph.node("Concat", [given, graph.node("Neg", [given], -graph.values[given])],
                          np.concatenate([graph.values[given], -graph.values[given]]), axis=0)
        graph.output(graph.quantize(graph.node("Transpose", [both], graph.values[both].T), 0.03125, zero, dtype))
    return graph


def activations(size: int = 64) -> Graph:
    """x * tanh(x), whose factor is quantized too."""
    graph, random = Graph(), np.random.default_rng(size)
    for (dtype, zero), (other, point) in itertools.product(POINTS, [(np.uint8, 9), (np.int8, -3)]):
        ends = np.iinfo(dtype)
        x = graph.dequantize(graph.input(random.integers(ends.min, ends.max + 1, (17, size)).astype(dtype)), 0.0371, zero)
        factor = graph.node("Tanh", [x], np.tanh(graph.values[x].astype(np.float64)).astype(np.float32))
        factor = graph.dequantize(graph.quantize(factor, 0.0078, 0, np.int8), 0.0078, 0)
        graph.output(graph.quantize(graph.node("Mul", [x, factor], graph.values[x] * graph.values[factor]), 0.0213, point, other))
    return graph


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("make", [requantized, floats, products, moves, activations])
@pytest.mark.parametrize("size", first_of([64, 16, 32, 48, 96, 100]))
def test_values(make, size, target):
    make(size).check(target)


@pytest.mark.parametrize("target", first_of(TARGETS))
def test_all_pairs(target):
    sums().check(target)


@pytest.mark.parametrize("target", ["llvm", "llvm{threads=2}"])
def test_bytes_looked_up(target):
    """As many as fill vectors, more and fewer, and as many as threads share."""
    random = np.random.default_rng(3)
    table = random.integers(0, 256, 256, np.uint8)
    net = Net(target)
    net.output(net.op("relax.take", [net.weight(table), net.input(("n", 3), "ui8")]))
    for rows in [*range(70), 1000, 1 << 17]:
        places = random.integers(0, 256, (rows, 3), np.uint8)
        np.testing.assert_array_equal(net.run(places)[0], table[places], err_msg=str(rows))
    known = Net(target)
    known.output(known.op("relax.take", [known.weight(table), known.input((1000, 301), "ui8")]))
    places = random.integers(0, 256, (1000, 301), np.uint8)
    np.testing.assert_array_equal(known.run(places)[0], table[places])


def test_forms():
    """Bytes that are quantized as before are moved as they are, and an activation is one table."""
    moved, activated = (str(legato.lower(legato.from_onnx(graph.model), "llvm{cpu=znver4}", last="relax"))
                        for graph in (moves(), activations()))
    assert moved.count("relax.round") == len(POINTS)    # of floats that are joined, with and without a sign
    assert "relax.tanh" not in activated
    assert activated.count("relax.take") == 2 * len(POINTS)


def test_instructions():
    """A table takes the place of multiplications and a division, packing that of clips, and a fused one that of two."""
    for graph, present, absent in [
        (products(), ["vpermi2var.qi.512", "packuswb.512"], []),
        (sums(FACTORS[:1], POINTS[1:2]), ["vpermi2var.qi.512", "llvm.intr.fma"], ["roundeven"]),
    ]:
        text = str(legato.lower(legato.from_onnx(graph.model), "llvm{cpu=znver4}"))
        assert all(name in text for name in present) and not any(name in text for name in absent)


def test_fused_factors():
    """Of sums that end between two integers, none is the same; bounds that clip what differs have some."""
    half = Term(0, 255, 0.5)
    assert fused_factors(half, Term(0, 255, 0.25), 1.0, -128, 127) == (0.5, 0.25)
    terms = Term(-110, 145, 0.49081272), Term(0, 255, 0.28370553)
    assert fused_factors(*terms, 1.7861007, -128, 127) is None
    assert fused_factors(*terms, 1.7861007, 126, 127) is not None
    assert fused_factors(half, Term(0, 1 << 16, 0.5), 1.0, -128, 127) is None
