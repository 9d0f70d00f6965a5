"""Single matmuls and convolutions compiled by the standard pipeline: ``python -m bench.kernels [WORD...]``.

Each is an ONNX model of one layer with bias and relu, compiled for one thread, and timed by calling the executable. Convolutions take and
return NHWC images, between transpositions that the compiler removes, so that the layer is measured as inside a network. The peak is that
of a loop of independent FMAs, measured in the same run, before and after each layer.
"""
import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

import legato
from legato.codegen.peak import measure_peak

from .timing import in_turns


@dataclass(frozen=True)
class Layer:
    """A layer: its model, the shape of its input, and the floating-point operations of its contraction."""

    name: str
    model: Callable[[], ModelProto]
    shape: tuple[int, ...]
    operations: int


def _random(*shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32) * np.float32(scale)


def _model(nodes, shape, result, **weights: np.ndarray) -> ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    inputs, outputs = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)] for name, sizes in (("x", shape), ("y", result)))
    graph = helper.make_graph([helper.make_node(*node[:3], **node[3]) for node in nodes], "layer", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def matmul(m: int, n: int, k: int) -> Layer:
    """A matrix product [m, k] x [k, n] with bias and relu."""
    def model() -> ModelProto:
        nodes = [("MatMul", ["x", "w"], ["p"], {}), ("Add", ["p", "b"], ["s"], {}), ("Relu", ["s"], ["y"], {})]
        return _model(nodes, [m, k], [m, n], w=_random(k, n, scale=k**-0.5), b=_random(n))

    return Layer(f"matmul {m}x{n}x{k}", model, (m, k), 2 * m * n * k)


def conv(size: int, inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> Layer:
    """A convolution of a square image with bias and relu."""
    made = (size - 1) // stride + 1

    def model() -> ModelProto:
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [(kernel - 1) // 2] * 4}
        nodes = [
            ("Transpose", ["x"], ["first"], {"perm": [0, 3, 1, 2]}),
            ("Conv", ["first", "w", "b"], ["c"], window),
            ("Relu", ["c"], ["r"], {}),
            ("Transpose", ["r"], ["y"], {"perm": [0, 2, 3, 1]}),
        ]
        weight = _random(outputs, inputs, kernel, kernel, scale=(inputs * kernel**2) ** -0.5)
        return _model(nodes, [1, size, size, inputs], [1, made, made, outputs], w=weight, b=_random(outputs))

    operations = 2 * made * made * outputs * inputs * kernel * kernel
    return Layer(f"conv {size}x{size} {inputs}->{outputs} {kernel}x{kernel}/{stride}", model, (1, size, size, inputs), operations)


LAYERS = (
    matmul(384, 512, 512),
    matmul(128, 3072, 768),
    conv(56, 64, 64),
    conv(28, 128, 128),
    conv(14, 256, 1024, 1),
    conv(56, 128, 128, 3, 2),
    conv(7, 512, 512),
)


def measure(layer: Layer) -> str:
    """Measures a layer. Returns one line of the table."""
    proto = layer.model()
    executable = legato.compile(legato.from_onnx(proto), target="llvm{threads=1}", cache=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = _random(*layer.shape)
    expected = np.asarray(session.run(None, {"x": x})[0])
    error = np.abs(np.from_dlpack(executable(x)) - expected).max() / np.abs(expected).max()
    peak = measure_peak()
    ours, theirs = in_turns([lambda: executable(x), lambda: session.run(None, {"x": x})], seconds=1.0, rounds=50)
    peak = max(peak, measure_peak())
    speed = layer.operations / ours / 1e9
    return f"{layer.name:28} {ours * 1e6:9.1f} {theirs * 1e6:9.1f} {speed:8.1f} {peak:8.1f} {speed / peak:7.0%} {error:9.1e}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only layers whose name contains all of these words")
    words = parser.parse_args().words
    print(f"{'':28} {'ours us':>9} {'ort us':>9} {'GFLOP/s':>8} {'peak':>8} {'of it':>7} {'error':>9}")
    for layer in LAYERS:
        if all(word in layer.name for word in words):
            print(measure(layer), flush=True)


if __name__ == "__main__":
    main()
