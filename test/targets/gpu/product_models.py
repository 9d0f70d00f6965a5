"""ONNX models of products: many nodes that do not depend on each other, with random inputs and what they give."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from legato.script import T

Shape = tuple[int | str, ...]
FLOAT, HALF, INT = "float32", "float16", "int32"


@dataclass(frozen=True)
class Node:
    """One node of an ONNX op: its operands' shapes, and the type of all; ``then``: an elementwise op of its result."""

    op: str
    shapes: tuple[Shape, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = FLOAT
    then: str = ""


def matmul(m: int | str, n: int | str, k: int | str, dtype: str = FLOAT, then: str = "") -> Node:
    """A product of two matrices."""
    return Node("MatMul", ((m, k), (k, n)), {}, dtype, then)


def batched(left: Shape, right: Shape, m: int | str, n: int | str, k: int | str) -> Node:
    """Products of matrices, with the axes ``left`` and ``right`` in front of them."""
    return Node("MatMul", ((*left, m, k), (*right, k, n)))


def gemm(m: int | str, n: int | str, k: int | str, across: bool, down: bool, then: str = "Relu") -> Node:
    """A product with a bias, and transposed operands."""
    shapes = ((k, m) if across else (m, k), (n, k) if down else (k, n), (n,))
    return Node("Gemm", shapes, {"transA": int(across), "transB": int(down)}, FLOAT, then)


def conv(batch: int | str, channels: int, sizes: Shape, filters: int, kernel: int, stride: int = 1, pad: int = 0, dilation: int = 1,
         groups: int = 1, then: str = "Relu") -> Node:
    """A convolution with a bias."""
    each = {"strides": stride, "dilations": dilation}
    attributes = {name: [number] * len(sizes) for name, number in each.items()} | {"pads": [pad] * 2 * len(sizes), "group": groups}
    shapes = ((batch, channels, *sizes), (filters, channels // groups, *[kernel] * len(sizes)), (filters,))
    return Node("Conv", shapes, attributes, FLOAT, then)


def without_bias(node: Node) -> Node:
    """The same node of its first two operands."""
    return replace(node, shapes=node.shapes[:2])


def product(dtype, left_turned=False, right_turned=False, m=40, n=56, k=72, right_dtype=""):
    """A kernel that multiplies matrices, which may be transposed in memory, to f32, or integers to i32."""
    a, b = (k, m) if left_turned else (m, k), (n, k) if right_turned else (k, n)
    other, wide = right_dtype or dtype, "int32" if "int" in dtype else "float32"

    @T.prim_func
    def kernel(A: T.Buffer(a, dtype), B: T.Buffer(b, other), C: T.Buffer((m, n), wide)):
        for i, j, l in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.Cast(wide, 0)
                C[vi, vj] = C[vi, vj] + T.Cast(wide, A[vk, vi] if left_turned else A[vi, vk]) * T.Cast(
                    wide, B[vj, vk] if right_turned else B[vk, vj])    # casts of f32 are none

    return kernel


def random_nodes(seed: int) -> list[Node]:
    """Four products by chance: sizes of 1 to 300, primes and multiples among them."""
    r = Random(seed)

    def size() -> int:
        return r.choice([1, 2, 3, 7, 16, 31, 37, 64, 97, 128, 130, r.randint(1, 300)])

    def small() -> int:
        return r.choice([1, 4, 5, 8, 12, 16, r.randint(1, 40)])

    kernel, stride, dilation = r.choice([1, 2, 3, 5]), r.choice([1, 1, 2]), r.choice([1, 1, 2])
    groups = r.choice([1, 1, 2, 4])
    batch = tuple(r.choice([1, 2, 3]) for _ in range(2))
    return [
        matmul(size(), size(), size(), r.choice([FLOAT, HALF, INT]), r.choice(["", "Neg"])),
        gemm(size(), size(), size(), r.random() < 0.5, r.random() < 0.5, r.choice(["Relu", "Tanh", "Sigmoid"])),
        batched(tuple(r.choice([1, n]) for n in batch), batch[r.randint(0, 2):], small(), small(), small()),
        conv(r.choice([1, 2]), groups * r.choice([1, 3, 4, 8]), (r.randint(9, 15), r.randint(9, 15)), groups * r.choice([1, 5, 12, 16]),
             kernel, stride, r.randint(0, kernel // 2), dilation, groups),
    ]


def model(nodes: Sequence[Node]) -> onnx.ModelProto:
    """The model of some nodes; its outputs are their results."""
    inputs, made, outputs = [], [], []
    for n, node in enumerate(nodes):
        dtype = helper.np_dtype_to_tensor_dtype(np.dtype(node.dtype))
        names = [f"x{n}_{k}" for k in range(len(node.shapes))]
        inputs += [helper.make_tensor_value_info(name, dtype, shape) for name, shape in zip(names, node.shapes)]
        result = f"h{n}" if node.then else f"y{n}"
        made.append(helper.make_node(node.op, names, [result], **node.attributes))
        if node.then:
            made.append(helper.make_node(node.then, [result], [f"y{n}"]))
        outputs.append(helper.make_tensor_value_info(f"y{n}", dtype, None))
    graph = helper.make_graph(made, "products", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def feeds(nodes: Sequence[Node], seed: int = 0, **sizes: int) -> dict[str, np.ndarray]:
    """Random inputs of ``model(nodes)``; ``sizes``: those that have names."""
    random, found = np.random.default_rng(seed), {}
    for n, node in enumerate(nodes):
        for k, shape in enumerate(node.shapes):
            known = [s if isinstance(s, int) else sizes[s] for s in shape]
            numbers = random.integers(-9, 10, known) if node.dtype == INT else random.standard_normal(known)
            found[f"x{n}_{k}"] = numbers.astype(node.dtype)
    return found


def expected(nodes: Sequence[Node], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What the model gives, by onnxruntime in 64 bits where it has the op in them."""
    wide = {name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in given.items()}
    found = []
    for n, node in enumerate(nodes):
        alone = Node(node.op, node.shapes, node.attributes, "float64" if node.dtype != INT and node.op != "Conv" else
                     FLOAT if node.op == "Conv" else INT, node.then)
        arrays = {f"x0_{k}": wide[f"x{n}_{k}"].astype(alone.dtype) for k in range(len(node.shapes))}
        found.append(onnxruntime.InferenceSession(model([alone]).SerializeToString()).run(None, arrays)[0])
    return found


def check(nodes: Sequence[Node], found: Any, given: Mapping[str, np.ndarray]) -> None:
    """AssertionError, with the node, where results are not those expected."""
    each = found if isinstance(found, tuple) else (found,)
    for node, one, want in zip(nodes, each, expected(nodes, given), strict=True):
        assert one.shape == want.shape and one.dtype == node.dtype, node
        tolerance = 2e-3 if node.dtype == HALF else 1e-5
        scale = max(float(np.abs(want).max(initial=0)), 1e-9)
        assert np.abs(one.astype(np.float64) - want).max(initial=0) <= tolerance * scale, node
