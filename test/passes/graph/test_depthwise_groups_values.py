"""Convolutions in groups of one feature each, which become depthwise ones and sums, against onnxruntime: one, two and three dimensions, f32
and what is widened to it, numbers of images that only the call knows, numbers that are no numbers."""
import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper

import legato

CASES = [  # groups, channels of a group, sizes, what differs from windows of 3 with a padding of 1
    (32, 4, (33, 31), {"kernel_shape": [7, 7], "pads": [3] * 4, "strides": [2, 2], "dilations": [2, 2]}), (5, 3, (9, 8), {}),
    (2, 15, (6, 7), {"pads": [0, 1, 2, 0]}), (32, 5, (78,), {"kernel_shape": [4], "pads": [1, 1]}), (3, 2, (5, 4, 6), {}),
    (4, 16, (7, 7), {}), (4, 3, (8, 8), {"kernel_shape": [1, 1], "pads": [0] * 4}), (17, 2, (1, 1), {}),
]


def model(dtype: int, halves: bool = False) -> tuple[bytes, dict[str, np.ndarray]]:
    """All cases, each with a bias, and their inputs of two images. ``halves``: constants are numbers that bf16 has, and biases 0, which
    are added to what is rounded."""
    rng, nodes, inputs, outputs, constants, arrays = np.random.default_rng(8), [], [], [], [], {}
    for number, (groups, channels, sizes, differing) in enumerate(CASES):
        attributes = {"kernel_shape": [3] * len(sizes), "pads": [1] * 2 * len(sizes)} | differing
        weight = rng.standard_normal((groups, channels, *attributes["kernel_shape"])).astype(np.float32)
        for name, array in ((f"w{number}", weight), (f"b{number}", rng.standard_normal(groups).astype(np.float32) * (not halves))):
            array = array.astype(ml_dtypes.bfloat16) if halves else array
            constants.append(numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(dtype)), name))
        nodes.append(helper.make_node("Conv", [f"x{number}", f"w{number}", f"b{number}"], [f"y{number}"], group=groups, **attributes))
        inputs.append(helper.make_tensor_value_info(f"x{number}", dtype, ["n", groups * channels, *sizes]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", dtype, None))
        arrays[f"x{number}"] = rng.standard_normal((2, groups * channels, *sizes)).astype(np.float32)
    graph = helper.make_graph(nodes, "groups", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString(), arrays


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}", "llvm{threads=2}"])
def test_groups_of_one_feature(target):
    data, arrays = model(TensorProto.FLOAT)
    arrays["x1"][0, 4, 3, 3] = np.nan
    arrays["x1"][1, 5, 0, 0] = np.inf
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    lowering = Lowering(legato.from_onnx(data), target)
    assert str(lowering.at("relax")).count("relax.sum") == len(CASES) - 2    # not 16 channels, nor one tap
    for count in (2, 1, 0):
        feeds = {name: array[:count] for name, array in arrays.items()}
        for found, wanted in zip(lowering.executable(*feeds.values()), session.run(None, feeds), strict=True):
            np.testing.assert_allclose(np.from_dlpack(found), np.asarray(wanted), rtol=1e-4, atol=1e-4)


def test_halves_are_rounded_once():
    """Sums of what is bf16 are of f32: as near to those of the same numbers in f32 as one rounding."""
    data, arrays = model(TensorProto.BFLOAT16, halves=True)
    narrow = {name: array.astype(ml_dtypes.bfloat16) for name, array in arrays.items()}
    wide, _ = model(TensorProto.FLOAT, halves=True)
    session = onnxruntime.InferenceSession(wide, providers=["CPUExecutionProvider"])
    expected = session.run(None, {name: array.astype(np.float32) for name, array in narrow.items()})
    for found, wanted in zip(legato.compile(legato.from_onnx(data))(*narrow.values()), expected, strict=True):
        np.testing.assert_allclose(np.asarray(found).astype(np.float32), np.asarray(wanted), rtol=2.0**-8, atol=1e-5)
