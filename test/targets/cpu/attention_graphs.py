"""Attentions in the graphs that exporters write, and their results against onnxruntime's. All cases of a test are one model."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.runtime import Executable

MASKS = {"keys": "11n", "key": "n", "causal": "mn", "queries": "11mn", "padding": "b11n", "full": "bhmn", "heads": "1h1n",
         "columns": "11m1"}
FUSED = "fused_attention"


@dataclass
class Graph:
    """A model of several attentions, and the arrays of its inputs."""

    dtype: type = np.float32
    nodes: list = field(default_factory=list)
    constants: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    shapes: dict = field(default_factory=dict)

    def input(self, name: str, shape: Sequence, dtype: int | None = None) -> str:
        dtype = dtype or helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        self.inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        self.shapes[name] = shape, dtype
        return name

    def node(self, op: str, inputs: Sequence[str], **attributes) -> str:
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, value) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.asarray(value, self.dtype))

    def attention(self, name: str, h, m, n, d, *, b=1, e=None, mask="", scale="scores", layout="bhsd", group=1, last=False,
                  guard=False) -> None:
        """One attention. ``scale``: what is multiplied by it; ``layout``: of the operands, "bshd" with transposes before and after,
        "columns" with keys [b, h, d, n]; ``group``: heads that share keys and values; ``last``: the result is transposed; ``guard``:
        shares that are NaN count as 0, as PyTorch's exporter writes wherever there is a mask."""
        e, heads, factor = e or d, h // group if group > 1 else h, d ** -0.5
        order = (0, 2, 1, 3) if layout == "bshd" else (0, 1, 2, 3)
        keys = (b, heads, d, n) if layout == "columns" else (b, heads, n, d)
        q, k, v = (self.input(f"{name}_{x}", [shape[i] for i in order])
                   for x, shape in (("q", (b, h, m, d)), ("k", keys), ("v", (b, heads, n, e))))
        if layout == "bshd":
            q, v = (self.node("Transpose", [x], perm=[0, 2, 1, 3]) for x in (q, v))
            k = self.node("Transpose", [k], perm=[0, 2, 1, 3]) if group > 1 else k
        if group > 1:
            k, v = self.repeated(k, h, group, d), self.repeated(v, h, group, e)
        if layout != "columns":
            k = self.node("Transpose", [k], perm=[0, 2, 3, 1] if layout == "bshd" and group == 1 else [0, 1, 3, 2])
        if scale in ("query", "both"):
            q = self.node("Mul", [q, self.number(factor if scale == "query" else factor ** 0.5)])
        if scale == "both":
            k = self.node("Mul", [k, self.number(factor ** 0.5)])
        x = self.node("MatMul", [q, k])
        if scale in ("scores", "division"):
            x = self.node("Mul" if scale == "scores" else "Div", [x, self.number(factor if scale == "scores" else 1 / factor)])
        sizes = {"b": b, "h": h, "m": m, "n": n, "1": 1}
        if mask == "where":
            x = self.node("Where", [self.input(f"{name}_where", [b, 1, m, n], TensorProto.BOOL), x, self.number(-np.inf)])
        elif mask == "least":
            x = self.node("Where", [self.input(f"{name}_where", [b, 1, m, n], TensorProto.BOOL), x, self.number(np.finfo(np.float32).min)])
        elif mask == "lowest":
            x = self.node("Where", [self.input(f"{name}_where", [b, 1, 1, n], TensorProto.BOOL), x, self.number(-1e4)])
        elif mask:
            x = self.node("Add", [x, self.input(f"{name}_mask", [sizes[letter] for letter in MASKS[mask]])])
        p = self.node("Softmax", [x], axis=-1)
        if guard:
            p = self.node("Where", [self.node("IsNaN", [p]), self.number(0), p])
        y = self.node("MatMul", [p, v])
        shape = [b, h, m, e]
        if last:
            y, shape = self.node("Transpose", [y], perm=[0, 2, 1, 3]), [b, m, h, e]
        dtype = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        self.nodes.append(helper.make_node("Identity", [y], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def repeated(self, x: str, heads: int, group: int, depth: int) -> str:
        wide = self.node("Unsqueeze", [x, self.constant(np.array([2]))])
        wide = self.node("Expand", [wide, self.constant(np.array([1, 1, group, 1, 1]))])
        return self.node("Reshape", [wide, self.constant(np.array([0, heads, -1, depth]))])

    @property
    def model(self):
        graph = helper.make_graph(self.nodes, "attention", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)

    def arrays(self, sizes: dict | None = None, seed: int = 0, kept: float = 0.7) -> dict[str, np.ndarray]:
        """Inputs for sizes of the symbols. ``kept``: how many elements of masks are not masked."""
        rng, made = np.random.default_rng(seed), {}
        for name, (shape, dtype) in self.shapes.items():
            shape = [(sizes or {}).get(size, size) for size in shape]
            chosen = rng.random(shape) < kept
            if dtype == TensorProto.BOOL:
                made[name] = chosen
            else:
                values = rng.standard_normal(shape)
                made[name] = (np.where(chosen, values, -1e4) if name.endswith("_mask") else values).astype(self.dtype)
        return made


def check(graph: Graph, target: str, sizes: Sequence[dict | None] = (None,), tolerance: float = 2e-5, fused: int | None = None,
          **how) -> None:
    """Compares all outputs; as many attentions are one kernel as ``fused`` says (None: all)."""
    compare_with(graph, compiled_with(graph, target, fused), sizes, tolerance, **how)


def compiled_with(graph: Graph, target: str, fused: int | None = None) -> Executable:
    """The compiled model, in which as many attentions are one kernel as ``fused`` says (None: all)."""
    compiled = legato.compile(legato.from_onnx(graph.model), target=target)
    calls = [kernel for kernel in compiled.explain().kernels if kernel.kernel.startswith(FUSED)]
    assert sum(1 for kernel in calls for op in kernel.ops if "softmax" in op) == (len(graph.outputs) if fused is None else fused)
    return compiled


def check_rows_without_keys(n: int, target: str, tolerance: float = 2e-5, of_few: float = 2e-5) -> None:
    """Compares outputs of ``n`` keys where rows see none, or few (``of_few``: the tolerance then), or NaN and infinities."""
    graph = Graph()
    graph.attention("where", 2, 20, n, 16, mask="where")
    graph.attention("added", 2, 20, n, 16, mask="queries", scale="")
    compiled = compiled_with(graph, target)
    compare_with(graph, compiled, tolerance=tolerance, kept=0.0)
    compare_with(graph, compiled, tolerance=of_few, kept=2 / n)
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays(kept=1)
    arrays["where_where"][0, 0, 3], arrays["where_where"][0, 0, 4, :n - 1] = False, False
    mask = arrays["added_mask"][0, 0]
    mask[2, n // 2], mask[3, 0], mask[4, n - 1], mask[5] = np.nan, np.inf, np.inf, -np.inf
    arrays["added_v"][0, 0, 1, 3] = np.nan
    arrays["added_q"][0, 1, 7] = np.inf
    for a, b in zip(session.run(None, arrays), compiled(*arrays.values())):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=of_few)


def compare(graph: Graph, target: str, sizes: Sequence[dict | None] = (None,), tolerance: float = 2e-5, **how) -> None:
    """Compares all outputs with onnxruntime's."""
    compare_with(graph, legato.compile(legato.from_onnx(graph.model), target=target), sizes, tolerance, **how)


def compare_with(graph: Graph, compiled: Callable[..., Any], sizes: Sequence[dict | None] = (None,), tolerance: float = 2e-5,
                 **how) -> None:
    """Compares all outputs of a compiled model with onnxruntime's."""
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number, given in enumerate(sizes):
        arrays = graph.arrays(given, number, **how)
        expected, found = session.run(None, arrays), compiled(*arrays.values())
        found = [found] if len(graph.outputs) == 1 else found
        for output, a, b in zip(graph.outputs, expected, found, strict=True):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            assert a.shape == b.shape, output.name
            np.testing.assert_allclose(b, a, rtol=0, atol=tolerance, err_msg=f"{output.name} {given}")


def everything(m, n, b=2, heads=3, masks=("", *MASKS, "where", "lowest")) -> Graph:
    """Every mask, scale and layout."""
    graph = Graph()
    for mask in masks:
        graph.attention(f"mask_{mask}", heads, m, n, 16, b=b, mask=mask)
    for scale in ("", "query", "both", "division"):
        graph.attention(f"scale_{scale}", heads, m, n, 16, b=b, scale=scale, mask="padding", layout="bshd")
    graph.attention("transposed", heads, m, n, 24, b=b, e=40, layout="bshd", last=True, mask="queries")
    graph.attention("moved", heads, m, n, 16, b=b, last=True)
    return graph
