"""Inputs whose sizes are all symbols, where weights or other inputs say what they must be: the model compiles, and a call that does not
fit is an error."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value
from thoroughly import first_of, thorough

import legato

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def compare(nodes, inputs, constants, good, bad, message):
    """``inputs``: names and ranks or element types. ``good``, ``bad``: arrays of a call that fits, and of one that does not."""
    given = [value(name, array, [f"{name}{axis}" for axis in range(array.ndim)]) for name, array in zip(inputs, good)]
    proto = model(nodes, given, ("y",), constants=constants)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL   # which takes bytes for rows of floats
    executable, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString(), options)
    expected = np.asarray(session.run(None, dict(zip(inputs, good)))[0])
    found = executable(*good)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(ValueError, match=message):
        executable(*bad)


@pytest.mark.parametrize("weight, groups", [((8, 1, 3, 3), 8), ((16, 1, 3, 3), 8), ((4, 4, 3, 3), 2), ((4, 8, 1, 1), 1)])
@pytest.mark.parametrize("bias", first_of([True, False]))
def test_channels_of_convolutions(weight, groups, bias):
    nodes = [helper.make_node("Conv", ["x", "w", "b"] if bias else ["x", "w"], ["y"], group=groups)]
    constants = {"w": floats(*weight)} | ({"b": floats(weight[0])} if bias else {})
    compare(nodes, ["x"], constants, [floats(2, 8, 5, 6)], [floats(2, 7, 5, 6)], r"relax.conv2d \"y\" needs .*x1")


def test_channels_of_an_image_of_one_point():
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["s"]),
             helper.make_node("Conv", ["s", "w"], ["y"], group=4, pads=[1, 1, 0, 2, 1, 0])]
    constants = {"axes": np.array([0, 2, 3, 4]), "w": floats(4, 2, 3, 2, 1)}
    compare(nodes, ["x"], constants, [floats(2, 8, 2, 3, 1)], [floats(2, 6, 2, 3, 1)], r"relax.conv3d \"y\" needs .*x1")


def test_rows_of_a_product():
    compare([helper.make_node("MatMul", ["x", "w"], ["y"])], ["x"], {"w": floats(7, 5)}, [floats(3, 7)], [floats(3, 6)],
            r"relax.matmul \"y\" needs x1 to be 7")


def test_rows_of_products_of_integers():
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "zx", "zw"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=1)]
    constants = {"w": RNG.integers(-128, 128, (1, 16)).astype(np.int8), "zx": np.uint8(5), "zw": np.int8(5)}
    rows = RNG.integers(0, 256, (3, 2)).astype(np.uint8)
    compare(nodes, ["x"], constants, [rows[:, :1]], [rows], r"needs x1 to be 1")
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    compare(nodes, ["x"], {"q": RNG.integers(-128, 128, (8, 5)).astype(np.int8), "s": np.float32(0.1)}, [floats(2, 8)], [floats(2, 9)],
            r"needs x1 to be 8")


@pytest.mark.parametrize("op, gates", [("RNN", 1), *thorough([("LSTM", 4), ("GRU", 3)], 2)])
def test_weights_of_recurrent_layers(op, gates):
    names = ["x", "w", "r", "b", "", "h"]
    nodes = [helper.make_node(op, names, ["y"], hidden_size=4)]
    good = [floats(3, 2, 5), floats(1, 4 * gates, 5), floats(1, 8 * gates), floats(1, 2, 4)]
    shapes = [(3, 2, 5), (1, 4 * gates, 5), (1, 8 * gates), (1, 2, 4)]
    for place, wrong, text in ((1, (2, 4 * gates, 5), "axis 0 of its W"), (1, (1, 4 * gates, 6), "axis 2 of its W"),
                               (2, (2, 8 * gates), "axis 0 of its B"), (2, (1, 8 * gates + 1), "axis 1 of its B"),
                               (3, (1, 3, 4), "axis 1 of its initial_h"), (3, (2, 2, 4), "axis 0 of its initial_h")):
        bad = [floats(*(wrong if number == place else shape)) for number, shape in enumerate(shapes)]
        compare(nodes, ["x", "w", "b", "h"], {"r": floats(1, 4 * gates, 4)}, good, bad, f"{op} 'y' needs {text}")
    static = model([helper.make_node(op, ["x", "w", "r", "b"], ["y"], hidden_size=4)], [value("x", good[0], (3, 2, 5))], ("y",),
                   constants={"w": good[1], "r": floats(1, 4 * gates, 4), "b": floats(2, 8 * gates)})
    with pytest.raises(legato.LegatoError, match=rf"its B must have the shape \[1, {8 * gates}\], has \[2, {8 * gates}\]"):
        legato.from_onnx(static)


def test_lengths_of_sequences():
    nodes = [helper.make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=1, time_axis=0)]
    good = [floats(4, 3), np.array([2, 4, 1])]
    compare(nodes, ["x", "n"], {}, good, [good[0], np.array([2])], "ReverseSequence 'y' needs axis 0 of its sequence_lens, n0, to be x1")
    with pytest.raises(legato.LegatoError, match=r"its sequence_lens must have the shape \[3\], has \[1\]"):
        legato.from_onnx(model(nodes, [value("x", good[0], (4, 3))], ("y",), constants={"n": np.array([2])}))
