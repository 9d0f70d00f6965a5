"""Layers drawn from a seed, as ONNX models with inputs: the sizes, the operands and the nodes of ``bench.random_layers``.

Sizes are drawn so that a layer takes some 10 us to 10 ms, and on purpose not rounded: prime sizes, channels around the vector width, and
the sizes of known networks are about equally likely.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.shape_inference import infer_shapes

from .engines import PRECISIONS

T = TypeVar("T")
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "int8": TensorProto.FLOAT}
COMMON = (8, 16, 24, 32, 40, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)    # channels of known networks
SIDES = (7, 8, 10, 14, 16, 19, 20, 26, 28, 32, 40, 56, 64, 80, 112)


@dataclass(frozen=True)
class Layer:
    """A model of one layer. ``label`` says the kind, the sizes and the attributes."""

    label: str
    model: ModelProto
    inputs: dict[str, np.ndarray]


class Draw:
    """Random sizes, and the model that is built of them."""

    def __init__(self, seed: int, precision: str) -> None:
        self.rng, self.precision = np.random.default_rng(seed), precision
        self.dtype = PRECISIONS.get(precision, np.float32)
        self.inputs: dict[str, np.ndarray] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.nodes: list[NodeProto] = []
        self.opset = 23

    def among(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def size(self, low: int, high: int, known: Sequence[int] = COMMON) -> int:
        """A size from low to high: one of the known, or any, small ones as likely as large ones."""
        fitting = [value for value in known if low <= value <= high]
        if fitting and self.rng.random() < 0.5:
            return self.among(fitting)
        return int(np.exp(self.rng.uniform(np.log(low), np.log(high + 1))))

    def maybe(self, probability: float = 0.5) -> bool:
        """True with a probability."""
        return bool(self.rng.random() < probability)

    def array(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Normally distributed numbers of the layer's element type."""
        return (self.rng.standard_normal(shape, np.float32) * np.float32(scale)).astype(self.dtype)

    def input(self, *shape: int) -> str:
        """A further input of the model; quantized and dequantized in models of 8 bits."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.array(*shape)
        return self.quantized(name, 0.03) if self.precision == "int8" else name

    def indices(self, limit: int, *shape: int) -> str:
        """A further input of the model: whole numbers from 0, below a limit, in no order."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.rng.integers(0, limit, shape)
        return name

    def numbers(self, *values: int) -> str:
        """A further constant of whole numbers: a shape, axes, sizes."""
        return self.weight(np.array(values, np.int64))

    def weight(self, array: np.ndarray) -> str:
        """A further constant."""
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def filter(self, *shape: int, axis: int = 0) -> str:
        """A constant factor of a product, so small that results are about as large as operands. In 8 bits ``axis`` has a scale for each
        of its slices."""
        depth = np.prod(shape) / shape[axis]
        if self.precision != "int8":
            return self.weight(self.array(*shape, scale=depth ** -0.5))
        values = self.weight(self.rng.integers(-127, 128, shape, np.int8))
        scales = self.weight(self.rng.uniform(0.5, 1.5, shape[axis]).astype(np.float32) / 64 * np.float32(depth ** -0.5))
        return self.node("DequantizeLinear", [values, scales], axis=axis)

    def quantized(self, name: str, scale: float) -> str:
        """A value rounded to 8 bits without a sign."""
        scale_, zero = self.weight(np.float32(scale)), self.weight(np.uint8(128))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [name, scale_, zero]), scale_, zero])

    def node(self, op: str, operands: Sequence[str], **attributes: object) -> str:
        """A further node's result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(operands), [name], **attributes))
        return name

    def layer(self, label: str, result: str, type_: int | None = None, shape: Sequence[int] | None = None) -> Layer:
        """The layer that yields ``result``, of the layer's element type if no other is given. ``shape``: where onnx infers none."""
        if self.precision == "int8":
            result = self.quantized(result, 0.05)
        values = {name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                  for name, array in self.inputs.items()}
        constants = [helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.tobytes(), raw=True)
                     for name, array in self.weights.items()]
        output = helper.make_tensor_value_info(result, type_ or TYPES[self.precision], shape)
        graph = helper.make_graph(self.nodes, "layer", list(values.values()), [output], constants)
        domains = {node.domain for node in self.nodes} - {""}
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(name, 1) for name in domains)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return Layer(label, infer_shapes(model, check_type=True, strict_mode=True), self.inputs)
