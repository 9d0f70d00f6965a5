"""Products with weights of few bits beside onnxruntime and f32: ``python -m bench.nbits [TARGET [LEVEL]]``.

Each is one MatMulNBits. One row is bound by reading the weight: the table has the rate of its bytes, and that of a copy in the same
run, which reads and writes. Many rows are bound by arithmetic: the same product by a weight of f32. LEVEL is the model's
accuracy_level: with 4, both sides round rows to bytes. One thread, medians of alternating calls.
"""
import sys

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

import legato

from .timing import in_turns

RNG = np.random.default_rng(0)
PRODUCTS = ((1, 4096, 11008, 4, 32, False), (1, 4096, 11008, 4, 128, False), (1, 4096, 11008, 4, 32, True), (1, 4096, 11008, 8, 128, False),
            (16, 4096, 4096, 4, 32, False), (128, 768, 3072, 4, 32, False))  # rows, depth, columns, bits, block, zero points


def model(nodes: list, rows: int, depth: int, columns: int, weights: dict[str, np.ndarray]) -> ModelProto:
    """A model of x [rows, depth] and its product y."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [rows, depth]), ("y", [rows, columns])))
    graph = helper.make_graph(nodes, "product", [x], [y], [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def quantized(rows: int, depth: int, columns: int, bits: int, block: int, zeros: bool, level: int = 0) -> tuple[ModelProto, int]:
    """A MatMulNBits, and the bytes of its weight. ``level``: its accuracy_level."""
    blocks = -(-depth // block)
    weights = {"w": RNG.integers(0, 256, (columns, blocks, block * bits // 8), np.uint8),
               "s": (RNG.random((columns, blocks)) * 0.1).astype(np.float32)}
    if zeros:
        weights["z"] = RNG.integers(0, 256, (columns, -(-blocks * bits // 8)), np.uint8)
    node = helper.make_node("MatMulNBits", ["x", *weights], ["y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block,
                            accuracy_level=level)
    return model([node], rows, depth, columns, weights), sum(array.nbytes for array in weights.values())


def session(proto: ModelProto) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main(target: str, level: int) -> None:
    """Prints a line for each product."""
    source = RNG.standard_normal(1 << 25, np.float32)
    copied = np.empty_like(source)
    print(f"{target}: milliseconds\n{'rows x depth x columns':24} bits block zeros  legato  onnxruntime    f32   GB/s  copy GB/s")
    for rows, depth, columns, bits, block, zeros in PRODUCTS:
        proto, size = quantized(rows, depth, columns, bits, block, zeros, level)
        plain = model([helper.make_node("MatMul", ["x", "w"], ["y"])], rows, depth, columns,
                      {"w": RNG.standard_normal((depth, columns), np.float32)})
        ours, floats = (legato.compile(legato.from_onnx(one), target) for one in (proto, plain))
        theirs = session(proto)
        x = RNG.standard_normal((rows, depth), np.float32)
        calls = (lambda: ours(x), lambda: theirs.run(None, {"x": x}), lambda: floats(x), lambda: np.copyto(copied, source))  # noqa: B023 - called here
        times = in_turns(calls, seconds=1.0, rounds=5)
        milliseconds = "".join(f"{time * 1e3:10.2f}" for time in times[:3])
        print(f"{rows:5} x {depth} x {columns:<8} {bits:6} {block:5} {zeros!s:6}{milliseconds}{size / times[0] / 1e9:8.1f}"
              f"{2 * source.nbytes / times[3] / 1e9:9.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "llvm", int(sys.argv[2]) if len(sys.argv) > 2 else 0)
