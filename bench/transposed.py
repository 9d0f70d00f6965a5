"""Transposed convolutions beside onnxruntime: ``python -m bench.transposed [TARGET] [NAME...]``.

Each is one ConvTranspose with a bias, of a shape that models have. One thread, medians of alternating calls.
"""
import sys

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import legato

from .nbits import session
from .timing import in_turns

RNG = np.random.default_rng(0)
LAYERS = {  # x, w, stride, padding, output padding
    "unet 2x2 s2, 64": ((1, 128, 64, 64), (128, 64, 2, 2), 2, 0, 0),
    "unet 2x2 s2, 32": ((1, 256, 32, 32), (256, 128, 2, 2), 2, 0, 0),
    "dcgan 4x4 s2, 16": ((1, 256, 16, 16), (256, 128, 4, 4), 2, 1, 0),
    "dcgan 4x4 s2, last": ((1, 64, 32, 32), (64, 3, 4, 4), 2, 1, 0),
    "3x3 s2, 28": ((1, 128, 28, 28), (128, 64, 3, 3), 2, 1, 1),
    "vocoder k16 s8": ((1, 512, 100), (512, 256, 16), 8, 4, 0),
    "vocoder k4 s2": ((1, 64, 4000), (64, 32, 4), 2, 1, 0),
    "3-D 3x3x3 s2": ((1, 32, 12, 12, 12), (32, 32, 3, 3, 3), 2, 1, 1),
    "3-D 2x2x2 s2": ((1, 64, 12, 12, 12), (64, 32, 2, 2, 2), 2, 0, 0),
}


def model(shape: tuple[int, ...], kernel: tuple[int, ...], stride: int, padding: int, extra: int) -> ModelProto:
    """A model of x and its transposed convolution y."""
    rank = len(kernel) - 2
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[stride] * rank, pads=[padding] * 2 * rank,
                            output_padding=[extra] * rank)
    weights = [numpy_helper.from_array(RNG.standard_normal(size).astype(np.float32) * np.float32(0.05), name)
               for name, size in (("w", kernel), ("b", kernel[1:2]))]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in (("x", shape), ("y", None)))
    graph = helper.make_graph([node], "layer", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def main(target: str, names: list[str]) -> None:
    """Prints a line for each layer."""
    print(f"{target}: milliseconds\n{'layer':20}  legato  onnxruntime  ratio  GFLOP/s  greatest difference")
    for name in names:
        shape, kernel, *how = LAYERS[name]
        proto = model(shape, kernel, *how)
        ours, theirs, x = legato.compile(legato.from_onnx(proto), target), session(proto), RNG.standard_normal(shape).astype(np.float32)
        off = float(np.abs(ours(x) - np.asarray(theirs.run(None, {"x": x})[0])).max())
        mine, other = in_turns((lambda: ours(x), lambda: theirs.run(None, {"x": x})), seconds=0.5, rounds=5)  # noqa: B023 - called here
        rate = 2 * np.prod(shape) * np.prod(kernel[1:]) / mine / 1e9
        print(f"{name:20}  {mine * 1e3:6.2f}  {other * 1e3:11.2f}  {mine / other:5.2f}  {rate:7.1f}  {off:.0e}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "llvm", sys.argv[2:] or list(LAYERS))
