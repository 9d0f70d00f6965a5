"""MiniLM sentence embeddings as an ONNX model, built from the published weights with ``onnx.helper`` alone.

``sentence-transformers/all-MiniLM-L6-v2`` is a six-layer BERT encoder (384 features, 12 heads), a mean over the tokens that the attention
mask keeps, and a division by the Euclidean norm. The graph contains all of it: from token numbers to unit vectors. The weights stay in
their file: every trained initializer is external data, a range of ``model.safetensors``, so the model itself has 45 KB.
"""
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from legato.examples.minilm.weights import StoredTensor, model_directory, read_index

OPSET = 20
WEIGHTS = "model.safetensors"


class _Graph:
    """Collects nodes and initializers."""

    def __init__(self, index: dict[str, StoredTensor]):
        self.index = index
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}

    def add(self, operator: str, *inputs: str, name: str, **attributes) -> str:
        """Appends a node and returns the name of its output."""
        self.nodes.append(helper.make_node(operator, list(inputs), [f"{name}_output"], name=name, **attributes))
        return self.nodes[-1].output[0]

    def constant(self, name: str, value) -> str:
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def weight(self, name: str) -> str:
        """An initializer with the bytes of the tensor ``name`` in the safetensors file."""
        if name not in self.initializers:
            entry = self.index[name]
            if entry.dtype != "F32":
                raise ValueError(f"weight {name} is {entry.dtype}; this model is built for F32 weights")
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry.shape, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", WEIGHTS), ("offset", entry.offset), ("length", entry.length)):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor
        return name

    def linear(self, x: str, source: str, name: str) -> str:
        """``x @ weight.T + bias``: the file stores a linear layer's weight as [out, in]."""
        weight = self.add("Transpose", self.weight(f"{source}.weight"), name=f"{name}/Transpose", perm=[1, 0])
        product = self.add("MatMul", x, weight, name=f"{name}/MatMul")
        return self.add("Add", product, self.weight(f"{source}.bias"), name=f"{name}/Add")

    def layer_norm(self, x: str, source: str, epsilon: float, name: str) -> str:
        scale, bias = self.weight(f"{source}.weight"), self.weight(f"{source}.bias")
        return self.add("LayerNormalization", x, scale, bias, name=f"{name}/LayerNorm", axis=-1, epsilon=epsilon)


