"""Attention as one kernel against onnxruntime, in the graphs that exporters write. All cases of a test are one model."""
from collections.abc import Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")]
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

    def attention(self, name: str, h, m, n, d, *, b=1, e=None, mask="", scale="scores", layout="bhsd", group=1, last=False) -> None:
        """One attention. ``scale``: what is multiplied by it; ``layout``: of the operands, "bshd" with transposes before and after,
        "columns" with keys [b, h, d, n]; ``group``: heads that share keys and values; ``last``: the result is transposed."""
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
        elif mask == "lowest":
            x = self.node("Where", [self.input(f"{name}_where", [b, 1, 1, n], TensorProto.BOOL), x, self.number(-1e4)])
        elif mask:
            x = self.node("Add", [x, self.input(f"{name}_mask", [sizes[letter] for letter in MASKS[mask]])])
        y = self.node("MatMul", [self.node("Softmax", [x], axis=-1), v])
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
    explained = legato.explain(legato.from_onnx(graph.model), target=target)
    calls = [kernel for kernel in explained.kernels if kernel.kernel.startswith(FUSED)]
    assert sum(1 for kernel in calls for op in kernel.ops if "softmax" in op) == (len(graph.outputs) if fused is None else fused)
    compiled = legato.compile(legato.from_onnx(graph.model), target=target)
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number, given in enumerate(sizes):
        arrays = graph.arrays(given, number, **how)
        expected, found = session.run(None, arrays), compiled(*arrays.values())
        found = [found] if len(graph.outputs) == 1 else found
        for output, a, b in zip(graph.outputs, expected, found, strict=True):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            assert a.shape == b.shape, output.name
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b), f"{output.name} {given}: NaN")
            assert np.abs(np.nan_to_num(a) - np.nan_to_num(b)).max(initial=0) < tolerance, f"{output.name} {given}"


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


@pytest.mark.parametrize("target", LEVELS_HERE)
def test_masks_and_layouts(target):
    check(everything(21, 39), target)


@pytest.mark.parametrize("target", ["llvm{cpu=x86-64-v3}", "llvm{threads=2}"])
def test_symbolic_sizes(target):
    sizes = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 5, 7), (1, 33, 64), (3, 3, 530), (1, 100, 17), (2, 1, 300), (2, 5, 0))]
    check(everything("m", "n", "b", masks=("padding", "full", "where")), target, sizes)


@pytest.mark.parametrize("target", [*LEVELS_HERE, "llvm{threads=2}"])
def test_sizes(target):
    """One block and several, whole ones and parts, of keys and of queries; depths that are no multiple of a vector."""
    graph = Graph()
    for m, n, d, e in ((12, 32, 40, 24), (13, 65, 64, 80), (16, 1030, 16, 16), (200, 300, 20, 20), (1100, 70, 8, 8), (30, 700, 128, 256),
                       (25, 90, 3, 5), (8, 64, 1, 1)):
        graph.attention(f"{m}x{n}x{d}x{e}", 2, m, n, d, e=e)
        if n >= 64:
            graph.attention(f"{m}x{n}x{d}x{e}_columns", 2, m, n, d, e=e, layout="columns")
    check(graph, target)


def test_few_rows():
    """One by one, where keys and values lie: static numbers and one known at run time, depths that are no multiple of a vector."""
    graph = Graph()
    for m, n, d, e in ((1, 70, 64, 64), (4, 1030, 20, 100), (3, 40, 3, 5), (1, 33, 8, 8), ("m", "n", 40, 24)):
        graph.attention(f"{m}x{n}x{d}x{e}", 2, m, n, d, e=e, mask="where")
    graph.attention("grouped", 4, 1, 70, 16, group=2, mask="keys")
    graph.attention("moved", 2, 2, 70, 16, layout="bshd", last=True, scale="query")
    check(graph, "llvm", [{"m": m, "n": n} for m, n in ((1, 700), (4, 17), (5, 64), (2, 1))])


