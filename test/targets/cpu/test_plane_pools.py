"""Pools of channels-first images against onnxruntime, compiled as users do. All cases of a test are one model."""
from collections.abc import Sequence

import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper
from thoroughly import first_of, thorough

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS[::-1] if not cpu.missing_features(level, "")]
# shape of the input, then what differs from windows of 3 in each dimension with a padding of 1
CASES = [
    ((1, 3, 14, 14), {}), ((2, 5, 14, 33), {}), ((1, 1, 1, 9), {}), ((1, 7, 9, 1), {}), ((1, 4, 30, 150), {"strides": [2, 2]}),
    ((1, 3, 15, 16), {"strides": [2, 2], "ceil_mode": 1}), ((1, 2, 9, 71), {"strides": [1, 3], "pads": [0, 2, 2, 0]}),
    ((1, 6, 21, 50), {"strides": [3, 4], "kernel_shape": [7, 5], "pads": [3, 2, 3, 2]}),
    ((1, 6, 21, 50), {"strides": [3, 5], "kernel_shape": [7, 7], "pads": [3] * 4}),
    ((1, 3, 11, 37), {"dilations": [2, 3], "pads": [2] * 4}),
    ((3, 2, 13, 40), {"dilations": [3, 2], "strides": [2, 2], "pads": [2, 1, 2, 0]}),
    ((1, 2, 4, 70), {"kernel_shape": [1, 9], "pads": [0, 4, 0, 4]}), ((1, 2, 25, 4), {"kernel_shape": [9, 1], "pads": [4, 0, 4, 0]}),
    ((1, 16, 6, 6), {"kernel_shape": [4, 4], "pads": [0] * 4}),
    ((1, 2, 8, 34), {"pads": [0] * 4, "kernel_shape": [2, 2], "strides": [2, 2]}),
    ((1, 2, 7, 65), {"pads": [0] * 4, "strides": [2, 2], "ceil_mode": 1}), ((1, 2, 20, 280), {"kernel_shape": [5, 5], "pads": [2] * 4}),
    ((2, 3, 24, 47), {"strides": [5, 5], "kernel_shape": [5, 5], "pads": [0] * 4}),
    ((1, 2, 20, 130), {"strides": [4, 8], "kernel_shape": [4, 11], "pads": [0, 3, 0, 4]}),
    ((1, 3, 34, 160), {"strides": [16, 16], "kernel_shape": [16, 16], "pads": [0] * 4}),
    ((1, 2, 9, 100), {"strides": [3, 9], "kernel_shape": [5, 13], "pads": [2, 6, 2, 6], "ceil_mode": 1}),
    ((2, 2, 8, 300), {"strides": [8, 40], "kernel_shape": [8, 80], "pads": [0, 16, 0, 25]}),
    ((1, 2, 96, 96), {"strides": [48, 48], "kernel_shape": [48, 48], "pads": [0] * 4}),
    ((1, 5, 14, 14), {"strides": [14, 14], "kernel_shape": [14, 14]}), ((1, 3, 500), {"kernel_shape": [9], "strides": [33]}),
    ((1, 2, 300), {"kernel_shape": [70], "pads": [35, 20]}),
    ((1, 2, 300), {"kernel_shape": [41], "strides": [3], "dilations": [2], "pads": [40, 0]}),
    ((1, 64, 40), {}), ((2, 33, 127), {"kernel_shape": [9], "pads": [8, 0]}), ((1, 4, 60), {"dilations": [16], "pads": [2, 2]}),
    ((3, 16, 50), {"kernel_shape": [5], "strides": [3], "pads": [2, 2], "ceil_mode": 1}),
    ((1, 3, 4, 9, 18), {}), ((2, 2, 5, 6, 37), {"strides": [2, 1, 2], "dilations": [1, 2, 1], "pads": [1, 1, 1, 0, 1, 1]}),
    ((1, 4, 8, 8, 8), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2], "pads": [0] * 6}),
    ((1, 2, 5, 7, 9), {"kernel_shape": [3, 5, 3], "pads": [1, 2, 1, 1, 2, 1]}),
]


