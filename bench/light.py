"""The nine light models of the onnx package, with weights that give meaningful results.

As shipped (``onnx/backend/test/data/light``) their weights are ``ConstantOfShape`` nodes, all 0.02: every class gets probability 0.001,
even from a wrong compiler. Here each such node, and each stored parameter of a layer, is replaced by an initializer from a seeded
generator: He's deviation for the weights of convolutions and dense layers, plausible statistics for batch normalization, so that
activations keep about their size from the image to the logits.
"""
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DIRECTORY = Path(onnx.__file__).parent / "backend/test/data/light"
NAMES = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512")
# Factors for the last layer's weights, relative to He's deviation, that give logits a deviation between 1 and 2: large enough for the
# softmax to be not uniform, and small enough that no class gets all of the probability.
LAST_GAIN = dict(zip(NAMES, (0.3, 1.0, 0.4, 0.4, 4.0, 0.15, 2.0, 0.5, 1.0)))


def shipped(name: str) -> onnx.ModelProto:
    """The light model ``name`` (one of NAMES) as shipped with the onnx package."""
    return onnx.load(DIRECTORY / f"light_{name}.onnx")


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The light model ``name`` with random weights in the model (vgg19: 575 MB)."""
    model, weights = _split(name, seed)
    model.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in weights)
    return model


def save(name: str, path: Path, seed: int = 0) -> Path:
    """Writes the model of ``build`` to ``path``, with its weights in ``<path>.data`` as external data, one at a time. Returns
    ``path``."""
    model, weights = _split(name, seed)
    data = path.with_name(path.name + ".data")
    with open(data, "wb") as file:
        for key, array in weights:
            file.write(b"\0" * (-file.tell() % 64))
            tensor = TensorProto(name=key, data_type=TensorProto.FLOAT, dims=array.shape, data_location=TensorProto.EXTERNAL)
            for entry, value in (("location", data.name), ("offset", file.tell()), ("length", array.nbytes)):
                tensor.external_data.add(key=entry, value=str(value))
            model.graph.initializer.append(tensor)
            array.tofile(file)
    path.write_bytes(model.SerializeToString())
    return path


def image(model: onnx.ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    """A random input for a light model, by input name: float32 [1, 3, 224, 224], patches of 28 by 28 with noise."""
    stored = {tensor.name for tensor in model.graph.initializer}
    (value,) = (value for value in model.graph.input if value.name not in stored)
    generator = np.random.default_rng(seed)
    patches = np.kron(generator.standard_normal((1, 3, 8, 8), np.float32), np.ones((28, 28), np.float32))
    return {value.name: patches + np.float32(0.3) * generator.standard_normal(patches.shape, np.float32)}


def _split(name: str, seed: int) -> tuple[onnx.ModelProto, Iterator[tuple[str, np.ndarray]]]:
    """The model without its weights, and the new weights, generated on demand."""
    model = shipped(name)
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    shapes = {name: tuple(tensor.dims) for name, tensor in stored.items() if tensor.data_type == TensorProto.FLOAT}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(int(size) for size in numpy_helper.to_array(stored[node.input[0]]))
    roles = _roles(graph, shapes)

    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    used = {name for node in nodes for name in node.input}
    inputs = [value for value in graph.input if value.name in used and value.name not in stored]
    others = [tensor for name, tensor in stored.items() if name in used and name not in roles]
    result = helper.make_model(
        helper.make_graph(nodes, graph.name, inputs, list(graph.output), others), opset_imports=model.opset_import, ir_version=8
    )
    last = _last_weight(graph)

    def draw() -> Iterator[tuple[str, np.ndarray]]:
        for key, role in roles.items():
            weight = _draw(role, shapes[key], _generator(seed, key))
            yield key, weight * np.float32(LAST_GAIN[name]) if key == last else weight

    return result, draw()


def _generator(seed: int, key: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(key.encode())])


def _roles(graph: onnx.GraphProto, shapes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """The use of each weight of ``shapes``, determined by the node that reads it, possibly through an Unsqueeze or a Reshape."""
    by_position = {
        "Conv": (None, "conv", "shift"),
        "Gemm": (None, "dense", "shift"),
        "BatchNormalization": (None, "scale", "shift", "shift", "variance"),
        "Mul": ("scale", "scale"),
        "Add": ("shift", "shift"),
    }
    source = _reshaped(graph)
    roles = {}
    summed = {name for node in graph.node if node.op_type == "Sum" for name in node.input}
    for node in graph.node:
        for role, name in zip(by_position.get(node.op_type, ()), node.input):
            name = source.get(name, name)
            if name not in shapes or role is None:
                continue
            if role == "scale" and node.output[0] in summed:
                role = "branch"
            roles[name] = role
    return roles


def _reshaped(graph: onnx.GraphProto) -> dict[str, str]:
    return {node.output[0]: node.input[0] for node in graph.node if node.op_type in ("Unsqueeze", "Reshape")}


def _last_weight(graph: onnx.GraphProto) -> str:
    name = [node.input[1] for node in graph.node if node.op_type in ("Conv", "Gemm")][-1]
    return _reshaped(graph).get(name, name)


def _draw(role: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if role in ("scale", "variance"):
        return generator.uniform(0.8, 1.2, shape).astype(np.float32)
    if role == "branch":  # unscaled branches would double the activations at every other of the sixteen residual sums
        return generator.uniform(0.2, 0.4, shape).astype(np.float32)
    if role == "shift":
        return generator.standard_normal(shape, np.float32) * np.float32(0.1)
    fan_in = shape[-1] if role == "dense" else int(np.prod(shape[1:]))
    deviation = np.sqrt(2.0 / fan_in)
    return generator.standard_normal(shape, np.float32) * np.float32(deviation)