def test_hidden_keys_are_not_read():
    """-inf before the first and behind the last visible key: what is there may be NaN. Each row sees fewer keys than the one before."""
    graph, n = Graph(), 1300
    graph.attention("added", 2, "m", "n", 16, mask="causal")
    graph.attention("where", 2, "m", "n", 16, mask="where")
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for m, first, end in ((1, 0, 700), (1, 650, 1201), (3, 5, 9), (40, 300, 1300), (40, 1299, 1300)):
        arrays = graph.arrays({"m": m, "n": n}, kept=1)
        seen = (np.arange(n) >= first) & (np.arange(n) < np.maximum(end - np.arange(m), first + 1)[:, None])
        arrays["added_mask"], arrays["where_where"] = np.where(seen, arrays["added_mask"], np.float32(-np.inf)), seen[None, None]
        expected = session.run(None, arrays)
        for name in ("added_k", "added_v", "where_k", "where_v"):   # vectors in which one key is seen are read
            arrays[name][:, :, :first // 16 * 16] = arrays[name][:, :, end + 16:] = np.nan
        for a, b in zip(expected, compiled(*arrays.values()), strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5, err_msg=f"{m} {first} {end}")


def test_grouped_heads():
    graph = Graph()
    graph.attention("grouped", 8, 20, 70, 16, group=4, mask="queries")
    graph.attention("transposed", 8, 20, 70, 16, group=4, mask="queries", layout="bshd", last=True)
    graph.attention("one", 4, 20, 70, 16, group=4)
    check(graph, "llvm")


def test_halves():
    graph = Graph(np.float16)
    graph.attention("static", 3, 20, 70, 32, mask="keys", layout="bshd", last=True)
    graph.attention("symbolic", 3, "m", "n", 32, mask="where")
    check(graph, "llvm", [{"m": 30, "n": 600}, {"m": 1, "n": 20}], tolerance=4e-3)


def test_brain_floats():
    """onnxruntime has no matmul of bf16: in f32, of the same numbers."""
    graph, wide = Graph(ml_dtypes.bfloat16), Graph()
    for one in (graph, wide):
        one.attention("y", 3, 20, 70, 32, mask="keys", layout="bshd", last=True)
    arrays = graph.arrays()
    session = onnxruntime.InferenceSession(wide.model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected, = session.run(None, {name: array.astype(np.float32) for name, array in arrays.items()})
    found = np.asarray(legato.compile(legato.from_onnx(graph.model), target="llvm")(*arrays.values())).astype(np.float32)
    assert np.abs(found - np.asarray(expected)).max() < 3e-2


@pytest.mark.parametrize("n", [40, 1300])
def test_rows_without_keys_and_nans(n):
    """-inf for all keys of a row, or of whole blocks: NaN where the single ops give NaN. NaN and infinities among scores and values."""
    graph = Graph()
    graph.attention("where", 2, 20, n, 16, mask="where")
    graph.attention("added", 2, 20, n, 16, mask="queries", scale="")
    check(graph, "llvm", kept=0.0)
    check(graph, "llvm", kept=2 / n)
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays(kept=1)
    arrays["where_where"][0, 0, 3], arrays["where_where"][0, 0, 4, :n - 1] = False, False
    mask = arrays["added_mask"][0, 0]
    mask[2, n // 2], mask[3, 0], mask[4, n - 1], mask[5] = np.nan, np.inf, np.inf, -np.inf
    arrays["added_v"][0, 0, 1, 3] = np.nan
    arrays["added_q"][0, 1, 7] = np.inf
    for a, b in zip(session.run(None, arrays), compiled(*arrays.values())):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), atol=2e-5)


def test_scores_far_below_the_maximum():
    """Exponentials that are denormal or 0, and maxima that grow from block to block of keys."""
    graph = Graph()
    graph.attention("y", 1, 16, 1400, 8, mask="queries", scale="")
    compiled = legato.compile(legato.from_onnx(graph.model), target="llvm")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays(kept=1)
    arrays["y_mask"][:] = np.linspace(-150, 150, 1400, dtype=np.float32)
    arrays["y_mask"][0, 0, 8:] *= -1
    expected, = session.run(None, arrays)
    np.testing.assert_allclose(np.asarray(compiled(*arrays.values())), np.asarray(expected), atol=2e-5)


def test_what_is_not_fused():
    """Few queries of transposed keys, weights, results with other readers, and softmax over another axis stay kernels of their own."""
    graph = Graph()
    graph.attention("few", 2, 1, 64, 16, layout="columns")
    q, k, v = (graph.input(x, (2, 40, 40)) for x in ("a", "b", "c"))
    p = graph.node("Softmax", [graph.node("MatMul", [q, k])], axis=-1)
    across = graph.node("Softmax", [graph.node("MatMul", [q, k])], axis=1)
    weights = graph.constant(np.ones((40, 40), np.float32))
    fixed = graph.node("Softmax", [graph.node("MatMul", [q, weights])], axis=-1)
    for name, x, y in (("probabilities", p, k), ("read_twice", p, v), ("across", across, v), ("weights", fixed, weights)):
        graph.nodes.append(helper.make_node("MatMul", [x, y], [name], name=name))
        graph.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 40, 40)))
    check(graph, "llvm", fused=0)


@pytest.mark.parametrize("size, order", [("b", [0, 1, 3, 2]), (2, [0, 3, 1, 2])])
def test_results_that_are_transposed(size, order):
    """Channels before positions, as convolutions read them (SqueezeBERT): columns of values are no neighbours in the result."""
    tensors = ", ".join(f"float[{size}, 12, 4, 8] {name}0" for name in "qkv")
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 18]>
      g ({tensors}, float[{size}, 1, 12, 12] mask) => (float[w, x, y, z] result) {{
        q = Transpose<perm = [0, 2, 1, 3]>(q0) k = Transpose<perm = [0, 2, 3, 1]>(k0) v = Transpose<perm = [0, 2, 1, 3]>(v0)
        scores = MatMul(q, k) masked = Add(scores, mask) p = Softmax<axis = -1>(masked) o = MatMul(p, v)
        result = Transpose<perm = {order}>(o) }}""")
    rng = np.random.default_rng(0)
    arrays = {f"{name}0": rng.standard_normal((2, 12, 4, 8)).astype(np.float32) for name in "qkv"}
    arrays["mask"] = rng.standard_normal((2, 1, 12, 12)).astype(np.float32)
    expected, = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, arrays)
    np.testing.assert_allclose(np.asarray(legato.compile(legato.from_onnx(model), target="llvm")(**arrays)), expected, atol=2e-5)


def test_option():
    """fuse-attention=false leaves the kernels one by one, with the same results."""
    check(everything(21, 39), "llvm{fuse-attention=false}", fused=0)


def test_names():
    """Explanations name the ops that became one kernel, by the model's names."""
    graph = Graph()
    graph.attention("y", 2, 20, 64, 16, mask="keys", layout="bshd", last=True)
    kernel, = legato.explain(legato.from_onnx(graph.model), target="llvm").kernels
    assert kernel.kernel == FUSED and kernel.form == "scheduled"
    assert [op.split()[0] for op in kernel.ops] == [
        *["relax.permute_dims"] * 3, "relax.matmul", "relax.multiply", "relax.add", "relax.softmax", "relax.matmul", "relax.permute_dims"]
    assert kernel.ops[6] == "relax.softmax Softmax6"
