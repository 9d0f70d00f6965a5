"""Normalizations of groups of channels between convolutions, against onnxruntime, compiled as users do."""
import numpy as np
import onnxruntime
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of, thorough

import legato

# images, channels and sizes, and groups
CASES = [((1, 32, 9, 7), 8), ((2, 24, 5, 6), 1), ((3, 20, 4, 4), 20), ((2, 48, 17), 3), ((1, 16, 3, 4, 5), 4), ((2, 6, 1, 2), 2)]


def model(form: str, batch: str = "", dtype: int = TensorProto.FLOAT) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of a convolution, a normalization, an activation and a convolution for each case. ``form``: ``group``, the op; ``instance``,
    reshapes around an InstanceNormalization, as exporters write it. ``batch``: the name of a symbolic number of images."""
    rng, nodes, constants, inputs, outputs, arrays = np.random.default_rng(7), [], [], [], [], {}
    element = helper.tensor_dtype_to_np_dtype(dtype)

    def constant(name: str, value: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(value, name))
        return name

    for number, ((images, channels, *sizes), groups) in enumerate(CASES):
        def weights(name: str, *shape: int, number: int = number) -> str:
            return constant(f"{name}{number}", (rng.standard_normal(shape) + 0.5).astype(element))

        names = {name: f"{name}{number}" for name in ("x", "c", "n", "a", "s", "y")}
        ones = [1] * len(sizes)
        filters = weights("w", channels, channels, *[3] * len(sizes))
        nodes.append(helper.make_node("Conv", [names["x"], filters], [names["c"]], pads=ones * 2))
        if form == "group":
            given = [names["c"], weights("gamma", channels), weights("beta", channels)]
            nodes.append(helper.make_node("GroupNormalization", given, [names["n"]], num_groups=groups, epsilon=1e-3))
        else:
            there, back = (constant(f"{name}{number}", np.array(value, np.int64))
                           for name, value in (("there", [0, groups, -1]), ("back", [-1 if batch else images, channels, *sizes])))
            given = [f"r{number}", weights("gamma", groups), weights("beta", groups)]
            nodes += [helper.make_node("Reshape", [names["c"], there], [f"r{number}"]),
                      helper.make_node("InstanceNormalization", given, [f"i{number}"], epsilon=1e-3),
                      helper.make_node("Reshape", [f"i{number}", back], [names["n"]])]
        nodes += [helper.make_node("Sigmoid", [names["n"]], [names["s"]]), helper.make_node("Mul", [names["n"], names["s"]], [names["a"]]),
                  helper.make_node("Conv", [names["a"], weights("v", 5, channels, *ones)], [names["y"]])]
        inputs.append(helper.make_tensor_value_info(names["x"], dtype, [f"{batch}{number}" if batch else images, channels, *sizes]))
        outputs.append(helper.make_tensor_value_info(names["y"], dtype, None))
        arrays[names["x"]] = (rng.standard_normal((images, channels, *sizes)) + 3).astype(element)
    graph = helper.make_graph(nodes, "norms", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString(), arrays


@pytest.mark.parametrize("form, batch, target", [
    ("group", "", "llvm{threads=3}"), ("instance", "n", "llvm{threads=3}"),
    *thorough([("group", "n", "llvm"), ("instance", "", "llvm")], 3)])
def test_group_norms(form, batch, target):
    """They are computed with the channels last."""
    bytes_, arrays = model(form, batch)
    expected = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"]).run(None, arrays)
    lowering = Lowering(legato.from_onnx(bytes_), target)
    lowered = str(lowering.at("fused"))
    assert "instance_norm" not in lowered and "group_norm" not in lowered
    results = lowering.executable(*arrays.values())
    for case, wanted, result in zip(CASES, expected, results, strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), np.asarray(wanted), rtol=1e-4, atol=1e-4, err_msg=str(case))


@pytest.mark.parametrize("form", first_of(["group", "instance"]))
def test_halves_are_normalized_in_f32(form):
    bytes_, arrays = model(form, dtype=TensorProto.FLOAT16)
    wide, _ = model(form)
    exact = onnxruntime.InferenceSession(wide, providers=["CPUExecutionProvider"]).run(
        None, {name: array.astype(np.float32) for name, array in arrays.items()})
    results = legato.compile(legato.from_onnx(bytes_), "llvm")(*arrays.values())
    for case, wanted, result in zip(CASES, exact, results, strict=True):
        scale = np.abs(np.asarray(wanted)).max()
        found = np.from_dlpack(result).astype(np.float32)
        np.testing.assert_allclose(found / scale, np.asarray(wanted) / scale, atol=8e-3, err_msg=str(case))


@pytest.mark.parametrize("shape", [(0, 8, 5, 5), (2, 0, 5, 5)])
def test_no_images_and_no_channels(shape):
    """Nothing is divided by their number."""
    _, channels, *sizes = shape
    filters = numpy_helper.from_array(np.ones((channels, 3, 3, 3), np.float32), "w")
    ones = numpy_helper.from_array(np.ones(channels, np.float32), "ones")
    there, back = (numpy_helper.from_array(np.array(value, np.int64), name)
                   for name, value in (("there", [shape[0], channels, 25]), ("back", shape)))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Reshape", ["c", "there"], ["r"], allowzero=1),
             helper.make_node("InstanceNormalization", ["r", "ones", "ones"], ["i"]),
             helper.make_node("Reshape", ["i", "back"], ["y"], allowzero=1)]
    graph = helper.make_graph(nodes, "empty", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [shape[0], 3, *sizes])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [filters, ones, there, back])
    bytes_ = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    result = legato.compile(legato.from_onnx(bytes_), "llvm")(np.zeros((shape[0], 3, *sizes), np.float32))
    assert np.from_dlpack(result).shape == shape
