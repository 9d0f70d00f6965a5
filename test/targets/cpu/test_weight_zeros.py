"""Convolutions of bytes by unsigned weights with zero points of their own, as onnxruntime's quantizer makes them, beside onnxruntime."""
import re

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

RNG = np.random.default_rng(41)
TARGETS = ["llvm{threads=2}", *(f"llvm{{cpu={level}}}" for level in LEVELS[1:] if not cpu.missing_features(level, ""))]
# channels, features, the weight's zero point, the image's (None: of the call), kernel and attributes
CASES = [
    (16, 24, 121, 7, (3, 3), {"pads": [1, 1, 1, 1]}), (3, 16, 255, 200, (5, 4), {"strides": [2, 1], "pads": [0, 2, 1, 1]}),
    (33, 8, 0, 0, (1, 1), {}), (8, 5, 93, 255, (3, 2), {"dilations": [2, 3]}), (17, 16, 130, 128, (4,), {"strides": [3], "pads": [2, 0]}),
    (64, 64, 140, None, (3, 3), {"pads": [1] * 4}), (20, 33, 64, None, (2, 2), {"strides": [2, 2]}),
]


def model(channels: int, features: int, zero: int, of_image: int | None, kernel: tuple[int, ...], attributes: dict, *,
          known: bool) -> bytes:
    """A ConvInteger of images of known or unknown sizes."""
    w = RNG.integers(0, 256, (features, channels, *kernel)).astype(np.uint8)
    constants = {"w": w, "wz": np.uint8(zero)} | ({} if of_image is None else {"xz": np.uint8(of_image)})
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], **attributes)
    sizes = [13, 11] if known else ["h", "w"]
    inputs = [helper.make_tensor_value_info("x", 2, [2, channels, *sizes[:len(kernel)]])]
    inputs += [helper.make_tensor_value_info("xz", 2, [])] if of_image is None else []
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("target, known", first_of([(TARGETS[0], False), *((target, True) for target in TARGETS)], 2))
def test_against_onnxruntime(target, known):
    for case in CASES:
        bytes_ = model(*case, known=known)
        x = RNG.integers(0, 256, (2, case[0], 13, 11)[:2 + len(case[4])]).astype(np.uint8)
        given = {"x": x} | ({} if case[3] is not None else {"xz": np.asarray(77, np.uint8)})
        session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
        lowering = Lowering(legato.from_onnx(bytes_), target)
        text = str(lowering.at("relax"))
        assert "_integer" in text and not re.search(r'relax\.conv\dd"', text), case
        found = np.asarray(lowering.executable(*given.values()))
        np.testing.assert_array_equal(found, np.asarray(session.run(None, given)[0]), err_msg=str(case))
