"""Pools of channels-last images of unknown sizes against onnxruntime, compiled as users do. All cases are one model."""
import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, "")]
# the pool, channels, the least sizes, and its attributes
CASES = [
    ("MaxPool", 64, (5, 4), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    ("MaxPool", 37, (3, 3), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", 16, (7, 9), {"kernel_shape": [3, 5], "dilations": [2, 2], "pads": [1, 3, 0, 2]}),
    ("AveragePool", 24, (4, 6), {"kernel_shape": [3, 3], "pads": [1] * 4}),
    ("AveragePool", 64, (4, 4), {"kernel_shape": [3, 2], "strides": [1, 3], "pads": [1, 0, 2, 1], "count_include_pad": 1}),
    ("AveragePool", 40, (6, 5), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", 32, (3, 4, 5), {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "pads": [1] * 6}),
    ("AveragePool", 17, (3, 3, 3), {"kernel_shape": [1, 2, 3], "pads": [0, 1, 1, 0, 0, 1]}),
    ("MaxPool", 48, (9,), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    ("AveragePool", 64, (6,), {"kernel_shape": [5], "pads": [2, 2]}),
    ("MaxPool", 32, (8, 11), {"kernel_shape": [2, 3], "dilations": [3, 5], "pads": [1, 2, 1, 2]}),
    ("MaxPool", 24, (4, 5, 6), {"kernel_shape": [3, 2, 3], "dilations": [1, 2, 1], "pads": [1] * 6}),
    ("MaxPool", 40, (3, 6, 4), {"kernel_shape": [2, 1, 3], "strides": [1, 1, 2], "ceil_mode": 1}),
]


def has_known_width(number: int) -> bool:
    """Whether images of otherwise unknown sizes have a known width, of several tiles."""
    return number % 3 == 2 and len(CASES[number][2]) > 1


def sizes_of(number: int, sizes: tuple[int, ...], more: int) -> list[int]:
    """The sizes of an image of a call."""
    return [*(size + more for size in sizes[:-1]), sizes[-1] + (9 if has_known_width(number) else more)]


def model() -> bytes:
    """A model of a pool for each case, between two convolutions by the unit matrix, whose images are channels-last."""
    nodes, constants, inputs, outputs = [], [], [], []
    for number, (kind, channels, sizes, attributes) in enumerate(CASES):
        unit = np.eye(channels, dtype=np.float32).reshape(channels, channels, *[1] * len(sizes))
        constants.append(numpy_helper.from_array(unit, f"u{number}"))
        shape = [f"n{number}", channels, *(f"{axis}{number}" for axis, _ in zip("hwd", sizes))]
        if has_known_width(number):
            shape[-1] = sizes_of(number, sizes, 0)[-1]
        inputs.append(helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, shape))
        nodes += [helper.make_node("Conv", [f"x{number}", f"u{number}"], [f"a{number}"]),
                  helper.make_node(kind, [f"a{number}"], [f"b{number}"], **attributes),
                  helper.make_node("Conv", [f"b{number}", f"u{number}"], [f"y{number}"])]
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "pools", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("threads", first_of([2, 1]))
@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_images_of_several_sizes(target, threads):
    """As small as a window, of a tile and its neighbours, with NaN in it, of none."""
    target, bytes_ = target.replace("}", f",threads={threads}}}"), model()
    lowering = Lowering(legato.from_onnx(bytes_), target)
    lowered = str(lowering.at("scheduled"))
    assert "linalg.pooling" not in lowered and lowered.count("arith.maximumf") > 30
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(3)
    for images, more in ((1, 0), (2, 1), (1, 6), (1, 19), (0, 2)):
        given = {f"x{number}": rng.standard_normal((images, channels, *sizes_of(number, sizes, more))).astype(np.float32)
                 for number, (_, channels, sizes, _) in enumerate(CASES)}
        for case, found, right in zip(CASES, lowering.executable(*given.values()), session.run(None, given), strict=True):
            np.testing.assert_allclose(np.from_dlpack(found), np.asarray(right), rtol=1e-5, atol=1e-5, err_msg=f"{case} {images} {more}")