def model(cases: Sequence[tuple[tuple[int, ...], dict]], ops: Sequence[str], symbolic: bool = False, unsized: bool = False,
          type_: int = TensorProto.FLOAT, epilogues: Sequence[str] = ("Identity", "Sigmoid")) -> bytes:
    """A model of pools for each case, each followed by one of two elementwise ops. ``symbolic``: the number of images is;
    ``unsized``: the images' sizes are, too, but of each fourth the columns."""
    nodes, inputs, outputs = [], [], []
    for number, (shape, differing) in enumerate(cases):
        rank = len(shape) - 2
        attributes = {"kernel_shape": [3] * rank, "pads": [1] * 2 * rank} | differing
        spatial = [size if number % 4 == 3 and axis == rank - 1 else f"s{axis}_{number}" for axis, size in enumerate(shape[2:])]
        sizes = [f"n{number}" if symbolic else shape[0], shape[1], *(spatial if unsized else shape[2:])]
        inputs.append(helper.make_tensor_value_info(f"x{number}", type_, sizes))
        for op in ops:
            op, _, include = op.partition(" ")
            own = attributes | ({"count_include_pad": 1} if include else {})
            y = f"{op}{include}{number}"
            nodes.append(helper.make_node(op, [f"x{number}"], [f"{y}_"], **own))
            nodes.append(helper.make_node(epilogues[number % 2], [f"{y}_"], [y]))
            outputs.append(helper.make_tensor_value_info(y, type_, None))
    graph = helper.make_graph(nodes, "pools", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()


def arrays(cases: Sequence[tuple[tuple[int, ...], dict]], dtype: type = np.float32) -> dict[str, np.ndarray]:
    """Inputs of the cases."""
    rng = np.random.default_rng(3)
    return {f"x{number}": rng.standard_normal(shape).astype(dtype) for number, (shape, _) in enumerate(cases)}


def expected(bytes_: bytes, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes."""
    session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in session.run(None, inputs)]


ALL = ("MaxPool", "AveragePool", "AveragePool include")


@pytest.mark.parametrize("target", first_of(LEVELS_HERE))
@pytest.mark.parametrize("threads", first_of([2, 1]))
@pytest.mark.parametrize("part", first_of(range(3)))
def test_against_onnxruntime(target, threads, part):
    cases = CASES[part::3]
    text, inputs = model(cases, ALL, symbolic=threads == 2), arrays(cases)
    found = legato.compile(legato.from_onnx(text), target.replace("}", f",threads={threads}}}"))(*inputs.values())
    for number, (own, right) in enumerate(zip(found, expected(text, inputs), strict=True)):
        assert np.allclose(own, right, rtol=1e-5, atol=1e-6), (cases[number // 3], ALL[number % 3])


@pytest.mark.parametrize("dtype", [np.float32, *thorough([np.float16])])
@pytest.mark.parametrize("target", first_of(LEVELS_HERE))
@pytest.mark.parametrize("threads", first_of([2, 1, 3]))
@pytest.mark.parametrize("part", first_of(range(5)))
def test_images_of_several_sizes(target, threads, part, dtype):
    """Sizes that only the call knows: no image, those of a window, others."""
    cases, type_ = CASES[part::5], helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    text = model(cases, ALL, symbolic=True, unsized=True, type_=type_)
    lowering = Lowering(legato.from_onnx(text), target.replace("}", f",threads={threads}}}"))
    assert "linalg." not in str(lowering.at("scheduled"))
    wide, tolerance = model(cases, ALL, symbolic=True, unsized=True), 1e-5 if dtype == np.float32 else 2e-3
    for images, more in ((1, 0), (0, 0), (2, 1), (1, 17), (1, 70)):
        shapes = [(images * shape[0], shape[1], *(size + more * (number % 4 != 3 or axis < len(shape) - 3)
                                                  for axis, size in enumerate(shape[2:]))) for number, (shape, _) in enumerate(cases)]
        inputs = arrays([(shape, {}) for shape in shapes], dtype)
        right = expected(wide, {name: array.astype(np.float32) for name, array in inputs.items()})
        for number, (own, one) in enumerate(zip(lowering.executable(*inputs.values()), right, strict=True)):
            case = cases[number // 3], ALL[number % 3], images, more
            assert own.shape == one.shape and np.allclose(own, one, rtol=tolerance, atol=tolerance), case


def test_large_images_are_shared_by_threads():
    cases = [((2, 3, 120, 131), {"strides": [2, 2]}), ((1, 1, 200, 210), {"kernel_shape": [5, 5], "pads": [2] * 4})]
    text, inputs = model(cases, ALL), arrays(cases)
    found = legato.compile(legato.from_onnx(text), "llvm{threads=2}")(*inputs.values())
    for own, right in zip(found, expected(text, inputs), strict=True):
        assert np.allclose(own, right, rtol=1e-5, atol=1e-6)


def test_special_values():
    """A window with a NaN has one as maximum, and nothing else does; one of -inf has that, where onnxruntime gives the lowest number."""
    text, inputs, marks = model(CASES, ("MaxPool",)), arrays(CASES), {}
    for number, (name, array) in enumerate(inputs.items()):
        flat, size = array.reshape(-1), array.size
        flat[[0, size // 3, size - 1]] = np.nan
        flat[size // 2] = -np.inf
        marks[name] = np.isnan(array).astype(np.float32)
        if number % 3 == 0:
            flat[:] = np.where(np.isnan(flat), flat, -np.inf)
    found = legato.compile(legato.from_onnx(text), "llvm")(*inputs.values())
    is_nan = [array > (0.5 if number % 2 == 0 else 0.6) for number, array in enumerate(expected(text, marks))]   # a Sigmoid of 0 is 0.5
    numbers = expected(text, {name: np.where(np.isnan(array), -np.inf, array) for name, array in inputs.items()})
    for own, nan, right in zip(map(np.asarray, found), is_nan, numbers, strict=True):
        right[right == np.finfo(np.float32).min] = -np.inf
        assert np.array_equal(np.isnan(own), nan) and nan.any()
        assert np.allclose(own[~nan], right[~nan], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("type_, dtype", [(TensorProto.FLOAT16, np.float16)])
def test_halves(type_, dtype):
    inputs = arrays(CASES[::3], dtype)
    found = legato.compile(legato.from_onnx(model(CASES[::3], ALL, type_=type_)), "llvm")(*inputs.values())
    right = expected(model(CASES[::3], ALL), {name: array.astype(np.float32) for name, array in inputs.items()})
    for own, wide in zip(found, right, strict=True):
        assert np.asarray(own).dtype == dtype and np.allclose(own, wide, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("target", first_of([*LEVELS_HERE[1:], *LEVELS_HERE[:1]]))
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_bytes(dtype, target):
    cases = [case for case in CASES if max(case[1].get("strides", [1])) < 5][::2]
    type_ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    text = model(cases, ("MaxPool",), type_=type_, epilogues=("Identity", "Abs"))
    rng, least = np.random.default_rng(2), int(np.iinfo(dtype).min)
    inputs = {f"x{number}": rng.integers(least, least + 256, shape).astype(dtype) for number, (shape, _) in enumerate(cases)}
    wide = expected(model(cases, ("MaxPool",), epilogues=("Identity", "Abs")), {name: a.astype(np.float32) for name, a in inputs.items()})
    lowering = Lowering(legato.from_onnx(text), target)
    scheduled = str(lowering.at("scheduled"))
    assert "linalg." not in scheduled and "permute" not in scheduled
    for own, right in zip(lowering.executable(*inputs.values()), wide, strict=True):
        own = np.asarray(own)
        assert own.dtype == dtype and np.array_equal(own, np.maximum(right, least).astype(dtype))    # padding is the least number


def test_what_computes_the_image_is_a_kernel_of_its_own():
    """A pool reads rows of an image that is there."""
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("MaxPool", ["e"], ["y"], kernel_shape=[2, 2, 2])]
    graph = helper.make_graph(nodes, "pool", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 6, 7, 20])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    text = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()
    lowering = Lowering(legato.from_onnx(text))
    assert "linalg" not in str(lowering.at("scheduled"))
    x = np.random.default_rng(0).standard_normal((1, 3, 6, 7, 20)).astype(np.float32)
    assert np.allclose(lowering.executable(x), expected(text, {"x": x})[0], rtol=1e-5)
