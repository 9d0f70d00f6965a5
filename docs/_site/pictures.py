"""The pictures of README.md, drawn by ``legato.view``: ``python docs/_site/pictures.py`` writes them to docs/_static."""
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import legato

FOLDER = Path(__file__).resolve().parents[1] / "_static"
TARGET = "llvm{cpu=x86-64-v3}"   # one CPU, so that the pictures are the same everywhere


def model() -> ModelProto:
    """The second half of a transformer's layer: normalization, two products with GELU between them, and a skip connection."""
    shapes = {"scale": (256,), "shift": (256,), "w1": (256, 1024), "b1": (1024,), "w2": (1024, 256), "b2": (256,)}
    weights = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in shapes.items()]
    nodes = [helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], name="/norm"),
             helper.make_node("Gemm", ["n", "w1", "b1"], ["h"], name="/fc1"), helper.make_node("Gelu", ["h"], ["g"], name="/act"),
             helper.make_node("Gemm", ["g", "w2", "b2"], ["f"], name="/fc2"), helper.make_node("Add", ["f", "x"], ["y"], name="/skip")]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", 256]) for name in "xy"]
    graph = helper.make_graph(nodes, "layer", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def pictures() -> dict[str, str]:
    """The pictures as SVG, by the names of their files: the graph as imported, and its kernels."""
    module = legato.from_onnx(model())
    return {"layer.svg": legato.view(module).svg(), "layer-kernels.svg": legato.view(legato.lower(module, TARGET, last="fused")).svg()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (FOLDER / name).write_text(text)
