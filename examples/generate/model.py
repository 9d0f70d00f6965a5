"""A decoder of the Llama kind with random weights as an ONNX model: one graph for the prompt and for single tokens.

The inputs are ``ids`` [1, seq] and, for each layer, the keys and values of the tokens before, [1, heads, past, width]; ``past`` may be 0.
The outputs are the ``logits`` [1, vocabulary] of the last token, and the keys and values of all tokens, which the next call takes.

In place, the keys and values are rooms for tokens, [1, heads, room, width], of which the first are taken, and ``at`` [1] is how many. The
outputs are the same rooms with the new tokens added: a ``TensorScatter``, for which the inputs can be donated.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, OPSET_IN_PLACE = 20, 24
FLOAT_BITS = 32
BLOCK = 32   # rows of a weight of few bits that share a scale


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes: of the vocabulary, of the features, of those between the two products of a layer, and the number of tokens at most."""

    vocabulary: int = 30522
    layers: int = 6
    features: int = 1024
    heads: int = 16
    hidden: int = 2816
    length: int = 512

    @property
    def width(self) -> int:
        """The features of a head."""
        return self.features // self.heads


class _DecoderGraph:
    """Collects nodes and initializers."""

    def __init__(self, bits: int, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.bits, self.random = bits, np.random.default_rng(seed)
        self.read = 0   # bytes of the weights of products

    def add(self, operator: str, name: str, *inputs: str, outputs: Sequence[str] = (), **attributes) -> str:
        """Appends a node and returns the name of its first output."""
        self.nodes.append(helper.make_node(operator, list(inputs), list(outputs) or [f"{name}_output"], name=name, **attributes))
        return self.nodes[-1].output[0]

    def constant(self, name: str, value) -> str:
        """Adds an initializer and returns its name."""
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def product(self, name: str, x: str, rows: int, columns: int) -> str:
        """x times a random weight, of floats or of blocks of few bits with a scale each."""
        weight = self.random.standard_normal((rows, columns), np.float32) / np.float32(np.sqrt(rows))
        if self.bits == FLOAT_BITS:
            self.read += weight.nbytes
            return self.add("MatMul", name, x, self.constant(f"{name}.weight", weight))
        packed, scales = quantized(weight, self.bits)
        self.read += packed.nbytes + scales.nbytes
        inputs = self.constant(f"{name}.weight", packed), self.constant(f"{name}.scales", scales)
        return self.add("MatMulNBits", name, x, *inputs, domain="com.microsoft", K=rows, N=columns, bits=self.bits, block_size=BLOCK)

    def norm(self, name: str, x: str, features: int) -> str:
        """x divided by its root mean square."""
        scale = self.constant(f"{name}.scale", np.ones(features, np.float32))
        return self.add("SimplifiedLayerNormalization", name, x, scale, axis=-1, epsilon=1e-5, stash_type=1)


def quantized(weight: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """A weight [rows, columns] as MatMulNBits has it: numbers [columns, blocks, bytes], two to a byte for 4 bits, and scales [columns,
    blocks]."""
    rows, columns = weight.shape
    blocks = weight.T.reshape(columns, rows // BLOCK, BLOCK)
    middle = 1 << (bits - 1)
    scales = (np.abs(blocks).max(-1) / (middle - 1)).astype(np.float32)
    numbers = np.clip(np.rint(blocks / scales[..., None]) + middle, 0, 2 * middle - 1).astype(np.uint8)
    return (numbers[..., ::2] | numbers[..., 1::2] << 4 if bits == 4 else numbers), scales


def build(config: DecoderConfig, bits: int = FLOAT_BITS, seed: int = 0, in_place: bool = False) -> tuple[onnx.ModelProto, int]:
    """The model with weights of 32 (floats), 8 or 4 bits, and the bytes of the weights that each token reads. ``in_place``: with rooms for
    keys and values, which it writes to."""
    graph = _DecoderGraph(bits, seed)
    table = graph.constant("tokens.weight", graph.random.standard_normal((config.vocabulary, config.features), np.float32))
    x = graph.add("Gather", "tokens", table, "ids")
    turns, mask = _positions(graph, config, in_place)
    caches = []
    for i in range(config.layers):
        past = [f"past.{i}.key", f"past.{i}.value"]
        present = [f"present.{i}.key", f"present.{i}.value"]
        attended = _attention(graph, f"layers.{i}.attention", x, config, turns, mask, past, present, in_place)
        x = graph.add("Add", f"layers.{i}.attention.add", x, attended)
        x = graph.add("Add", f"layers.{i}.mlp.add", x, _mlp(graph, f"layers.{i}.mlp", x, config))
        caches += zip(past, present)
    last = graph.add("Gather", "last", x, graph.constant("last_place", np.int64(-1)), axis=1)
    logits = graph.product("head", graph.norm("norm", last, config.features), config.features, config.vocabulary)
    graph.add("Identity", "logits", logits, outputs=["logits"])

    def cache(name: str, length: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, config.heads, length, config.width])

    before, after = ("room", "room") if in_place else ("past", "past + seq")
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "seq"]), *(cache(past, before) for past, _ in caches)]
    if in_place:
        inputs.insert(1, helper.make_tensor_value_info("at", TensorProto.INT64, [1]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, config.vocabulary]),
               *(cache(present, after) for _, present in caches)]
    opsets = [helper.make_opsetid("", OPSET_IN_PLACE if in_place else OPSET), helper.make_opsetid("com.microsoft", 1)]
    whole = helper.make_graph(graph.nodes, "decoder", inputs, outputs, graph.initializers)
    return helper.make_model(whole, opset_imports=opsets, ir_version=10), graph.read


