"""Kernels that are measured, as ONNX files, whose operands are all inputs, so that every engine computes the same."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

DIRECTORY = Path("build/bench/gpu")
TYPES = {"f32": (np.float32, TensorProto.FLOAT), "tf32": (np.float32, TensorProto.FLOAT), "f16": (np.float16, TensorProto.FLOAT16),
         "bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16)}
LIMITS = {"f32": 2e-4, "tf32": 4e-3, "f16": 1e-2, "bf16": 6e-2}     # of max|a-b| / max|b|
SMALL = 16      # by which sizes are divided, for devices that are CPUs
Torch = Callable[..., Any]      # torch, then the inputs' tensors


@dataclass(frozen=True)
class GpuCase:
    """A model file with inputs. ``precision``: f32, tf32 (f32 whose products may round factors to 11 bits), f16 or bf16. ``flops``: of a
    call, 0 where not counted; ``bytes``: that it has to read and write. ``torch``: the same in torch, or ``module``, one of torch's;
    None for both without it. ``reference``: the file of the same model in f32, if ``path`` cannot be read as one. ``is_model``: whether it
    is a whole model, of many launches."""

    name: str
    precision: str
    path: Path
    inputs: dict[str, np.ndarray]
    flops: int
    bytes: int
    torch: Torch | None = None
    module: Any = None
    reference: Path | None = None
    is_model: bool = False


@dataclass(frozen=True)
class KernelShape:
    """A kernel: its nodes, from inputs ``a``, ``b``, ... to ``y``; the shapes of the inputs; arithmetic operations."""

    nodes: Sequence[onnx.NodeProto]
    shapes: Sequence[tuple[int, ...]]
    flops: int
    torch: Torch
    precisions: Sequence[str] = ("f32", "f16")


def product(m: int, n: int, k: int) -> KernelShape:
    """A matmul."""
    return KernelShape([helper.make_node("MatMul", ["a", "b"], ["y"])], [(m, k), (k, n)], 2 * m * n * k, lambda t, a, b: a @ b,
                       ("f32", "f16", "bf16") if min(m, n) == 1 else ("f32", "tf32", "f16", "bf16"))


def convolution(size: int, channels: int, filters: int, kernel: int, stride: int) -> KernelShape:
    """A convolution of one image, padded to keep its size but for the stride."""
    pad, out = (kernel - 1) // 2, -(-size // stride)
    node = helper.make_node("Conv", ["a", "b"], ["y"], pads=[pad] * 4, strides=[stride] * 2, kernel_shape=[kernel] * 2)
    return KernelShape([node], [(1, channels, size, size), (filters, channels, kernel, kernel)],
                       2 * out * out * channels * filters * kernel * kernel,
                       lambda t, a, b: t.nn.functional.conv2d(a, b, stride=stride, padding=pad), ("f32", "tf32", "f16"))


def attention(batch: int, heads: int, length: int, depth: int) -> KernelShape:
    """softmax(a b) c, of scaled queries and transposed keys."""
    nodes = [helper.make_node("MatMul", ["a", "b"], ["s"]), helper.make_node("Softmax", ["s"], ["p"], axis=-1),
             helper.make_node("MatMul", ["p", "c"], ["y"])]
    rows = (batch, heads, length, depth)
    return KernelShape(nodes, [rows, (batch, heads, depth, length), rows], 4 * prod(rows) * length,
                       lambda t, a, b, c: t.nn.functional.scaled_dot_product_attention(a, b.transpose(-1, -2), c, scale=1.0))


def elementwise(rows: int, columns: int) -> KernelShape:
    """relu(a + b) * a."""
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["r"]), helper.make_node("Mul", ["r", "a"], ["y"])]
    return KernelShape(nodes, [(rows, columns)] * 2, 3 * rows * columns, lambda t, a, b: t.relu(a + b) * a)


def transpose(shape: tuple[int, ...], order: Sequence[int]) -> KernelShape:
    """A copy in another order of axes."""
    return KernelShape([helper.make_node("Transpose", ["a"], ["y"], perm=list(order))], [shape], 0,
                       lambda t, a: a.permute(*order).contiguous())


def softmax(rows: int, columns: int) -> KernelShape:
    """Softmax of rows."""
    return KernelShape([helper.make_node("Softmax", ["a"], ["y"], axis=-1)], [(rows, columns)], 0, lambda t, a: t.softmax(a, -1))


def layer_norm(rows: int, columns: int) -> KernelShape:
    """Layer normalization of rows."""
    node = helper.make_node("LayerNormalization", ["a", "b", "c"], ["y"], axis=-1, epsilon=1e-5)
    return KernelShape([node], [(rows, columns), (columns,), (columns,)], 0,
                       lambda t, a, b, c: t.nn.functional.layer_norm(a, (columns,), b, c, 1e-5))


# of a function that makes sizes smaller; what is about the memory's bandwidth moves more bytes than a GPU's cache has (60 MB on an H200)
KERNELS: dict[str, Callable[[Callable[[int], int]], KernelShape]] = {
    "gemm-4096": lambda s: product(s(4096), s(4096), s(4096)), "bert-qkv": lambda s: product(s(128), s(768), s(768)),
    "bert-ffn": lambda s: product(s(128), s(3072), s(768)), "bert-ffn-out": lambda s: product(s(128), s(768), s(3072)),
    "gemv": lambda s: product(1, s(8192), s(8192)), "attention-128": lambda s: attention(1, 12, s(128), 64),
    "attention-1024": lambda s: attention(1, s(32), s(1024), 64), "conv3x3": lambda s: convolution(s(56), 64, 64, 3, 1),
    "conv1x1": lambda s: convolution(14, s(256), s(1024), 1, 1), "conv3x3/2": lambda s: convolution(s(56), s(128), s(128), 3, 2),
    "conv-first": lambda s: convolution(s(224), 3, 64, 7, 2), "elementwise": lambda s: elementwise(s(8192), s(8192)),
    "transpose": lambda s: transpose((s(8192), s(8192)), (1, 0)), "heads": lambda s: transpose((s(256), 128, 12, 64), (0, 2, 1, 3)),
    "softmax": lambda s: softmax(s(32768), s(1024)), "layernorm": lambda s: layer_norm(s(32768), s(768)),
}


def kernel_cases(name: str, small: bool, precisions: Sequence[str]) -> Iterator[GpuCase]:
    """A kernel in those of the precisions that it is measured in. Writes its files."""
    of = KERNELS[name](lambda size: max(1, size // SMALL) if small else size)
    for precision in of.precisions:
        if precision in precisions:
            dtype, type_ = TYPES[precision]
            random, names = np.random.default_rng(0), "abc"[:len(of.shapes)]
            inputs = {key: (random.standard_normal(shape) * (shape[-2] ** -0.5 if key == "b" and len(shape) > 1 else 1)).astype(dtype)
                      for key, shape in zip(names, of.shapes)}
            graph = helper.make_graph(list(of.nodes), name, [helper.make_tensor_value_info(key, type_, inputs[key].shape) for key in names],
                                      [helper.make_tensor_value_info("y", type_, None)])
            path = DIRECTORY / f"{name.replace('/', 's')}-{precision}{'-small' * small}.onnx"
            path.parent.mkdir(parents=True, exist_ok=True)
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
            yield GpuCase(name, precision, path, inputs, of.flops, moved(of, inputs), of.torch)


def moved(of: KernelShape, inputs: dict[str, np.ndarray]) -> int:
    """The bytes that a kernel has to read and write: its operands, and its result by the reference's shape."""
    model = helper.make_model(helper.make_graph(
        list(of.nodes), "shapes", [helper.make_tensor_value_info(key, TensorProto.FLOAT, array.shape) for key, array in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]), opset_imports=[helper.make_opsetid("", 20)])
    (made,) = onnx.shape_inference.infer_shapes(model).graph.output
    width = next(iter(inputs.values())).itemsize
    return sum(array.nbytes for array in inputs.values()) + width * prod(d.dim_value for d in made.type.tensor_type.shape.dim)