def build(batch: int | str = "batch", seq: int | str = "seq", directory: Path | None = None) -> onnx.ModelProto:
    """The model, with its weights as external data in ``model.safetensors`` beside the model's file.

    ``batch`` and ``seq`` are sizes, or names of dynamic dimensions. Inputs ``input_ids``, ``attention_mask``, ``token_type_ids``: int64
    [batch, seq], seq at most 512; output ``embeddings``: float32 [batch, 384], every row of length 1. ``directory`` contains
    ``model.safetensors`` and ``config.json``; by default that of the installed package.
    """
    directory = directory or model_directory()
    config = json.loads((directory / "config.json").read_text())
    g = _Graph(read_index(directory / WEIGHTS))
    hidden, mask_bias = _embeddings(g, config), _mask_bias(g)
    for number in range(config["num_hidden_layers"]):
        hidden = _encoder_layer(g, config, hidden, mask_bias, number)
    _pool(g, hidden)

    names = ("input_ids", "attention_mask", "token_type_ids")
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT64, [batch, seq]) for name in names]
    output = helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, [batch, config["hidden_size"]])
    graph = helper.make_graph(g.nodes, "all-MiniLM-L6-v2", tokens, [output], list(g.initializers.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10, producer_name="legato.examples.minilm")


def _embeddings(g: _Graph, config: dict) -> str:
    """Word + token type + position embeddings, normalized: [batch, seq, features]."""
    root = "embeddings"
    words = g.add("Gather", g.weight(f"{root}.word_embeddings.weight"), "input_ids", name="embeddings/words", axis=0)
    types = g.add("Gather", g.weight(f"{root}.token_type_embeddings.weight"), "token_type_ids", name="embeddings/types", axis=0)
    length = g.add("Shape", "input_ids", name="embeddings/length", start=1, end=2)
    table = g.weight(f"{root}.position_embeddings.weight")
    start, axis = g.constant("zero", np.array([0], np.int64)), g.constant("axis_0", np.array([0], np.int64))
    positions = g.add("Slice", table, start, length, axis, name="embeddings/positions")
    total = g.add("Add", g.add("Add", words, types, name="embeddings/add_types"), positions, name="embeddings/add_positions")
    return g.layer_norm(total, f"{root}.LayerNorm", config["layer_norm_eps"], "embeddings")


def _mask_bias(g: _Graph) -> str:
    """0 for tokens to attend to, the lowest float for padding: [batch, 1, 1, seq], added to the attention scores."""
    axes = g.constant("axes_1_2", np.array([1, 2], np.int64))
    mask = g.add("Unsqueeze", g.add("Cast", "attention_mask", name="mask/Cast", to=TensorProto.FLOAT), axes, name="mask/Unsqueeze")
    hidden = g.add("Sub", g.constant("one", np.float32(1)), mask, name="mask/Sub")
    return g.add("Mul", hidden, g.constant("lowest", np.finfo(np.float32).min), name="mask/Mul")


def _encoder_layer(g: _Graph, config: dict, x: str, mask_bias: str, number: int) -> str:
    source, name = f"encoder.layer.{number}", f"layer.{number}"
    heads = config["num_attention_heads"]
    size = config["hidden_size"] // heads
    split = g.constant("split_heads", np.array([0, 0, heads, size], np.int64))
    join = g.constant("join_heads", np.array([0, 0, heads * size], np.int64))

    def project(role: str, permutation: list[int]) -> str:
        projected = g.linear(x, f"{source}.attention.self.{role}", f"{name}/attention/{role}")
        divided = g.add("Reshape", projected, split, name=f"{name}/attention/{role}/Reshape")
        return g.add("Transpose", divided, name=f"{name}/attention/{role}/heads", perm=permutation)

    query, value = project("query", [0, 2, 1, 3]), project("value", [0, 2, 1, 3])
    key = project("key", [0, 2, 3, 1])
    scores = g.add("MatMul", query, key, name=f"{name}/attention/scores")
    scaled = g.add("Div", scores, g.constant("sqrt_head_size", np.float32(np.sqrt(size))), name=f"{name}/attention/scale")
    masked = g.add("Add", scaled, mask_bias, name=f"{name}/attention/mask")
    weights = g.add("Softmax", masked, name=f"{name}/attention/Softmax", axis=-1)
    context = g.add("MatMul", weights, value, name=f"{name}/attention/context")
    tokens_first = g.add("Transpose", context, name=f"{name}/attention/join", perm=[0, 2, 1, 3])
    joined = g.add("Reshape", tokens_first, join, name=f"{name}/attention/Reshape")
    attended = g.linear(joined, f"{source}.attention.output.dense", f"{name}/attention/output")
    x = g.add("Add", attended, x, name=f"{name}/attention/residual")
    x = g.layer_norm(x, f"{source}.attention.output.LayerNorm", config["layer_norm_eps"], f"{name}/attention")

    wide = g.add("Gelu", g.linear(x, f"{source}.intermediate.dense", f"{name}/wide"), name=f"{name}/Gelu")
    narrow = g.linear(wide, f"{source}.output.dense", f"{name}/narrow")
    x = g.add("Add", narrow, x, name=f"{name}/residual")
    return g.layer_norm(x, f"{source}.output.LayerNorm", config["layer_norm_eps"], name)


def _pool(g: _Graph, hidden: str) -> None:
    """The mean over the tokens of the mask, divided by its norm: ``embeddings`` [batch, features]."""
    axis = g.constant("axis_1", np.array([1], np.int64))
    mask = g.add("Cast", "attention_mask", name="pool/Cast", to=TensorProto.FLOAT)
    weights = g.add("Unsqueeze", mask, g.constant("axis_2", np.array([2], np.int64)), name="pool/Unsqueeze")
    total = g.add("ReduceSum", g.add("Mul", hidden, weights, name="pool/Mul"), axis, name="pool/total", keepdims=0)
    count = g.add("ReduceSum", mask, axis, name="pool/count", keepdims=1)
    mean = g.add("Div", total, g.add("Max", count, g.constant("least_count", np.float32(1e-9)), name="pool/Max"), name="pool/mean")
    norm = g.add("ReduceL2", mean, axis, name="pool/norm", keepdims=1)
    floor = g.add("Max", norm, g.constant("least_norm", np.float32(1e-12)), name="pool/least")
    g.nodes.append(helper.make_node("Div", [mean, floor], ["embeddings"], name="pool/normalize"))


def save(path: Path, model: onnx.ModelProto, directory: Path | None = None) -> Path:
    """Writes ``model`` to ``path``, with a copy of its weights file beside it unless there is one already. Returns ``path``.

    It is a copy because onnx does not accept a weights file that is a symbolic or hard link.
    """
    source, beside = (directory or model_directory()) / WEIGHTS, path.parent / WEIGHTS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    if not (beside.exists() and _same_file(source, beside)):
        shutil.copy2(source, beside)
    return path


def _same_file(source: Path, copy: Path) -> bool:
    a, b = source.stat(), copy.stat()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)