def _positions(graph: _DecoderGraph, config: DecoderConfig, in_place: bool) -> tuple[tuple[str, str], str]:
    """The cosines and sines of the tokens' places, [seq, width / 2], and the mask of those before, [seq, past + seq] or [seq, room], 0 or
    -inf."""
    angles = np.outer(np.arange(config.length), 10000.0 ** (-np.arange(config.width // 2) / (config.width // 2)))
    zero, one = graph.constant("zero", np.int64(0)), graph.constant("one", np.int64(1))
    size = graph.add("Squeeze", "size", graph.add("Shape", "past_shape", "past.0.key", start=2, end=3))
    past = graph.add("Squeeze", "past", "at") if in_place else size
    count = graph.add("Squeeze", "count", graph.add("Shape", "ids_shape", "ids", start=1, end=2))
    total = graph.add("Add", "total", past, count)
    places = graph.add("Range", "places", past, total, one)
    tables = (graph.constant(name, values.astype(np.float32)) for name, values in (("cosines", np.cos(angles)), ("sines", np.sin(angles))))
    cosines, sines = (graph.add("Gather", f"{table}_of_places", table, places) for table in tables)
    axis = graph.constant("axis", np.array([1], np.int64))
    before = graph.add("Range", "all_places", zero, size if in_place else total, one)
    later = graph.add("Greater", "later", before, graph.add("Unsqueeze", "rows", places, axis))
    mask = graph.add("Where", "mask", later, graph.constant("hidden", np.float32(-np.inf)), graph.constant("seen", np.float32(0)))
    return (cosines, sines), mask


def _attention(graph: _DecoderGraph, name: str, x: str, config: DecoderConfig, turns: tuple[str, str], mask: str, past: Sequence[str],
               present: Sequence[str], in_place: bool) -> str:
    normed = graph.norm(f"{name}.norm", x, config.features)
    split = graph.constant(f"{name}.split", np.array([1, -1, config.heads, config.width], np.int64))

    def heads(part: str) -> str:
        rows = graph.product(f"{name}.{part}", normed, config.features, config.features)
        return graph.add("Transpose", f"{name}.{part}_heads", graph.add("Reshape", f"{name}.{part}_split", rows, split), perm=[0, 2, 1, 3])

    q, k, v = (heads(part) for part in "qkv")
    q, k = (_turned(graph, f"{name}.{part}", value, turns) for part, value in (("q", q), ("k", k)))
    keys, values = (graph.add("TensorScatter", f"{name}.{part}_all", old, new, "at", axis=2, outputs=[kept]) if in_place else
                    graph.add("Concat", f"{name}.{part}_all", old, new, axis=2, outputs=[kept])
                    for part, old, new, kept in zip("kv", past, (k, v), present))
    scaled = graph.add("Mul", f"{name}.scale", q, graph.constant(f"{name}.factor", np.float32(config.width ** -0.5)))
    scores = graph.add("MatMul", f"{name}.scores", scaled, graph.add("Transpose", f"{name}.columns", keys, perm=[0, 1, 3, 2]))
    weights = graph.add("Softmax", f"{name}.softmax", graph.add("Add", f"{name}.mask", scores, mask), axis=-1)
    merged = graph.add("Transpose", f"{name}.rows", graph.add("MatMul", f"{name}.mix", weights, values), perm=[0, 2, 1, 3])
    flat = graph.add("Reshape", f"{name}.merge", merged, graph.constant(f"{name}.flat", np.array([1, -1, config.features], np.int64)))
    return graph.product(f"{name}.o", flat, config.features, config.features)


def _turned(graph: _DecoderGraph, name: str, x: str, turns: tuple[str, str]) -> str:
    """Rotary embedding: the halves of the features are turned by the angles of their place."""
    first, second = f"{name}_first", f"{name}_second"
    graph.add("Split", f"{name}.halves", x, outputs=[first, second], axis=-1, num_outputs=2)
    cosines, sines = turns

    def part(label: str, a: str, b: str, operator: str) -> str:
        return graph.add(operator, f"{name}.{label}", graph.add("Mul", f"{name}.{label}_cos", a, cosines),
                         graph.add("Mul", f"{name}.{label}_sin", b, sines))

    return graph.add("Concat", f"{name}.turned", part("real", first, second, "Sub"), part("imaginary", second, first, "Add"), axis=-1)


def _mlp(graph: _DecoderGraph, name: str, x: str, config: DecoderConfig) -> str:
    normed = graph.norm(f"{name}.norm", x, config.features)
    gate, up = (graph.product(f"{name}.{part}", normed, config.features, config.hidden) for part in ("gate", "up"))
    active = graph.add("Mul", f"{name}.silu", gate, graph.add("Sigmoid", f"{name}.sigmoid", gate))
    return graph.product(f"{name}.down", graph.add("Mul", f"{name}.mul", active, up), config.hidden, config.features)
